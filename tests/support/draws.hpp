// Random whole numbers that are the same everywhere: distributions of the standard library are not.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace headroom::test {

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : generator_(seed) {}
  std::int64_t from_to(std::int64_t least, std::int64_t most) {
    const auto choices = static_cast<std::uint64_t>(most - least + 1);
    return least + static_cast<std::int64_t>(generator_() % choices);
  }
  bool one_in(std::int64_t n) { return from_to(1, n) == 1; }
  std::int64_t one_of(const std::vector<std::int64_t>& values) {
    return values[static_cast<std::size_t>(
        from_to(0, static_cast<std::int64_t>(values.size()) - 1))];
  }

 private:
  std::mt19937_64 generator_;
};

}  // namespace headroom::test
