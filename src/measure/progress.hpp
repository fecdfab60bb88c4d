// What a sweep prints on standard error while it runs.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>

#include "record/result.hpp"

namespace headroom::measure {

/// One live line on a terminal; elsewhere one plain line per finished cell.
class Progress {
 public:
  Progress(std::FILE* stream, bool terminal, std::size_t cells);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void started(const std::string& what);
  void finished(const record::CellResult& result);
  /// Sets a new estimate of the time left.
  void set_seconds_left(double seconds);
  /// Redraws the live line if the last time is long enough ago.
  void tick();

 private:
  using Clock = std::chrono::steady_clock;

  double seconds_left() const;
  std::string head() const;
  void draw();
  void write(const std::string& text);

  std::FILE* stream_;
  bool terminal_;
  std::size_t cells_;
  std::size_t done_ = 0;
  std::string current_;
  double estimate_ = 0;
  Clock::time_point estimated_at_;
  Clock::time_point drawn_at_;
};

}  // namespace headroom::measure
