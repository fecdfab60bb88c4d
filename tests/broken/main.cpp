#include "cli/line/run_program.hpp"

int main(int count, char** arguments) {
  return headroom::cli::run_program(count, arguments, nullptr, nullptr);
}
