#include "program/quiet.hpp"

namespace headroom {
namespace {

bool& quiet_switch() {
  static bool quiet = false;
  return quiet;
}

}  // namespace

void be_quiet() { quiet_switch() = true; }

bool is_quiet() { return quiet_switch(); }

}  // namespace headroom
