// headroom pick on results that no machine measured.
#include "pick/pick.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "headroom/error.hpp"
#include "pick/lines.hpp"
#include "program/exit_code.hpp"
#include "support/sample_peers.hpp"
#include "support/sample_results.hpp"
#include "tuning/tuning_file.hpp"

namespace headroom::pick_test {
namespace {

using pick::Filters;
using pick::LinkCost;
using pick::Pick;
using record::CellResult;
using record::Status;
using test::sample_folder;
using test::sample_result;
using test::without_time;

// Nine samples that scatter by 1 % around a time.
std::vector<double> around(double seconds) { return test::around(seconds, 0.0025); }

CellResult timed(const std::string& backend, double seconds,
                 Formulation formulation = Formulation::split, int threads = 1) {
  CellResult result = test::with_time(sample_result(backend, formulation), around(seconds));
  result.threads = result.cell.threads = threads;
  result.cell.id = plan::cell_id(result.shape, result.cell);
  return result;
}

CellResult with_tokens(CellResult result, std::int64_t tokens) {
  result.shape.tokens = tokens;
  result.cell.id = plan::cell_id(result.shape, result.cell);
  return result;
}

std::string name_of(const Pick& pick) {
  return pick.choice().backend + "/" + std::string(to_string(pick.choice().formulation));
}

TEST(Lighter, CountsPackagesThenBytesThenPackagesToBuild) {
  LinkCost none{"naive", {}, 0, {}, {}, true, true};
  LinkCost headers{"xsimd", {}, 0, {}, {"headers"}, true, true};
  LinkCost small{"tbb", {"a.so"}, 10, {"a"}, {"a-dev"}, true, true};
  LinkCost large{"onednn", {"b.so"}, 20, {"b"}, {"b-dev"}, true, true};
  LinkCost two{"other", {"c.so", "d.so"}, 5, {"c", "d"}, {}, true, true};
  const std::vector<LinkCost> order{none, headers, small, large, two};
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = 0; j < order.size(); ++j) {
      EXPECT_EQ(lighter(order[i], order[j]), i < j) << order[i].backend << order[j].backend;
    }
  }
}

TEST(LinkCost, IsThatOfThisProgram) {
  // What the core links is needed by everybody; the package's tests look into its library.
  const LinkCost core = pick::link_cost("naive");
  EXPECT_TRUE(core.measured);
  for (const char* backend : {"autovec", "xsimd"}) {
    EXPECT_EQ(to_text(pick::link_cost(backend)), to_text(core)) << backend;
  }
  for (const char* backend : {"tbb", "onednn"}) {
    const LinkCost cost = pick::link_cost(backend);
    EXPECT_TRUE(cost.known);
    EXPECT_GT(cost.packages.size(), core.packages.size());
    for (const std::string& package : core.packages) {
      EXPECT_EQ(std::count(cost.packages.begin(), cost.packages.end(), package), 1) << backend;
    }
  }
  EXPECT_TRUE(lighter(pick::link_cost("xsimd"), pick::link_cost("tbb")));
  EXPECT_TRUE(lighter(pick::link_cost("tbb"), pick::link_cost("onednn")));
}

TEST(LinkCost, OfABackendFromElsewhereIsNotKnownAndNeverLighter) {
  const LinkCost cost = pick::link_cost("elsewhere");
  EXPECT_FALSE(cost.known);
  EXPECT_NE(to_text(cost).find("not part of this program"), std::string::npos);
  EXPECT_FALSE(lighter(cost, pick::link_cost("onednn")));
  EXPECT_TRUE(lighter(pick::link_cost("onednn"), cost));
}

TEST(Pick, TakesTheFastest) {
  const auto folder =
      sample_folder("results", {timed("naive", 9), timed("tbb", 1.5, Formulation::split, 2),
                                timed("tbb", 1, Formulation::fused, 2), timed("xsimd", 2)});
  const Pick found = pick::pick(folder, {}, {});
  EXPECT_EQ(name_of(found), "tbb/fused");
  EXPECT_EQ(found.choice().threads, 2);
  EXPECT_FALSE(found.lighter_won());
  const auto& candidates = found.shapes.front().candidates;
  ASSERT_EQ(candidates.size(), 4U);
  EXPECT_EQ(candidates[1].result->cell.formulation, Formulation::split);
  EXPECT_NEAR(candidates[2].to_fastest.ratio, 2, 1e-9);
  EXPECT_EQ(candidates[2].loss, judge::Loss::large);
  EXPECT_EQ(candidates[3].result->cell.backend, "naive");
}

TEST(Pick, TakesTheLighterOfTwoThatAreTied) {
  const auto folder = sample_folder("results", {timed("onednn", 1, Formulation::fused, 2),
                                                timed("xsimd", 1.01), timed("naive", 3)});
  const Pick found = pick::pick(folder, {}, {});
  EXPECT_EQ(name_of(found), "xsimd/split");
  EXPECT_TRUE(found.lighter_won());
  EXPECT_EQ(found.shapes.front().candidates[found.shapes.front().chosen].result->cell.backend,
            "xsimd");
  EXPECT_NE(reason(found).find("xsimd takes at most "), std::string::npos) << reason(found);
  EXPECT_NE(reason(found).find(" % more time than onednn and has fewer dependencies: "),
            std::string::npos);
}

// Its interval reaches from a little less than the fastest's time to twice as much.
CellResult wide(const std::string& backend, Formulation formulation = Formulation::split) {
  return test::with_time(sample_result(backend, formulation),
                         {0.94, 0.95, 0.97, 0.99, 1.9, 1.93, 1.95, 1.97, 1.98});
}

TEST(Pick, AWideIntervalIsNoTie) {
  const auto folder = sample_folder(
      "results", {timed("tbb", 1, Formulation::fused, 2), wide("xsimd"), timed("naive", 9),
                  with_tokens(timed("tbb", 1, Formulation::fused, 2), 3),
                  with_tokens(timed("xsimd", 1.005), 3)});
  const Pick found = pick::pick(folder, {}, {});
  EXPECT_EQ(found.choice().backend, "tbb");
  EXPECT_EQ(found.sureness, judge::Sureness::tie) << "of the second shape";
  const auto& shape = found.shapes.front();
  EXPECT_EQ(shape.candidates[1].loss, judge::Loss::unknown);
  ASSERT_EQ(found.open.size(), 1U);
  EXPECT_EQ(found.configurations[found.open[0]].backend, "xsimd");
  ASSERT_EQ(found.open_candidates.size(), 1U);
  EXPECT_EQ(found.open_candidates[0].candidate, 1U);
  EXPECT_NE(reason(found).find("tbb has the lowest median over 2 shapes; xsimd ("),
            std::string::npos)
      << reason(found);
  EXPECT_NE(reason(found).find("times its time) with fewer dependencies may do as well"),
            std::string::npos);
  const auto json = nlohmann::ordered_json::parse(pick::to_json(found));
  EXPECT_EQ(json["answer"], "tie");
  EXPECT_EQ(json["choice"]["open"], nlohmann::ordered_json({"xsimd"}));
  EXPECT_EQ(json["shapes"][0]["answer"], "unclear");
  EXPECT_EQ(json["shapes"][0]["candidates"][1]["loss"], "unknown");
}

TEST(Pick, SaysWhereThereIsNoAnswerYet) {
  const auto folder = sample_folder(
      "results", {timed("tbb", 1, Formulation::fused, 2), wide("xsimd", Formulation::wrapper),
                  wide("xsimd"), wide("onednn"), timed("naive", 9)});
  const Pick found = pick::pick(folder, {}, {});
  EXPECT_EQ(found.sureness, judge::Sureness::unknown);
  EXPECT_TRUE(found.unclear());
  EXPECT_EQ(name_of(found), "xsimd/split") << "fewer dependencies, then split";
  const auto& shape = found.shapes.front();
  EXPECT_EQ(shape.candidates[shape.chosen].result->cell.id, wide("xsimd").cell.id);
  EXPECT_FALSE(found.open_candidates.empty()) << "there is something to measure on";
  const std::string text = to_text(found);
  EXPECT_TRUE(
      text.starts_with("no answer yet: measure longer, or on a quieter machine; the lowest "
                       "median is that of fused/tbb, 2 threads: 1 s for "))
      << text;
  EXPECT_NE(text.find("\nuntil then use split/xsimd, 1 thread: "), std::string::npos) << text;
  EXPECT_NE(text.find("has the lowest median; xsimd, onednn cannot be distinguished from it"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  lowest median\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("fastest\n"), std::string::npos) << text;
  EXPECT_EQ(nlohmann::ordered_json::parse(pick::to_json(found))["answer"], "unclear");
  EXPECT_NE(to_cmake(found).find("\n# no answer yet: "), std::string::npos);
}

TEST(Pick, AClearAnswerIsNoOtherThanTheFastest) {
  const auto folder = sample_folder("results", {timed("tbb", 1, Formulation::fused, 2),
                                                timed("xsimd", 2), wide("tbb"), timed("naive", 9)});
  const Pick found = pick::pick(folder, {}, {});
  EXPECT_EQ(found.sureness, judge::Sureness::clear);
  EXPECT_FALSE(found.unclear());
  EXPECT_EQ(name_of(found), "tbb/fused");
  EXPECT_TRUE(to_text(found).starts_with("use fused/tbb, 2 threads: ")) << to_text(found);
  EXPECT_EQ(nlohmann::ordered_json::parse(pick::to_json(found))["answer"], "clear");
  EXPECT_EQ(to_cmake(found).find("no answer yet"), std::string::npos);
}

TEST(Pick, AHeavierOneIsNotOpenHoweverWideItsInterval) {
  const Pick found =
      pick::pick(sample_folder("results", {timed("xsimd", 1), wide("onednn")}), {}, {});
  EXPECT_EQ(found.choice().backend, "xsimd");
  EXPECT_TRUE(found.open.empty());
  EXPECT_TRUE(found.open_candidates.empty());
}

TEST(Pick, AHeavierOneThatIsTiedLoses) {
  const auto folder = sample_folder("results", {timed("tbb", 1.005), timed("xsimd", 1)});
  const Pick found = pick::pick(folder, {}, {});
  EXPECT_EQ(found.choice().backend, "xsimd");
  EXPECT_NE(reason(found).find("has no fewer dependencies"), std::string::npos) << reason(found);
}

TEST(Pick, TheFastestIsTheOneWithTheSmallestTime) {
  auto fastest = timed("onednn", 1);
  auto tied = timed("tbb", 1.02);
  fastest.control = record::Control{"avx2", 1, std::vector<double>(9, 100)};
  tied.control = record::Control{"avx2", 1, std::vector<double>(9, 90)};
  const auto folder = sample_folder("results", {fastest, tied});
  const Pick found = pick::pick(folder, {}, {});
  EXPECT_LT(found.shapes[0].candidates[1].to_fastest.ratio, 1) << "divided by the control";
  EXPECT_EQ(found.configurations[0].backend, "onednn");
}

TEST(Pick, AFewSamplesDoNotMakeASlowBackendAsGoodAsTheFastest) {
  const auto folder =
      sample_folder("results", {test::with_time(sample_result("naive"), {50, 51, 52}),
                                test::with_time(sample_result("tbb"), {1, 1.01, 1.02})});
  EXPECT_EQ(pick::pick(folder, {}, {}).choice().backend, "tbb");
}

TEST(Pick, ObeysTheNoiseFloorOfTheFolder) {
  auto folder = sample_folder("results", {timed("tbb", 1), timed("xsimd", 1.08)});
  EXPECT_EQ(pick::pick(folder, {}, {}).choice().backend, "tbb");
  folder.environment["noise"] = {{"floor", 0.2}};
  EXPECT_EQ(pick::pick(folder, {}, {}).choice().backend, "xsimd");
}

TEST(Pick, ShowsPeersButLinksNone) {
  auto folder = sample_folder("results", {timed("tbb", 2), timed("other-library", 1)});
  folder.environment["peers"] = {{"other-library", {{"version", "1"}}}};
  mark_peers(folder);
  const Pick found = pick::pick(folder, {}, {});
  EXPECT_EQ(found.choice().backend, "tbb");
  EXPECT_EQ(found.configurations.size(), 1u);
  EXPECT_NE(to_text(found).find("not to link: other-library split"), std::string::npos)
      << to_text(found);
}

TEST(Pick, TakesOneBackendForSeveralShapesAndSaysWhatItLoses) {
  const auto folder = sample_folder(
      "results", {timed("tbb", 2), timed("xsimd", 1), with_tokens(timed("tbb", 1), 100),
                  with_tokens(timed("xsimd", 8), 100), with_tokens(timed("naive", 9), 100)});
  const Pick found = pick::pick(folder, {}, {});
  EXPECT_EQ(found.choice().backend, "tbb");
  EXPECT_NEAR(found.choice().mean_loss, std::sqrt(2), 1e-9);
  EXPECT_NEAR(found.choice().worst_loss, 2, 1e-9);
  EXPECT_EQ(found.choice().worst_shape, found.shapes[0].shape.id());
  EXPECT_EQ(found.shapes[0].candidates[found.shapes[0].chosen].result->cell.backend, "xsimd");
  EXPECT_EQ(found.shapes[1].candidates[found.shapes[1].chosen].result->cell.backend, "tbb");
  EXPECT_EQ(found.configurations.back().backend, "naive");
  EXPECT_EQ(found.configurations.back().missing, 1U);
}

TEST(Pick, ALighterOneMustBeTiedInEveryShape) {
  const auto folder = sample_folder(
      "results", {timed("tbb", 1), timed("xsimd", 1.005), with_tokens(timed("tbb", 1), 100),
                  with_tokens(timed("xsimd", 1.5), 100)});
  EXPECT_EQ(pick::pick(folder, {}, {}).choice().backend, "tbb");
  EXPECT_EQ(pick::pick(folder, {test::sample_shape()}, {}).choice().backend, "xsimd");
}

TEST(Pick, Filters) {
  auto big = timed("tbb", 0.5, Formulation::split, 2);
  big.costs->packed_bytes = 1 << 20;
  const auto folder =
      sample_folder("results", {big, timed("tbb", 1, Formulation::fused, 4), timed("xsimd", 2),
                                timed("naive", 3, Formulation::wrapper)});
  const auto picked = [&](const Filters& filters) {
    return name_of(pick::pick(folder, {}, filters));
  };
  EXPECT_EQ(picked({}), "tbb/split");
  EXPECT_EQ(picked({.max_packed_bytes = 1 << 19}), "tbb/fused");
  EXPECT_EQ(picked({.threads = {4}}), "tbb/fused");
  EXPECT_EQ(picked({.threads = {1}}), "xsimd/split");
  EXPECT_EQ(picked({.without = {"tbb"}}), "xsimd/split");
  EXPECT_EQ(picked({.backends = {"naive", "xsimd"}}), "xsimd/split");
  EXPECT_EQ(picked({.formulations = {Formulation::wrapper}}), "naive/wrapper");
  EXPECT_EQ(picked({.isa = "avx2"}), "tbb/split");
  EXPECT_THROW(picked({.isa = "avx512"}), InvalidArgument);
  try {
    picked({.backends = {"tbb"}, .without = {"tbb"}});
    FAIL() << "nothing is left";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("--without 2"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("--backend 2"), std::string::npos) << error.what();
  }
}

TEST(Pick, NamesTheNearestShapesOfAFolderThatLacksOne) {
  const auto folder = sample_folder(
      "results", {timed("naive", 1), with_tokens(timed("naive", 1), 64),
                  with_tokens(timed("naive", 1), 128), with_tokens(timed("naive", 1), 4096)});
  Case wanted = test::sample_shape();
  wanted.tokens = 100;
  try {
    pick::pick(folder, {wanted}, {});
    FAIL() << "the shape is not there";
  } catch (const InvalidArgument& error) {
    const std::string message = error.what();
    // 4 tokens are nearer than 4096, but few rows are another question.
    EXPECT_NE(message.find("B1_T128_D8_H2, B1_T64_D8_H2, B1_T4096_D8_H2;"), std::string::npos)
        << message;
  }
}

TEST(Pick, AnswersPrefillAndDecodeApart) {
  const auto folder = sample_folder(
      "results", {with_tokens(timed("naive", 1), 1), with_tokens(timed("xsimd", 3), 1),
                  with_tokens(timed("naive", 9), 64), with_tokens(timed("xsimd", 2), 64)});
  const Pick both = pick::pick(folder, {}, {});
  ASSERT_EQ(both.answers.size(), 2u);
  EXPECT_EQ(both.answers[0].demand, Demand::prefill);
  EXPECT_EQ(both.answers[0].configuration.backend, "xsimd");
  EXPECT_EQ(both.answers[1].configuration.backend, "naive");
  const std::string text = pick::to_text(both);
  EXPECT_NE(text.find("\n  prefill  split/xsimd"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  decode   split/naive"), std::string::npos) << text;
  EXPECT_NE(text.find("(decode, measured with an empty cache only)"), std::string::npos) << text;
  const auto json = nlohmann::ordered_json::parse(pick::to_json(both));
  EXPECT_EQ(json["answers"]["decode"]["backend"], "naive");
  EXPECT_EQ(json["answers"]["decode"]["answer"], "clear");
  EXPECT_FALSE(both.unclear());

  const Pick one = pick::pick(folder, {folder.results[0].shape}, {});
  EXPECT_TRUE(one.answers.empty());
  EXPECT_EQ(pick::to_text(one).find("prefill"), std::string::npos);
  EXPECT_FALSE(nlohmann::ordered_json::parse(pick::to_json(one)).contains("answers"));
}

TEST(Pick, OneQuestionOfTwoMayHaveNoAnswer) {
  const auto folder = sample_folder(
      "results", {with_tokens(wide("xsimd"), 1), with_tokens(timed("tbb", 1), 1),
                  with_tokens(timed("tbb", 1), 64), with_tokens(timed("xsimd", 2), 64)});
  const Pick found = pick::pick(folder, {}, {});
  EXPECT_EQ(found.sureness, judge::Sureness::clear);
  EXPECT_TRUE(found.unclear());
  const std::string text = pick::to_text(found);
  EXPECT_TRUE(text.starts_with("use split/tbb")) << text;
  const std::size_t decode = text.find("\n  decode   split/xsimd");
  ASSERT_NE(decode, std::string::npos) << text;
  EXPECT_NE(text.find("at worst; no answer yet\n", decode), std::string::npos) << text;
}

TEST(Pick, TellsWhoIsToBlameWhereNothingHasATime) {
  const auto only = [](Status status) {
    return sample_folder("results", {without_time(sample_result("naive"), status, "because")});
  };
  EXPECT_THROW(pick::pick(only(Status::unsupported), {}, {}), Unavailable);
  EXPECT_THROW(pick::pick(only(Status::skipped), {}, {}), ResourceError);
  for (const Status status : {Status::failed, Status::crashed}) {
    try {
      pick::pick(only(status), {}, {});
      FAIL() << to_string(status);
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find("because"), std::string::npos);
    }
  }
}

TEST(Pick, NeverTakesWhatFailed) {
  const auto folder = sample_folder(
      "results", {without_time(sample_result("tbb"), Status::failed, "wrong"), timed("naive", 5)});
  const Pick found = pick::pick(folder, {}, {});
  EXPECT_EQ(found.choice().backend, "naive");
  EXPECT_NE(to_text(found).find("failed: wrong"), std::string::npos);
}

TEST(PickJson, IsATuningFileWithEveryCandidate) {
  auto folder =
      sample_folder("results", {timed("tbb", 1, Formulation::fused, 2), timed("xsimd", 2),
                                with_tokens(timed("tbb", 3, Formulation::split, 2), 100)});
  folder.environment["headroom"] = "0.1.0";
  const tuning::TuningFile file = tuning::parse_tuning("pick", to_json(pick::pick(folder, {}, {})));
  EXPECT_EQ(file.version, "0.1.0");
  EXPECT_EQ(file.machine, (tuning::Machine{"Processor", "x86_64"}));
  ASSERT_EQ(file.shapes.size(), 2U);
  EXPECT_EQ(file.shapes[0].shape, test::sample_shape());
  ASSERT_EQ(file.shapes[0].candidates.size(), 2U);
  EXPECT_EQ(file.shapes[0].candidates[0].backend, "tbb");
  EXPECT_EQ(file.shapes[0].candidates[0].formulation, Formulation::fused);
  EXPECT_EQ(file.shapes[0].candidates[0].threads, 2);
  EXPECT_EQ(file.shapes[0].candidates[0].isa, "avx2");
  EXPECT_EQ(file.shapes[0].candidates[0].seconds, 1);
  EXPECT_EQ(file.shapes[0].candidates[1].seconds, 2);
}

TEST(PickText, HasTheLinesThatLinkIt) {
  const auto folder = sample_folder("results", {timed("tbb", 1, Formulation::fused, 2)});
  const std::string text = to_text(pick::pick(folder, {}, {}));
  for (const char* line :
       {"use fused/tbb, 2 threads", "find_package(headroom REQUIRED COMPONENTS tbb)",
        "PRIVATE headroom::tbb", "options.backend = \"tbb\";",
        "options.formulation = headroom::Formulation::fused;", "options.threads = 2;",
        "libtbb-dev"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
}

TEST(PickFolder, OfAnotherMachineIsNoticed) {
  const auto folder = sample_folder("results", {timed("naive", 1)});
  EXPECT_NE(pick::other_machine(folder).find("'Processor'"), std::string::npos);
  auto here = folder;
  here.environment["processor"] = {{"name", tuning::this_machine().processor},
                                   {"architecture", tuning::this_machine().architecture}};
  EXPECT_EQ(pick::other_machine(here), "");
}

}  // namespace
}  // namespace headroom::pick_test
