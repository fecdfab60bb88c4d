// Paths and names in the errors of files: a program that prints `what()` prints nothing that its
// terminal obeys.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "core/regular_file.hpp"
#include "headroom/error.hpp"
#include "support/hostile.hpp"
#include "support/safetensors_text.hpp"
#include "support/temporary_folder.hpp"
#include "tuning/tuning_file.hpp"
#include "weights/npy.hpp"
#include "weights/tensor_set.hpp"

namespace headroom::paths_test {
namespace {

namespace fs = std::filesystem;

class HostilePaths : public test::TemporaryFolder {
 protected:
  void SetUp() override {
    test::TemporaryFolder::SetUp();
    folder_ = path_ / "a\x1b[31m\a\u009b\u202e\nFORGED\xff";
    fs::create_directory(folder_);
  }

  // What is wrong is told, with a path that is fit to be shown.
  static void expect_shown(const std::string& what, const std::function<void()>& open) {
    try {
      open();
      ADD_FAILURE() << what << ": no error";
    } catch (const FileError& error) {
      const std::string text = error.what();
      EXPECT_EQ(test::obeyed(text), "") << what;
      EXPECT_EQ(text.find('\n'), std::string::npos) << what;
      EXPECT_NE(text.find("a\\u001b[31m\\u0007\\u009b\\u202e\\nFORGED\\xff"), std::string::npos)
          << what << ": " << text;
    }
  }

  fs::path file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }

  fs::path folder_;
};

TEST_F(HostilePaths, OfFilesThatCannotBeRead) {
  expect_shown("missing", [&] { read_regular_file(folder_ / "missing", 10); });
  expect_shown("a folder", [&] { read_regular_file(folder_, 10); });
  expect_shown("too large", [&] { read_regular_file(file("large", "12345678901"), 10); });
}

TEST_F(HostilePaths, OfWeights) {
  expect_shown("missing", [&] { weights::TensorSet(folder_ / "missing.safetensors"); });
  expect_shown("an empty folder", [&] { weights::TensorSet set(folder_); });
  expect_shown("no safetensors", [&] { weights::TensorSet(file("w.safetensors", "no")); });
  expect_shown("no npy", [&] { weights::TensorSet(file("w.npy", "no")); });
  test::SafetensorsText text;
  text.header()[test::kHostile] = 5;
  expect_shown("a tensor", [&] { weights::TensorSet(file("t.safetensors", text.text())); });
  expect_shown("two files", [&] { weights::TensorSet set(folder_); });
}

TEST_F(HostilePaths, OfTuningFiles) {
  expect_shown("missing", [&] { tuning::read_tuning(folder_ / "missing"); });
  expect_shown("no JSON", [&] { tuning::read_tuning(file("tuning.json", "{")); });
  expect_shown("another schema", [&] { tuning::read_tuning(file("tuning.json", "{}")); });
  const nlohmann::json json{{"schema", tuning::kSchema}, {"headroom", test::kHostile}};
  expect_shown("a field is missing",
               [&] { tuning::read_tuning(file("tuning.json", json.dump())); });
}

}  // namespace
}  // namespace headroom::paths_test
