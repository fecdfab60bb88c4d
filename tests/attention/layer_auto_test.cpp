// Backend `auto`: what it chooses, what it reports, and that the layer computes the same.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "core/case_layer.hpp"
#include "headroom/error.hpp"
#include "support/layer_cases.hpp"
#include "support/sample_tuning.hpp"
#include "support/temporary_folder.hpp"

namespace headroom::test::layer_auto_test {
namespace {

class LayerAuto : public TemporaryFolder {
 protected:
  void SetUp() override {
    TemporaryFolder::SetUp();
    unsetenv("HEADROOM_TUNING");
  }
  void TearDown() override {
    unsetenv("HEADROOM_TUNING");
    TemporaryFolder::TearDown();
  }

  // A file in which `backend` is the fastest for the shape.
  std::string tuned_for(const std::string& backend, Formulation formulation,
                        const std::string& name = "tuning.json") const {
    write(name, tuning_json({{shape_,
                              {candidate("naive", Formulation::split, 2),
                               candidate(backend, formulation, 1)}}})
                    .dump());
    return (path_ / name).string();
  }

  AttentionOptions options(const std::string& file = "") {
    AttentionOptions options;
    options.backend = "auto";
    options.threads = 1;
    options.tuning_file = file;
    options.on_warning = [this](const std::string& warning) { warnings_.push_back(warning); };
    return options;
  }

  Case shape_ = tuned_shape(21, 64, 4);
  std::vector<std::string> warnings_;
};

TEST_F(LayerAuto, GivesTheBitsOfTheBackendItChose) {
  const Layer layer = gaussian_layer(shape_);
  for (const BackendInfo& info : backends()) {
    if (!info.available) continue;
    for (const Formulation formulation :
         {Formulation::wrapper, Formulation::split, Formulation::fused}) {
      Attention chosen =
          layer_for(shape_, layer.weights, options(tuned_for(info.name, formulation)));
      EXPECT_EQ(chosen.choice().source, Choice::Source::tuning_file);
      EXPECT_EQ(chosen.options().backend, info.name);
      EXPECT_EQ(chosen.options().formulation, formulation);
      Attention named = layer_for(shape_, layer.weights, {info.name, formulation, 1});
      Matrix of_chosen(shape_.rows(), shape_.output_width());
      Matrix of_named = of_chosen;
      chosen.forward(layer.x.view(), of_chosen.view());
      named.forward(layer.x.view(), of_named.view());
      EXPECT_TRUE(same_bits(of_chosen, of_named)) << info.name;
    }
  }
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(LayerAuto, TheOptionComesBeforeTheEnvironment) {
  setenv("HEADROOM_TUNING", tuned_for("autovec", Formulation::wrapper, "environment.json").c_str(),
         1);
  EXPECT_EQ(choose_for(shape_, options()).backend, "autovec");
  const std::string file = tuned_for("xsimd", Formulation::split);
  EXPECT_EQ(choose_for(shape_, options(file)).backend, "xsimd");
}

TEST_F(LayerAuto, GoesByTheRuleWithoutAFile) {
  const Choice choice = choose_for(shape_, options());
  EXPECT_EQ(choice.source, Choice::Source::rule);
  EXPECT_EQ(choice.backend, "xsimd");
  EXPECT_NE(choice.reason.find("by rule"), std::string::npos);
  EXPECT_EQ(choice.warning, "");
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(LayerAuto, AnEmptyVariableIsAsGoodAsNone) {
  setenv("HEADROOM_TUNING", "", 1);
  const Choice choice = choose_for(shape_, options());
  EXPECT_EQ(choice.source, Choice::Source::rule);
  EXPECT_EQ(choice.warning, "");
}

TEST_F(LayerAuto, RefusesAFileThatSaysNothingHereAndWarnsOnce) {
  nlohmann::ordered_json elsewhere =
      tuning_json({{shape_, {candidate("naive", Formulation::split, 1)}}});
  elsewhere["machine"]["processor"] = "Abacus";
  write("elsewhere.json", elsewhere.dump());
  write("broken.json", "{");
  write("far.json",
        tuning_json({{tuned_shape(30'000), {candidate("naive", Formulation::split, 1)}}}).dump());
  const std::pair<const char*, const char*> cases[] = {{"elsewhere.json", "'Abacus'"},
                                                       {"broken.json", "not valid JSON"},
                                                       {"far.json", "doublings"},
                                                       {"missing.json", "No such file"}};
  for (const auto& [name, part] : cases) {
    warnings_.clear();
    const Attention layer =
        layer_for(shape_, gaussian_weights(shape_, 1), options((path_ / name).string()));
    EXPECT_EQ(layer.choice().source, Choice::Source::rule) << name;
    EXPECT_EQ(layer.options().backend, "xsimd") << name;
    EXPECT_NE(layer.choice().warning.find(part), std::string::npos) << layer.choice().warning;
    EXPECT_EQ(warnings_, std::vector<std::string>{layer.choice().warning});
  }
}

TEST_F(LayerAuto, KeepsTheFormulationThatWasAskedFor) {
  AttentionOptions wanted = options(tuned_for("xsimd", Formulation::split));
  wanted.formulation = Formulation::split;
  EXPECT_EQ(choose_for(shape_, wanted).backend, "xsimd");
  wanted.formulation = Formulation::wrapper;
  const Choice choice = choose_for(shape_, wanted);
  EXPECT_EQ(choice.formulation, Formulation::wrapper);
  EXPECT_EQ(choice.source, Choice::Source::rule) << "nothing was measured with that formulation";
}

TEST_F(LayerAuto, NamedBackendsAreLeftAlone) {
  AttentionOptions named = options(tuned_for("xsimd", Formulation::fused));
  named.backend = "naive";
  const Attention layer =
      make_attention("naive", shape_, shape_, gaussian_weights(shape_, 1), named);
  EXPECT_EQ(layer.choice().source, Choice::Source::caller);
  EXPECT_EQ(layer.options().backend, "naive");
  EXPECT_EQ(layer.options().formulation, Formulation::split);
  EXPECT_EQ(
      make_attention("auto", shape_, shape_, gaussian_weights(shape_, 1), named).options().backend,
      "xsimd");
}

TEST_F(LayerAuto, ANamedBackendIsCheckedAsTheLayerWouldCheckIt) {
  const auto named = [](const std::string& backend) {
    AttentionOptions wanted;
    wanted.backend = backend;
    return wanted;
  };
  EXPECT_THROW(choose_for(shape_, named("xsmid")), InvalidArgument);
  AttentionOptions crowded = named("naive");
  crowded.threads = kMaxThreads + 1;
  EXPECT_THROW(choose_for(shape_, crowded), InvalidArgument);
  AttentionOptions foreign = named("naive");
  foreign.isa = available_isas().front() == Isa::neon ? Isa::avx2 : Isa::neon;
  EXPECT_THROW(choose_for(shape_, foreign), Unavailable);
  for (const BackendInfo& info : backends()) {
    if (info.available) continue;
    EXPECT_THROW(choose_for(shape_, named(info.name)), Unavailable) << info.name;
  }
}

TEST_F(LayerAuto, IsNoBackendOfItsOwn) {
  for (const BackendInfo& info : backends()) EXPECT_NE(info.name, kAuto);
  EXPECT_THROW(find_backend("auto"), InvalidArgument);
  AttentionOptions wrong = options();
  wrong.threads = -1;
  EXPECT_THROW(choose_for(shape_, wrong), InvalidArgument);
}

}  // namespace
}  // namespace headroom::test::layer_auto_test
