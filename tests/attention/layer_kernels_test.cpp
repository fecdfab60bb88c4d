// Variants of the kernels: they change no bit, and a layer says which one it runs and why.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "core/case_layer.hpp"
#include "headroom/error.hpp"
#include "support/layer_cases.hpp"
#include "support/sample_tuning.hpp"
#include "support/temporary_folder.hpp"

namespace headroom::test::layer_kernels_test {
namespace {

using nlohmann::ordered_json;

struct Variants {
  std::string backend;
  Isa isa;
  std::vector<std::string> names;
};

// Of every backend that has some, on every level of this machine.
std::vector<Variants> all_variants() {
  std::vector<Variants> all;
  for (const BackendInfo& info : backends()) {
    const BackendFacts& facts = backend_facts(info.name);
    if (!info.available || facts.kernel_variants == nullptr) continue;
    for (const Isa isa : available_isas())
      all.push_back({info.name, isa, facts.kernel_variants(isa)});
  }
  return all;
}

AttentionOptions options_of(const Variants& variants, const std::string& name, int threads = 3) {
  AttentionOptions options;
  options.backend = variants.backend;
  options.threads = threads;
  options.isa = variants.isa;
  options.kernels = name;
  return options;
}

class LayerKernels : public TemporaryFolder {
 protected:
  void SetUp() override {
    TemporaryFolder::SetUp();
    unsetenv("HEADROOM_TUNING");
  }

  // A file that names a variant for each number of threads.
  std::string file_of(const std::string& isa,
                      const std::vector<std::pair<int, std::string>>& choices,
                      const std::string& version = HEADROOM_VERSION) const {
    ordered_json json = tuning_json({});
    json.erase("shapes");
    json["headroom"] = version;
    for (const auto& [threads, name] : choices) {
      json["kernels"].push_back({{"isa", isa}, {"threads", threads}, {"variant", name}});
    }
    write("tuning.json", json.dump());
    return (path_ / "tuning.json").string();
  }

  AttentionOptions tuned(const Variants& variants, const std::string& file, int threads) {
    AttentionOptions options = options_of(variants, "", threads);
    options.tuning_file = file;
    options.on_warning = [this](const std::string& warning) { warnings_.push_back(warning); };
    return options;
  }

  const Layer layer_ = gaussian_layer(tuned_shape(21, 64, 4));
  std::vector<std::string> warnings_;
};

TEST_F(LayerKernels, AllGiveTheSameBits) {
  ASSERT_FALSE(all_variants().empty());
  // Rows of one tile and of many, heads wider and narrower than a vector, several stages of depth.
  for (const Case& shape : {tuned_shape(1, 64, 4), tuned_shape(37, 120, 3), tuned_shape(200, 99, 9),
                            tuned_shape(30, 1600, 25)}) {
    const Layer layer = gaussian_layer(shape);
    for (const Variants& variants : all_variants()) {
      Matrix first;
      for (const std::string& name : variants.names) {
        Attention attention = layer_for(shape, layer.weights, options_of(variants, name));
        EXPECT_EQ(attention.choice().kernels, name);
        Matrix y(shape.rows(), shape.output_width());
        attention.forward(layer.x.view(), y.view());
        if (first.values.empty()) first = y;
        EXPECT_EQ(y.values, first.values) << variants.backend << ' ' << name << ' ' << shape.id();
      }
    }
  }
}

// What a variant prefetches is another path through the kernels: weights of many megabytes, rows of
// many tiles, and steps after a past, which stream keys and values.
TEST_F(LayerKernels, PrefetchesChangeNoBit) {
  Case wide = tuned_shape(72, 2048, 16);
  wide.d_in = 1040;
  Case grouped = tuned_shape(300, 256, 8);
  grouped.kv_heads = 2;
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
    for (const Case& shape : {wide, grouped}) {
      const Layer layer = gaussian_layer(shape);
      for (const Variants& variants : all_variants()) {
        Matrix first;
        for (const std::string& name : variants.names) {
          AttentionOptions options = options_of(variants, name);
          options.dtype = dtype;
          Attention attention = layer_for(shape, layer.weights, options);
          Matrix y(shape.rows(), shape.output_width());
          attention.forward(layer.x.view(), y.view());
          if (first.values.empty()) first = y;
          EXPECT_EQ(y.values, first.values) << variants.backend << ' ' << name << ' ' << shape.id();
        }
      }
    }
  }
}

TEST_F(LayerKernels, StepsHaveTheSameBitsWithEveryVariant) {
  Case shape = tuned_shape(600, 256, 4);
  shape.kv_heads = 2;
  const Layer layer = gaussian_layer(shape);
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
    for (const Variants& variants : all_variants()) {
      Matrix first;
      for (const std::string& name : variants.names) {
        AttentionOptions options = options_of(variants, name);
        options.dtype = dtype;
        Attention attention = layer_for(shape, layer.weights, options);
        KeyValueCache cache(attention, {1, shape.tokens});
        Matrix y(shape.rows(), shape.output_width());
        Call call;
        call.cache = &cache;
        const std::int64_t past = shape.tokens - 3;
        attention.forward(rows(layer.x, 0, past), y.view().slice(0, past), call);
        for (std::int64_t t = past; t < shape.tokens; ++t) {
          attention.forward(rows(layer.x, t, 1), y.view().slice(t, 1), call);
        }
        if (first.values.empty()) first = y;
        EXPECT_EQ(y.values, first.values) << variants.backend << ' ' << name;
      }
    }
  }
}

TEST_F(LayerKernels, WithoutAWordTheBackendChooses) {
  for (const Variants& variants : all_variants()) {
    const Attention attention = layer_for(layer_.shape, layer_.weights, options_of(variants, ""));
    const Choice& choice = attention.choice();
    EXPECT_NE(std::find(variants.names.begin(), variants.names.end(), choice.kernels),
              variants.names.end());
    EXPECT_NE(choice.kernels_reason.find("multiply-adds per cycle"), std::string::npos)
        << choice.kernels_reason;
  }
}

TEST_F(LayerKernels, AnUnknownOneIsRefusedWithThoseThatExist) {
  for (const Variants& variants : all_variants()) {
    try {
      choose_for(layer_.shape, options_of(variants, "nearer"));
      FAIL();
    } catch (const InvalidArgument& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("no variant 'nearer'"), std::string::npos) << text;
      EXPECT_NE(text.find(variants.names.front()), std::string::npos) << text;
    }
  }
  AttentionOptions options;
  options.backend = "naive";
  options.kernels = "near";
  EXPECT_THROW(choose_for(layer_.shape, options), InvalidArgument);
}

TEST_F(LayerKernels, TheTuningFileNamesTheNearestThreadCount) {
  for (const Variants& variants : all_variants()) {
    const std::string file = file_of(std::string(to_string(variants.isa)),
                                     {{1, variants.names[1]}, {8, variants.names[2]}});
    const bool threaded = backend_entry(variants.backend).describe().threaded;
    for (const int threads : {1, 2, 4, 16}) {
      const Choice choice = choose_for(layer_.shape, tuned(variants, file, threads));
      EXPECT_EQ(choice.kernels, variants.names[threaded && threads > 2 ? 2 : 1]) << threads;
      EXPECT_NE(choice.kernels_reason.find(file), std::string::npos) << choice.kernels_reason;
    }
  }
  EXPECT_EQ(warnings_, std::vector<std::string>());
}

TEST_F(LayerKernels, TheTuningFileMovesTheBorderOfFewRows) {
  const Variants variants = all_variants().front();
  ordered_json json = tuning_json({});
  json.erase("shapes");
  const ordered_json border{{"precision", "bf16"}, {"unit", "emulated"}, {"few_rows", 29}};
  json["kernels"] = {{{"isa", to_string(variants.isa)},
                      {"threads", 1},
                      {"variant", variants.names[0]},
                      {"borders", {border}}}};
  write("tuning.json", json.dump());
  const std::string file = (path_ / "tuning.json").string();
  AttentionOptions options = tuned(variants, file, 1);
  options.unit = Unit::emulated;
  const auto choice_of = [&](Precision precision) {
    options.precision = precision;
    return layer_for(layer_.shape, layer_.weights, options).choice();
  };
  EXPECT_EQ(choice_of(Precision::bf16).few_rows, 29);
  EXPECT_NE(choice_of(Precision::bf16).few_rows_reason.find(file), std::string::npos);
  EXPECT_EQ(choice_of(Precision::bf16x3).few_rows, 11);
  EXPECT_EQ(choice_of(Precision::bf16x3).few_rows_reason, "measured on Granite Rapids");
  EXPECT_EQ(choice_of(Precision::f32).few_rows_reason, "");
  options.weights_dtype = Storage::q8;  // cut at every call, unlike those of the file
  EXPECT_EQ(choice_of(Precision::bf16).few_rows, 9);
  options.weights_dtype.reset();
  options.few_rows = 5;
  EXPECT_EQ(choice_of(Precision::bf16).few_rows, 5);
  EXPECT_EQ(choice_of(Precision::bf16).few_rows_reason, "given by the caller");
  EXPECT_EQ(choice_of(Precision::f32).few_rows, 0);
  options.few_rows = -1;
  EXPECT_THROW(choice_of(Precision::bf16), InvalidArgument);
}

// Rows on one side of the border are f32, on the other products of parts.
TEST_F(LayerKernels, ABorderThatIsGivenIsKept) {
  const Variants variants = all_variants().front();
  const auto forward = [&](std::optional<std::int64_t> few_rows, Precision precision) {
    AttentionOptions options = options_of(variants, "");
    options.unit = Unit::emulated;
    options.precision = precision;
    options.few_rows = few_rows;
    Attention attention = layer_for(layer_.shape, layer_.weights, options);
    Matrix y(layer_.shape.rows(), layer_.shape.output_width());
    attention.forward(layer_.x.view(), y.view());
    return y.values;
  };
  EXPECT_EQ(forward(21, Precision::bf16), forward({}, Precision::f32)) << "21 rows are few";
  EXPECT_NE(forward(20, Precision::bf16), forward({}, Precision::f32)) << "21 rows are many";
}

TEST_F(LayerKernels, WhatTheFileCannotSayIsAWarning) {
  const Variants variants = all_variants().front();
  const std::string isa(to_string(variants.isa));
  const auto warning_of = [&](const std::string& file) {
    warnings_.clear();
    const Attention attention = layer_for(layer_.shape, layer_.weights, tuned(variants, file, 1));
    EXPECT_FALSE(attention.choice().kernels.empty());
    return warnings_.size() == 1 ? warnings_.front() : "";
  };
  EXPECT_NE(warning_of(file_of(isa, {{1, "gone"}})).find("no variant 'gone'"), std::string::npos);
  EXPECT_NE(warning_of(file_of(isa, {{1, variants.names[1]}}, "9.9.9")).find("headroom 9.9.9"),
            std::string::npos);
  EXPECT_NE(warning_of((path_ / "nowhere.json").string()).find("nowhere.json"), std::string::npos);
  // Nothing about this level is no error.
  warning_of(file_of("another", {{1, variants.names[1]}}));
  EXPECT_EQ(warnings_, std::vector<std::string>());
}

TEST_F(LayerKernels, AFileOfKernelsAloneIsNoneForAuto) {
  const Variants variants = all_variants().front();
  AttentionOptions options =
      tuned(variants, file_of(std::string(to_string(variants.isa)), {{1, variants.names[1]}}), 1);
  options.backend = "auto";
  options.threads = 1;
  const Choice choice = choose_for(layer_.shape, options);
  EXPECT_EQ(choice.source, Choice::Source::rule);
  EXPECT_EQ(warnings_, std::vector<std::string>());
  EXPECT_EQ(choice.kernels,
            backend_facts(choice.backend).kernel_variants != nullptr ? variants.names[1] : "");
}

}  // namespace
}  // namespace headroom::test::layer_kernels_test
