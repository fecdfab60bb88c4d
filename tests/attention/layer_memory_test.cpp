// Running out of memory is an error that a program can catch, whatever the limit.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdio>
#include <new>
#include <string>

#include "core/case_layer.hpp"
#include "support/child.hpp"
#include "support/layer_cases.hpp"
#include "support/sanitized.hpp"

namespace headroom::test::layer_memory_test {
namespace {

rlim_t address_space() {
  long pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld", &pages) != 1) pages = 0;
  if (file != nullptr) std::fclose(file);
  return static_cast<rlim_t>(pages) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

class LayerMemory : public LayerTest {};

TEST_P(LayerMemory, RunningOutIsAnErrorAtEveryStep) {
  if (kSanitized) GTEST_SKIP() << "sanitizers do not run under such a limit";
  Case shape = plain_shape(256, 256, 4, 64);
  shape.d_proj = 256;
  const Layer layer = gaussian_layer(shape);
  constexpr rlim_t kStep = 256 << 10;
  // Up to 64 MiB: while a layer is made, its arena maps more than it will keep, and the start of
  // OpenMP's threads needs room beside it. With AVX-512 onednn computes from 44 MiB on with gcc's
  // OpenMP, and from 52 with clang's, which takes the stack of one more thread.
  constexpr rlim_t kSteps = 256;
  constexpr int kEnough = 32;  // 8 MiB in a row in which all goes well
  int tried = 0;
  int answered = 0;
  int computed = 0;
  int in_a_row = 0;
  std::string first_bad;
  for (rlim_t step = 0; step < kSteps && in_a_row < kEnough; ++step) {
    ++tried;
    const std::string found = in_child([&]() -> std::string {
      Matrix y(shape.rows(), shape.output_width());
      const rlim_t limit = address_space() + step * kStep;
      const rlimit small{limit, limit};
      if (setrlimit(RLIMIT_AS, &small) != 0) return "cannot limit";
      try {
        Attention attention = layer_for(shape, layer.weights, GetParam().options(2));
        attention.forward(layer.x.view(), y.view());
        return "computed";
      } catch (const std::bad_alloc&) {
        return "refused";
      } catch (const ResourceError&) {
        return "refused";
      }
    });
    computed += found == "computed" ? 1 : 0;
    in_a_row = found == "computed" ? in_a_row + 1 : 0;
    const bool good = found == "computed" || found == "refused";
    answered += good ? 1 : 0;
    if (!good && first_bad.empty()) first_bad = std::to_string(step) + ": " + found;
  }
  EXPECT_EQ(answered, tried) << "first wrong at step " << first_bad;
  EXPECT_GT(computed, 0) << "the largest limit should suffice";
  EXPECT_LT(computed, tried) << "the smallest should not";
}

INSTANTIATE_TEST_SUITE_P(Backends, LayerMemory, testing::ValuesIn(backend_cases()), case_name);

}  // namespace
}  // namespace headroom::test::layer_memory_test
