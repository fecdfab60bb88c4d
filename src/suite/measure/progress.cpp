#include "measure/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/text/shown.hpp"
#include "program/numbers.hpp"
#include "program/quiet.hpp"
#include "program/signals.hpp"

namespace headroom::measure {
namespace {

constexpr std::chrono::milliseconds kRedraw{200};
// Fits a terminal of 100 columns; a live line that wraps cannot be cleared.
constexpr std::size_t kLiveWidth = 98;
constexpr const char* kClearLine = "\r\x1b[K";

std::string outcome(const record::CellResult& result) {
  if (result.status == record::Status::ok) {
    return fmt::format("{}, {:.1f} GFLOP/s", format_seconds(result.time.median), result.gflops);
  }
  return fmt::format("{}: {}", to_string(result.status), result.reason);
}

}  // namespace

Progress::Progress(std::FILE* stream)
    : stream_(stream), terminal_(isatty(fileno(stream)) != 0), estimated_at_(Clock::now()) {}

Progress::~Progress() {
  if (terminal_) write(kClearLine);
}

void Progress::write(const std::string& text) {
  if (is_quiet()) return;
  std::fwrite(text.data(), 1, text.size(), stream_);
  std::fflush(stream_);
}

double Progress::left() const {
  const std::chrono::duration<double> since = Clock::now() - estimated_at_;
  return std::max(0.0, estimate_ - since.count());
}

std::string Progress::head() const {
  return fmt::format("[{}/{}] {} left", done_, cells_, format_wait(left()));
}

void Progress::draw() {
  if (!terminal_) return;
  drawn_at_ = Clock::now();
  std::string line = head() + "  " + shown_text(current_);
  line.resize(std::min(line.size(), kLiveWidth));
  write(kClearLine + line);
}

void Progress::started(const std::string& what) {
  current_ = what;
  draw();
}

void Progress::finished(const record::CellResult& result) {
  ++done_;
  if (terminal_) {
    draw();
  } else {
    write(shown_text(fmt::format("{}  {}  {}", head(), result.cell.id, outcome(result))) + "\n");
  }
}

void Progress::seconds_left(double seconds) {
  estimate_ = seconds;
  estimated_at_ = Clock::now();
}

bool Progress::stopped() {
  if (Clock::now() - drawn_at_ >= kRedraw) draw();
  return stop_signal() != 0;
}

void Recording::finished(const record::CellResult& result) {
  journal_.append(record::to_json(result));
  progress_.finished(result);
}

}  // namespace headroom::measure
