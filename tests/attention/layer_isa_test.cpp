// The environment variable that forces an instruction-set level, and its invalid values.
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/case_layer.hpp"
#include "support/layer_cases.hpp"

namespace headroom::test::layer_isa_test {
namespace {

Layer small_layer() {
  Case shape = plain_shape(35, 40, 3, 20);
  shape.d_proj = 32;
  return gaussian_layer(shape);
}

/// Sets HEADROOM_ISA during its lifetime, because tests may share a process.
class ForcedIsa {
 public:
  explicit ForcedIsa(const std::string& name) {
    if (const char* value = std::getenv(kName)) before_ = value;
    setenv(kName, name.c_str(), 1);
  }
  ~ForcedIsa() {
    if (before_) {
      setenv(kName, before_->c_str(), 1);
    } else {
      unsetenv(kName);
    }
  }
  ForcedIsa(const ForcedIsa&) = delete;
  ForcedIsa& operator=(const ForcedIsa&) = delete;

 private:
  static constexpr const char* kName = "HEADROOM_ISA";
  std::optional<std::string> before_;
};

std::vector<BackendInfo> backends_with_levels() {
  std::vector<BackendInfo> found;
  for (const BackendInfo& backend : backends()) {
    if (backend.available && backend.uses_isa) found.push_back(backend);
  }
  return found;
}

// ctest also runs this test in separate processes with HEADROOM_ISA set to the lowest level.
TEST(EnvironmentIsa, EveryBackendObeysIt) {
  const char* forced = std::getenv("HEADROOM_ISA");
  const Isa expected =
      forced != nullptr && *forced != '\0' ? parse_isa(forced).value() : available_isas().back();
  EXPECT_EQ(select_isa(), expected);
  const Layer layer = small_layer();
  for (const BackendInfo& backend : backends_with_levels()) {
    AttentionOptions options;
    options.backend = backend.name;
    options.threads = 1;
    Attention attention = layer_for(layer.shape, layer.weights, options);
    EXPECT_EQ(attention.options().isa, expected) << backend.name;
    Matrix y(layer.shape.rows(), layer.shape.output_width());
    attention.forward(layer.x.view(), y.view());
    const auto result = reference::compare(oracle(layer), y.view(), reference::Data::standard);
    EXPECT_TRUE(result.passed) << backend.name << ": " << result.reason;
  }
}

TEST(EnvironmentIsa, GivesTheBitsOfTheSameLevelAskedForByOption) {
  const Layer layer = small_layer();
  for (const BackendInfo& backend : backends_with_levels()) {
    if (backend.name == "onednn") continue;  // supports one level per process
    for (const Isa isa : available_isas()) {
      LayerCase by_option{backend.name, Formulation::split, isa, Precision::f32, {}};
      const LayerCase by_variable{
          backend.name, Formulation::split, std::nullopt, Precision::f32, {}};
      const Matrix expected = run(by_option, layer);
      const ForcedIsa forced{std::string(to_string(isa))};
      EXPECT_TRUE(same_bits(run(by_variable, layer), expected))
          << backend.name << ' ' << to_string(isa);
    }
  }
}

TEST(EnvironmentIsa, AnEmptyVariableIsAsGoodAsNone) {
  const ForcedIsa forced{""};
  EXPECT_EQ(select_isa(), available_isas().back());
}

TEST(EnvironmentIsa, AnOptionIsStrongerThanTheVariable) {
  const ForcedIsa forced{std::string(to_string(available_isas().back()))};
  EXPECT_EQ(select_isa(available_isas().front()), available_isas().front());
}

TEST(EnvironmentIsa, AnUnknownLevelIsAnErrorAndNeverAFallback) {
  for (const char* bogus : {"bogus", "AVX2", "avx", "sse42 ", " "}) {
    const ForcedIsa forced{bogus};
    try {
      select_isa();
      FAIL() << "'" << bogus << "' was accepted";
    } catch (const Unavailable& error) {
      EXPECT_NE(std::string(error.what()).find(bogus), std::string::npos) << error.what();
    }
    const Layer layer = small_layer();
    for (const BackendInfo& backend : backends_with_levels()) {
      AttentionOptions options;
      options.backend = backend.name;
      EXPECT_THROW(layer_for(layer.shape, layer.weights, options), Unavailable) << backend.name;
    }
  }
}

TEST(EnvironmentIsa, ALevelOfAnotherMachineIsAnError) {
#if defined(__aarch64__)
  const Isa foreign = Isa::avx2;
#else
  const Isa foreign = Isa::neon;
#endif
  EXPECT_THROW(select_isa(foreign), Unavailable);
  const ForcedIsa forced{std::string(to_string(foreign))};
  EXPECT_THROW(select_isa(), Unavailable);
}

TEST(EnvironmentIsa, NamesGoBothWays) {
  for (const Isa isa : {Isa::sse42, Isa::avx2, Isa::avx512, Isa::neon}) {
    EXPECT_EQ(parse_isa(to_string(isa)), isa);
  }
  EXPECT_FALSE(parse_isa("sse42").has_value());
}

}  // namespace
}  // namespace headroom::test::layer_isa_test
