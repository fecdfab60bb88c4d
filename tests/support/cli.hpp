// The real program, run as a user runs it.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "support/temporary_folder.hpp"

namespace headroom::test {

inline std::string read_all(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

struct Outcome {
  int code = -1;
  std::string output;
  std::string errors;
};

class Cli : public TemporaryFolder {
 protected:
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
    TemporaryFolder::TearDown();
  }

  // Runs a shell line in the test's folder, with $headroom and $broken as the programs.
  Outcome run(const std::string& line) const {
    const std::string command = "cd '" + path_.string() +
                                "' && headroom='" HEADROOM_PROGRAM
                                "' broken='" HEADROOM_BROKEN_PROGRAM "' && { " +
                                line + "\n} > out.txt 2> err.txt";
    const int status = std::system(("bash -c '" + escaped(command) + "'").c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_all(path_ / "out.txt"),
            read_all(path_ / "err.txt")};
  }

  void expect(const std::string& line, int code, const std::vector<std::string>& parts) const {
    const Outcome outcome = run(line);
    EXPECT_EQ(outcome.code, code) << line << "\n" << outcome.errors;
    for (const std::string& part : parts) {
      EXPECT_NE((outcome.output + outcome.errors).find(part), std::string::npos)
          << "no \"" << part << "\" after: " << line << "\n"
          << outcome.output << outcome.errors;
    }
  }

  std::vector<nlohmann::json> results(const std::filesystem::path& name = "results") const {
    std::ifstream file(path_ / name / "results.jsonl");
    std::vector<nlohmann::json> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  }

 private:
  static std::string escaped(const std::string& text) {
    std::string result;
    for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return result;
  }
};

}  // namespace headroom::test
