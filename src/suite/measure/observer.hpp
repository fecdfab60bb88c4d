// Who watches a plan being measured: a journal, a line on the terminal, a command that may stop it.
#pragma once

#include <cstddef>
#include <string>

#include "record/result.hpp"

namespace headroom::measure {

/// Nothing happens unless a derived class says so.
class Observer {
 public:
  Observer() = default;
  virtual ~Observer() = default;

  /// Before anything else: how many cells are to be measured.
  virtual void planned(std::size_t cells) { static_cast<void>(cells); }
  virtual void started(const std::string& what) { static_cast<void>(what); }
  virtual void finished(const record::CellResult& result) { static_cast<void>(result); }
  /// A new estimate for everything that is still to be measured.
  virtual void seconds_left(double seconds) { static_cast<void>(seconds); }
  /// Called several times per second; true drops what is not finished.
  virtual bool stopped() { return false; }

 protected:
  Observer(const Observer&) = default;
  Observer& operator=(const Observer&) = default;
};

}  // namespace headroom::measure
