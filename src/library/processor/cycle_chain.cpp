#include "processor/cycle_chain.hpp"

namespace headroom::processor {
namespace {

#if defined(__x86_64__)
#define HEADROOM_LINK "imull %[factor], %[value]\n\t"
#define HEADROOM_COUNT_DOWN \
  "decq %[left]\n\t"        \
  "jnz 1b"
#elif defined(__aarch64__)
#define HEADROOM_LINK "add %w[value], %w[value], %w[factor]\n\t"
#define HEADROOM_COUNT_DOWN       \
  "subs %[left], %[left], #1\n\t" \
  "b.ne 1b"
#endif

#ifdef HEADROOM_LINK
#define HEADROOM_FOUR_LINKS HEADROOM_LINK HEADROOM_LINK HEADROOM_LINK HEADROOM_LINK
constexpr std::int64_t kLinks = 16;

// The whole loop is assembly: no compiler can fold it, and an unoptimised build adds nothing to it.
// The counter and the branch run in parallel with the chain, as neither waits for a link.
std::uint32_t run_chain(std::int64_t iterations) {
  std::uint32_t value = kChainStart;
  if (iterations <= 0) return value;
  asm volatile("1:\n\t" HEADROOM_FOUR_LINKS HEADROOM_FOUR_LINKS HEADROOM_FOUR_LINKS
                   HEADROOM_FOUR_LINKS HEADROOM_COUNT_DOWN
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

}  // namespace headroom::processor
