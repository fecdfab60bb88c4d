#include "simd/variants.hpp"

#include <algorithm>
#include <array>

namespace headroom::simd {
namespace {

constexpr std::array<ProjectVariant, 4> kVariants{{
    {"far", Prefetch::far, false, false, 12, 2},
    {"far-fine", Prefetch::far, false, false, 12, 8},
    {"near", Prefetch::near, true, true, 12, 2},
    {"near-large", Prefetch::near, true, true, 24, 2},
}};

const ProjectVariant& named(std::string_view name) {
  return *std::find_if(kVariants.begin(), kVariants.end(),
                       [&](const ProjectVariant& variant) { return variant.name == name; });
}

}  // namespace

std::span<const ProjectVariant> project_variants(Isa) { return kVariants; }

const ProjectVariant* find_project_variant(Isa isa, std::string_view name) {
  const std::span<const ProjectVariant> all = project_variants(isa);
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const ProjectVariant& variant) { return variant.name == name; });
  return found == all.end() ? nullptr : &*found;
}

// Two wide multiply-adds a cycle leave no slots for prefetches of what lies in the L2 already. With
// AVX2 both ways were equally fast on a core with two. `near-large` was ahead only while tiles
// waited for x and y; now `near` is 0.5 to 4 % faster on a core with an L2 of 2 MiB.
const ProjectVariant& first_choice(Isa isa, const CoreFacts& core) {
  return named(isa == Isa::avx512 && core.does_two() ? "near" : "far");
}

// Into an L1 of 48 KiB, whose L2 has 1 MiB, steps read bf16 1.11 and bytes 1.17 times as fast as
// into that L2 (Zen 5). Where the L2 has 2 MiB the L1 lost 8 to 13 % (Granite Rapids), and one of
// 32 KiB lost as well (Zen 4).
bool streams_into_l1(Isa isa, std::int64_t l1_bytes, std::int64_t l2_bytes) {
  return isa == Isa::avx512 && l1_bytes >= 48 * 1024 && l2_bytes > 0 && l2_bytes <= 1024 * 1024;
}

}  // namespace headroom::simd
