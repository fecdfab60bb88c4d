// Every command that writes, with its k-th write, sync or rename failing, or killed there: each
// file has the old text or the new one, whole, and the next run works.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "support/cli.hpp"
#include "support/sample_machines.hpp"
#include "support/sanitized.hpp"
#include "support/version_store.hpp"

namespace headroom::test::writes_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

using Files = std::map<std::string, std::string>;

constexpr const char* kTiny =
    "--backend naive --formulation split --heads 2 --head-dim 4 --tokens 3 --repetitions 2 "
    "--processes 1 --min-time 0.0001 ";

// A command in the folder `work`, whose files before are those of `before`.
struct Writer {
  std::string line;
  // Of a file that differs from run to run: whether it is whole.
  std::function<bool(const std::string& name, const std::string& text)> is_whole = nullptr;
  // What follows a run that failed; empty for the same line.
  std::string next = {};
  // It takes long: each place fails in one of the ways, and not in all.
  bool one_way_each = false;
};

bool is_unfinished(const std::string& name) {
  const std::string file = fs::path(name).filename().string();
  return file.starts_with('.') && file.size() > 7 && file[file.size() - 7] == '.';
}

// What only a running process is interested in.
bool is_scratch(const std::string& name) {
  return name.find("sweep.lock") != std::string::npos ||
         name.find(".collecting") != std::string::npos;
}

// Whole lines of JSON; what was torn at the end a reader drops.
bool are_lines(const std::string& text) {
  std::size_t start = 0;
  for (std::size_t end = 0; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
    if (!json::accept(text.substr(start, end - start))) return false;
  }
  return true;
}

class CliWrites : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    if (kSanitized) GTEST_SKIP() << "the sanitizer wants to be loaded before all others";
    for (const char* name : {"old", "new"}) {
      const double middle = name == std::string("old") ? 1e-3 : 2e-3;
      write_sample_folder(path_ / "before" / name,
                          {with_time(sample_result("naive"), around(middle)),
                           with_time(sample_result("tbb"), around(2 * middle))},
                          environment_of("alpha", "one"));
    }
    fs::create_directory(path_ / "bin");
    fs::create_symlink("/bin/false", path_ / "bin" / "node");  // its pictures take a second
  }

  Files files_of(const fs::path& folder) const {
    Files files;
    if (!fs::exists(folder)) return files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const std::string name = entry.path().lexically_relative(folder).generic_string();
      if (entry.is_regular_file() && !is_scratch(name)) files[name] = read_all(entry.path());
    }
    return files;
  }

  Outcome run_in_work(const std::string& line, const std::string& fault = "") const {
    const std::string plan =
        fault.empty() ? std::string()
                      : fmt::format("fault='env LD_PRELOAD=" HEADROOM_FAILING_WRITES
                                    " HEADROOM_TEST_FAULT={} HEADROOM_TEST_FAULT_MARK={}'; ",
                                    fault, (path_ / "mark").string());
    return run("export OMP_WAIT_POLICY=passive PATH=$PWD/bin:$PATH; fault=; " + plan +
               "faulty='" HEADROOM_FAULTY_PROGRAM "'; cd work; " + line);
  }

  void reset() const {
    std::error_code ignored;
    fs::remove_all(path_ / "work", ignored);
    fs::remove(path_ / "mark", ignored);
    fs::copy(path_ / "before", path_ / "work", fs::copy_options::recursive);
  }

  void expect_old_or_new(const Writer& writer, const Files& before, const Files& after,
                         const std::string& where, bool killed) const {
    const Files now = files_of(path_ / "work");
    for (const auto& [name, text] : before) {
      EXPECT_TRUE(now.contains(name)) << where << ": " << name << " is gone";
    }
    for (const auto& [name, text] : now) {
      if (is_unfinished(name)) {
        EXPECT_TRUE(killed) << where << ": " << name << " is left";
        continue;
      }
      const auto old = before.find(name);
      const auto fresh = after.find(name);
      const bool is_old = old != before.end() && old->second == text;
      const bool is_new = fresh != after.end() && fresh->second == text;
      EXPECT_TRUE(is_old || is_new || (writer.is_whole && writer.is_whole(name, text)))
          << where << ": " << name << " is neither old nor new: " << text.substr(0, 200);
    }
  }

  // @return how many places were walked over
  int walk(const Writer& writer) const {
    reset();
    const Files before = files_of(path_ / "work");
    const Outcome whole = run_in_work(writer.line);
    EXPECT_EQ(whole.code, 0) << writer.line << "\n" << whole.errors;
    const Files after = files_of(path_ / "work");
    EXPECT_TRUE(before != after) << writer.line << " writes nothing";
    const std::vector<std::string> kinds{"error", "full", "kill"};
    int walked = 0;
    for (std::size_t way = 0; way < (writer.one_way_each ? 1 : kinds.size()); ++way) {
      for (std::size_t place = 1; !HasFailure(); ++place) {
        const std::string& kind = kinds[writer.one_way_each ? place % kinds.size() : way];
        const std::string fault = fmt::format("{}:{}", kind, place);
        const std::string where = fault + " of " + writer.line;
        reset();
        const Outcome outcome = run_in_work(writer.line, fault);
        if (!fs::exists(path_ / "mark")) break;
        ++walked;
        const bool killed = kind == "kill";
        if (killed) {
          EXPECT_EQ(outcome.code, 128 + SIGKILL) << where << "\n" << outcome.errors;
        } else if (outcome.code != 0) {
          EXPECT_EQ(outcome.code, 4) << where << "\n" << outcome.errors;
          EXPECT_NE(outcome.errors.find("cannot "), std::string::npos) << where << outcome.errors;
        }
        expect_old_or_new(writer, before, after, where, killed);
        const Outcome next = run_in_work(writer.next.empty() ? writer.line : writer.next);
        EXPECT_EQ(next.code, 0) << "after " << where << "\n" << next.errors;
        Files at_last = files_of(path_ / "work");
        std::erase_if(at_last, [](const auto& each) { return is_unfinished(each.first); });
        if (!writer.is_whole) EXPECT_EQ(at_last, after) << "after " << where;
      }
    }
    EXPECT_GT(walked, 0) << writer.line;
    std::cout << walked << " faults of: " << writer.line << "\n";
    return walked;
  }
};

TEST_F(CliWrites, Export) {
  write("before/out.csv", "the old text");
  walk({"$fault $headroom export new --to csv --output out.csv"});
}

TEST_F(CliWrites, Pick) {
  write("before/picked.json", "the old text");
  walk({"$fault $headroom pick --from new --emit json --output picked.json"});
}

TEST_F(CliWrites, Report) {
  run("cd before; PATH=/nowhere $headroom report old --out page");
  ASSERT_TRUE(fs::exists(path_ / "before/page/index.html"));
  walk({"$fault $headroom report new --out page"});
}

TEST_F(CliWrites, ReportOfMany) {
  write_sample_folder(path_ / "before/beta", {machine_cell("tbb", 2, around(2e-3))},
                      environment_of("beta", "one"));
  walk({"$fault $headroom report a=new b=beta --out page"});
}

TEST_F(CliWrites, Compare) {
  run("cd before; $headroom compare old old --page page.html");
  ASSERT_TRUE(fs::exists(path_ / "before/page.html"));
  walk({"$fault $headroom compare old new --page page.html"});
}

TEST_F(CliWrites, Trend) {
  write_store(path_ / "before/store", "machine", 3, [](int i) {
    return std::vector{with_time(sample_result("tbb"), around(luck(i) * 1e-3))};
  });
  walk({"$fault $headroom trend store --page page.html"});
}

TEST_F(CliWrites, Merge) { walk({"$fault $headroom merge new --out merged"}); }

TEST_F(CliWrites, Collect) { walk({"$fault $headroom collect new --into store"}); }

TEST_F(CliWrites, CollectWhatGrew) {
  ASSERT_EQ(run("cd before; $headroom collect new --into store").code, 0);
  write_sample_folder(path_ / "before/new",
                      {with_time(sample_result("naive"), around(2e-3)),
                       with_time(sample_result("tbb"), around(4e-3)),
                       with_time(sample_result("xsimd"), around(1e-3))},
                      environment_of("alpha", "one"));
  walk({"$fault $headroom collect new --into store"});
}

TEST_F(CliWrites, Explain) {
  write("before/lesson.html", "the old text");
  walk({"$fault $headroom explain simplified --page lesson.html"});
}

TEST_F(CliWrites, Run) {
  fs::copy(HEADROOM_TEST_DATA "/weights/gpt2", path_ / "before/gpt2", fs::copy_options::recursive);
  write("before/y.npy", "the old text");
  walk({"$fault $headroom run --weights gpt2 --backend naive --tokens 3 --output y.npy"});
}

bool is_whole_folder(const std::string& name, const std::string& text) {
  if (name.ends_with("results.jsonl")) return are_lines(text);
  return name.ends_with("environment.json") && json::accept(text);
}

TEST_F(CliWrites, Sweep) {
  const std::string sweep = std::string("sweep ") + kTiny + "--out swept";
  walk({"$fault $faulty " + sweep, is_whole_folder, "$faulty " + sweep + " --resume"});
}

// The same command again, as long as no cell is there.
TEST_F(CliWrites, SweepsThatMeasuredNothingYet) {
  const std::string sweep = std::string("sweep ") + kTiny + "--out swept";
  walk({"$fault $faulty " + sweep, is_whole_folder,
        "if [[ -s swept/results.jsonl ]]; then rm -r swept; fi; $faulty " + sweep});
}

TEST_F(CliWrites, SweepsThatGoOn) {
  const std::string sweep = std::string("sweep ") + kTiny + "--out swept";
  ASSERT_EQ(run("cd before; OMP_WAIT_POLICY=passive '" HEADROOM_FAULTY_PROGRAM "' " + sweep).code,
            0);
  write("before/swept/results.jsonl", "{\"schema\": \"headr");  // torn, and so written anew
  walk({"$fault $faulty " + sweep + " --resume", is_whole_folder});
}

bool is_tuning(const std::string& name, const std::string& text) {
  return name == "tuning.json" && json::accept(text);
}

TEST_F(CliWrites, Tune) {
  if (run("$headroom info").output.find("\nkernels ") == std::string::npos) {
    GTEST_SKIP() << "this build has no kernels to tune";
  }
  // Without units, whose few rows take as long again.
  walk(
      {"HEADROOM_UNIT=none $fault $headroom tune --threads 1 --min-time 0.0001 --output "
       "tuning.json",
       is_tuning, "HEADROOM_TUNING=tuning.json $headroom info", true});
}

bool is_of_bisection(const std::string& name, const std::string& text) {
  if (name.find("headroom-bisect/") == std::string::npos) return true;  // what Git keeps for itself
  if (name.ends_with("bisect.json")) return json::accept(text);
  return name.ends_with(".jsonl") ? are_lines(text) : true;
}

TEST_F(CliWrites, Bisect) {
  if (run("git --version").code != 0) GTEST_SKIP() << "there is no git";
  const std::string commit =
      "git add -A; git -c user.name=test -c user.email=test@example.invalid commit --quiet -m ";
  write("before/repository/program.sh",
        "#!/bin/bash\n"
        "for word in \"$@\"; do [[ $word == --out=* ]] && out=${word#--out=}; done\n"
        "cp -r \"$TIMES/$(<\"$(dirname \"$0\")/speed\")\" \"$out\"\n");
  ASSERT_EQ(run("cd before/repository && git init --quiet . && chmod +x program.sh && echo old "
                ">speed && " +
                commit + "old && echo new >speed && " + commit + "new")
                .code,
            0);
  walk(
      {"TIMES=$PWD $fault $headroom bisect HEAD~1 HEAD --repository repository --build : "
       "--program program.sh -- --heads 2",
       is_of_bisection});
}

}  // namespace
}  // namespace headroom::test::writes_test
