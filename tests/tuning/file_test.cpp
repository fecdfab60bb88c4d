// Tuning files: what is read, and what is refused.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>
#include <string>

#include "core/regular_file.hpp"
#include "support/sample_tuning.hpp"
#include "support/temporary_folder.hpp"

namespace headroom::file_test {
namespace {

using nlohmann::ordered_json;
using test::candidate;
using test::tuned_shape;
using tuning::parse_tuning;

ordered_json sample() {
  return test::tuning_json({{tuned_shape(16),
                             {candidate("tbb", Formulation::fused, 1e-3, 2, "avx2"),
                              candidate("naive", Formulation::split, 2e-3)}},
                            {tuned_shape(128), {candidate("naive", Formulation::wrapper, 0.5)}}});
}

std::string error_of(const std::string& text) {
  try {
    parse_tuning("tuning.json", text);
  } catch (const FileError& error) {
    return error.what();
  }
  return "no error";
}

TEST(TuningFile, IsReadAsItWasWritten) {
  const tuning::TuningFile file = parse_tuning("tuning.json", sample().dump());
  EXPECT_EQ(file.version, HEADROOM_VERSION);
  EXPECT_EQ(file.machine, tuning::this_machine());
  ASSERT_EQ(file.shapes.size(), 2U);
  EXPECT_EQ(file.shapes[0].shape, tuned_shape(16));
  ASSERT_EQ(file.shapes[0].candidates.size(), 2U);
  const tuning::Candidate& first = file.shapes[0].candidates[0];
  EXPECT_EQ(first.backend, "tbb");
  EXPECT_EQ(first.formulation, Formulation::fused);
  EXPECT_EQ(first.threads, 2);
  EXPECT_EQ(first.isa, "avx2");
  EXPECT_EQ(first.seconds, 1e-3);
  EXPECT_EQ(file.shapes[1].candidates[0].formulation, Formulation::wrapper);
}

TEST(TuningFile, EveryTornPieceIsRefused) {
  const std::string text = sample().dump();
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_NE(error_of(text.substr(0, length)).find("tuning.json: "), std::string::npos) << length;
  }
  EXPECT_EQ(error_of(text), "no error");
}

TEST(TuningFile, HostileValuesAreRefusedByName) {
  const auto changed = [](const std::function<void(ordered_json&)>& change) {
    ordered_json json = sample();
    change(json);
    return error_of(json.dump());
  };
  const auto expect = [](const std::string& found, const std::string& part) {
    EXPECT_NE(found.find(part), std::string::npos) << found;
  };
  expect(changed([](ordered_json& j) { j["schema"] = "headroom.tuning/2"; }), "headroom.tuning/1");
  expect(changed([](ordered_json& j) { j = ordered_json::array(); }), "headroom.tuning/1");
  expect(changed([](ordered_json& j) { j.erase("machine"); }), "machine");
  expect(changed([](ordered_json& j) { j["shapes"] = ordered_json::array(); }), "shapes");
  expect(changed([](ordered_json& j) { j["shapes"][0] = 7; }), "shapes[0]");
  expect(changed([](ordered_json& j) { j["shapes"][1]["candidates"] = ordered_json::array(); }),
         "shapes[1].candidates");
  expect(changed([](ordered_json& j) { j["shapes"][0]["shape"]["heads"] = 0; }),
         "shapes[0].shape.heads");
  expect(changed([](ordered_json& j) { j["shapes"][0]["shape"]["tokens"] = 1e300; }), "tokens");
  expect(changed([](ordered_json& j) { j["shapes"][0]["candidates"][1]["time_s"]["median"] = -1; }),
         "shapes[0].candidates[1].time_s.median");
  expect(changed([](ordered_json& j) { j["shapes"][0]["candidates"][0]["threads"] = 1U << 31U; }),
         "threads");
  expect(changed([](ordered_json& j) { j["shapes"][0]["candidates"][0]["formulation"] = "auto"; }),
         "formulation");
  expect(error_of(std::string(100'000, '[')), "not valid JSON");
  std::string huge = sample().dump();
  huge.replace(huge.find("0.5"), 3, "1e999");
  expect(error_of(huge), "too large");
}

TEST(TuningFile, IsStaleOnAnotherMachineOrOfAnotherVersion) {
  tuning::TuningFile file = parse_tuning("tuning.json", sample().dump());
  EXPECT_EQ(stale_reason(file), "");
  file.machine.processor = "Abacus";
  EXPECT_NE(stale_reason(file).find("'Abacus'"), std::string::npos);
  file.machine = tuning::this_machine();
  file.version = "0.0.9";
  EXPECT_NE(stale_reason(file).find("0.0.9"), std::string::npos);
  file.version =
      std::to_string(HEADROOM_VERSION_MAJOR) + "." + std::to_string(HEADROOM_VERSION_MINOR) + ".99";
  EXPECT_EQ(stale_reason(file), "");
}

class TuningFileOnDisk : public test::TemporaryFolder {};

TEST_F(TuningFileOnDisk, IsRefusedUnlessItIsARegularFile) {
  write("tuning.json", sample().dump());
  EXPECT_EQ(tuning::read_tuning(path_ / "tuning.json").shapes.size(), 2U);
  EXPECT_THROW(tuning::read_tuning(path_), FileError);
  EXPECT_THROW(tuning::read_tuning(path_ / "missing"), FileError);
  ASSERT_EQ(mkfifo((path_ / "fifo").c_str(), 0600), 0);
  EXPECT_THROW(tuning::read_tuning(path_ / "fifo"), FileError);
}

}  // namespace
}  // namespace headroom::file_test
