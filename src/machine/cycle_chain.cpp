#include "machine/cycle_chain.hpp"

namespace headroom::machine {
namespace {

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

}  // namespace headroom::machine
