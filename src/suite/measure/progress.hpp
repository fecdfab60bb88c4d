// What a command prints on standard error while it measures, and what it records.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>

#include "measure/observer.hpp"
#include "record/journal.hpp"

namespace headroom::measure {

/// One live line on a terminal; elsewhere one plain line per finished cell.
class Progress final : public Observer {
 public:
  explicit Progress(std::FILE* stream = stderr);
  ~Progress() override;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void planned(std::size_t cells) override { cells_ = cells; }
  void started(const std::string& what) override;
  void finished(const record::CellResult& result) override;
  void seconds_left(double seconds) override;
  /// Redraws the live line if the last time is long enough ago. A signal stops.
  bool stopped() override;

 private:
  using Clock = std::chrono::steady_clock;

  double left() const;
  std::string head() const;
  void draw();
  void write(const std::string& text);

  std::FILE* stream_;
  bool terminal_;
  std::size_t cells_ = 0;
  std::size_t done_ = 0;
  std::string current_;
  double estimate_ = 0;
  Clock::time_point estimated_at_;
  Clock::time_point drawn_at_;
};

/// Writes each result into a results folder before it is shown.
class Recording final : public Observer {
 public:
  Recording(record::Journal& journal, Progress& progress)
      : journal_(journal), progress_(progress) {}

  void planned(std::size_t cells) override { progress_.planned(cells); }
  void started(const std::string& what) override { progress_.started(what); }
  void finished(const record::CellResult& result) override;
  void seconds_left(double seconds) override { progress_.seconds_left(seconds); }
  bool stopped() override { return progress_.stopped(); }

 private:
  record::Journal& journal_;
  Progress& progress_;
};

}  // namespace headroom::measure
