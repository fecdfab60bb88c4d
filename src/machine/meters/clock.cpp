#include "machine/meters/clock.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace headroom::machine {
namespace {

constexpr double kUsualGhz = 3;

// The whole loop is assembly: no compiler can fold it, and an unoptimised build adds nothing to it.
// The counter and the branch run in parallel with the chain, as neither waits for a link.
#if defined(__x86_64__)
#define HEADROOM_FOUR_LINKS       \
  "imull %[factor], %[value]\n\t" \
  "imull %[factor], %[value]\n\t" \
  "imull %[factor], %[value]\n\t" \
  "imull %[factor], %[value]\n\t"
constexpr std::int64_t kLinks = 16;

std::uint32_t run_chain(std::int64_t iterations) {
  std::uint32_t value = kChainStart;
  if (iterations <= 0) return value;
  asm volatile(
      "1:\n\t" HEADROOM_FOUR_LINKS HEADROOM_FOUR_LINKS HEADROOM_FOUR_LINKS HEADROOM_FOUR_LINKS
      "decq %[left]\n\t"
      "jnz 1b"
      : [value] "+r"(value), [left] "+r"(iterations)
      : [factor] "r"(kChainFactor)
      : "cc");
  return value;
}
#elif defined(__aarch64__)
#define HEADROOM_FOUR_LINKS                  \
  "add %w[value], %w[value], %w[factor]\n\t" \
  "add %w[value], %w[value], %w[factor]\n\t" \
  "add %w[value], %w[value], %w[factor]\n\t" \
  "add %w[value], %w[value], %w[factor]\n\t"
constexpr std::int64_t kLinks = 16;

std::uint32_t run_chain(std::int64_t iterations) {
  std::uint32_t value = kChainStart;
  if (iterations <= 0) return value;
  asm volatile(
      "1:\n\t" HEADROOM_FOUR_LINKS HEADROOM_FOUR_LINKS HEADROOM_FOUR_LINKS HEADROOM_FOUR_LINKS
      "subs %[left], %[left], #1\n\t"
      "b.ne 1b"
      : [value] "+r"(value), [left] "+r"(iterations)
      : [factor] "r"(kChainFactor)
      : "cc");
  return value;
}
#endif

}  // namespace

std::optional<CycleChain> cycle_chain() {
#if defined(__x86_64__)
  return CycleChain{run_chain, kLinks, 3, "imul r32"};
#elif defined(__aarch64__)
  return CycleChain{run_chain, kLinks, 1, "add w, w, w"};
#else
  return std::nullopt;
#endif
}

std::string why_no_clock() {
  if (cycle_chain()) return "";
  return "not available: no instruction of this architecture is known to take the same number of "
         "cycles on all its processors";
}

ClockMeter::ClockMeter(CycleChain chain, Timer timer)
    : chain_(std::move(chain)),
      timer_(std::move(timer)),
      iterations_(
          std::llround(kClockBurstSeconds * kUsualGhz * 1e9 / chain_.cycles_per_iteration())) {}

double ClockMeter::sample() const {
  double best = 0;
  for (int i = 0; i < kClockBursts; ++i) {
    const double start = timer_();
    chain_.run(iterations_);
    const double seconds = timer_() - start;
    const double cycles = static_cast<double>(iterations_) * chain_.cycles_per_iteration();
    if (seconds > 0) best = std::max(best, cycles / seconds * 1e-9);
  }
  return best;
}

double ClockMeter::sample(Team& team) const {
  std::vector<double> ghz(static_cast<std::size_t>(team.size()));
  team.run([&](int index) { ghz[static_cast<std::size_t>(index)] = sample(); });
  return std::accumulate(ghz.begin(), ghz.end(), 0.0) / static_cast<double>(ghz.size());
}

double ClockMeter::steady_seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

std::optional<double> measure_clock_ghz() {
  const std::optional<CycleChain> chain = cycle_chain();
  if (!chain) return std::nullopt;
  return ClockMeter(*chain).sample();
}

}  // namespace headroom::machine
