// headroom bisect in a repository that the test makes, whose program writes made-up times.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/cli.hpp"
#include "support/hostile.hpp"
#include "support/sample_results.hpp"

namespace headroom::bisect_test {
namespace {

using test::sample_result;
using test::with_time;

constexpr int kCommits = 32;

class CliBisect : public test::Cli {
 protected:
  void SetUp() override {
    test::Cli::SetUp();
    if (run("git --version").code != 0) GTEST_SKIP() << "there is no git";
    // What a program measures, by the name that its commit gives it.
    for (const auto& [name, factor, step] :
         {Times{"fast", 1, 0.001}, Times{"slow", 1.05, 0.001}, Times{"unclear", 1.025, 0.2}}) {
      test::write_sample_folder(path_ / "times" / name,
                                {with_time(sample_result("tbb"), test::around(factor * 1e-3, step)),
                                 with_time(sample_result("xsimd"), test::around(1e-3))});
    }
    write("repository/build.sh",
          "echo \"$(git rev-parse HEAD)\" >>\"$TRACES/builds\"\n"
          "test ! -e broken || { echo 'error: no such thing'; exit 1; }\n"
          "mkdir -p build && cp program.sh build/headroom && chmod +x build/headroom\n");
    write(
        "repository/program.sh",
        "#!/bin/bash\n"
        "echo \"$*\" >>\"$TRACES/calls\"\n"
        "[[ ! -e $TRACES/stop-at ]] || (($(wc -l <\"$TRACES/calls\") != $(<\"$TRACES/stop-at\"))) "
        "|| { kill -INT $PPID; exit 130; }\n"
        "[[ ! -e $TRACES/stay ]] || { sleep 1000 & echo $! $$ >\"$TRACES/stayed\"; wait; }\n"
        "for word in \"$@\"; do [[ $word == --out=* ]] && out=${word#--out=}; done\n"
        "cp -r \"$TRACES/times/$(<\"$(dirname \"$0\")/../speed\")\" \"$out\"\n");
    expect(kGit + "init --quiet", 0, {});
  }

  struct Times {
    const char* name;
    double factor, step;
  };

  // Commits 0 to 31; those from `culprit` on are slow. @param change shell, told the number as $i
  void make_commits(int culprit, const std::string& change = ":",
                    const std::string& message = "commit $i") const {
    expect("cd repository; for ((i = 0; i < " + std::to_string(kCommits) +
               "; ++i)); do "
               "if ((i < " +
               std::to_string(culprit) +
               ")); then echo fast; else echo slow; fi >speed; "
               "echo $i >number; rm -f broken; " +
               change +
               "; git add -A; "
               "git -c user.name=test -c user.email=test@example.invalid commit --quiet -m \"" +
               message + "\"; git tag c$i; done",
           0, {});
  }

  static std::string command(const std::string& good, const std::string& bad,
                             const std::string& options = "") {
    return "TRACES=$PWD $headroom bisect " + good + " " + bad +
           " --repository repository --build 'bash build.sh' " + options + " -- --heads 2";
  }

  std::string hash(int commit) const {
    return run(kGit + "rev-parse c" + std::to_string(commit)).output.substr(0, 40);
  }

  std::vector<std::string> lines(const std::string& name) const {
    std::istringstream text(test::read_all(path_ / name));
    std::vector<std::string> all;
    for (std::string line; std::getline(text, line);) all.push_back(line);
    return all;
  }

  const std::string kGit = "git -C repository ";
};

TEST_F(CliBisect, NamesTheCulpritInSevenBuilds) {
  for (const int culprit : {1, 16, 31}) {
    expect("rm -rf headroom-bisect builds repository/.git; git init --quiet repository", 0, {});
    make_commits(culprit);
    expect(command("c0", "c31"), 0,
           {"the cells are slower since " + hash(culprit) + " commit " + std::to_string(culprit) +
                "\n",
            "31 commits after GOOD up to BAD", "1 of 2 cells slower, together 1.05",
            "split/tbb/f32/t1/B1_T4_D8_H2", "at most 7 builds"});
    const std::vector<std::string> builds = lines("builds");
    EXPECT_LE(builds.size(), 7U) << culprit;
    EXPECT_EQ(std::set(builds.begin(), builds.end()).size(), builds.size());
  }
}

TEST_F(CliBisect, LeavesTheCheckoutAlone) {
  make_commits(20);
  expect("echo changed >repository/number; echo new >repository/untracked", 0, {});
  const std::string before = run(kGit + "status --porcelain --branch; " + kGit + "log -1").output;
  expect(command("c0", "c31"), 0, {});
  EXPECT_EQ(run(kGit + "status --porcelain --branch; " + kGit + "log -1").output, before);
  EXPECT_EQ(run(kGit + "worktree list | wc -l").output, "1\n");
  EXPECT_FALSE(std::filesystem::exists(path_ / "repository" / "build"));
}

TEST_F(CliBisect, MeasuresEachCommitInTurnWithBothEnds) {
  make_commits(20);
  expect(command("c0", "c31"), 0, {});
  std::string order;
  for (const std::string& call : lines("calls")) {
    EXPECT_EQ(call.substr(0, 50), "sweep --heads 2 --processes=2 --repetitions=4 --ou");
    if (call.find("/rounds/ends/") != std::string::npos) continue;
    order += call[call.rfind('/') + 1];
    if (order.size() == 12) break;
  }
  EXPECT_EQ(order, "gcbcbgbgcgcb") << "good, commit, bad, and another first each time";
}

TEST_F(CliBisect, GoesOnWhereItWasStopped) {
  make_commits(20);
  // In the second commit that is asked about, in the middle of a round.
  write("stop-at", "27");
  const test::Outcome stopped = run(command("c0", "c31"));
  EXPECT_EQ(stopped.code, 130) << stopped.errors;
  EXPECT_NE(stopped.output.find("stopped; the same command goes on"), std::string::npos);
  EXPECT_EQ(stopped.output.find("slower since"), std::string::npos);
  const std::size_t calls = lines("calls").size();
  expect("rm stop-at", 0, {});
  expect(command("c0", "c31"), 0, {"the cells are slower since " + hash(20)});
  const std::vector<std::string> builds = lines("builds");
  EXPECT_LE(builds.size(), 7U) << "nothing is built twice";
  EXPECT_EQ(std::set(builds.begin(), builds.end()).size(), builds.size());
  // 8 of the ends and 12 of each of 5 commits; what was cut short, up to 3, is done again.
  EXPECT_LE(lines("calls").size(), 8U + 60U + 3U);
  EXPECT_GT(lines("calls").size(), calls);
  // And once it is done, nothing is left to do.
  const std::size_t all = lines("calls").size();
  expect(command("c0", "c31"), 0, {"the cells are slower since " + hash(20)});
  EXPECT_EQ(lines("calls").size(), all);
  EXPECT_EQ(lines("builds").size(), builds.size());
}

// The measurement is one of several processes, and all of them end with the command.
TEST_F(CliBisect, LeavesNoProcessHoweverItEnds) {
  make_commits(20);
  for (const auto& [name, code] :
       {std::pair("KILL", 137), std::pair("HUP", 129), std::pair("TERM", 143)}) {
    const test::Outcome outcome = run(
        "rm -rf headroom-bisect stayed; touch stay; " + command("c0", "c31") +
        " & pid=$!; for ((i = 0; i < 600; ++i)); do [[ -s stayed ]] && break; sleep 0.05; done; "
        "kill -" +
        std::string(name) +
        " $pid; wait $pid; code=$?; "
        "for ((i = 0; i < 200; ++i)); do left=; for process in $(<stayed); do "
        "grep -qs '^State:.[^ZX]' /proc/$process/status && left+=\"$process \"; done; "
        "[[ $left ]] || break; sleep 0.05; done; [[ -s stayed ]] || echo never started; "
        "echo \"left: $left\"; exit $code");
    EXPECT_EQ(outcome.code, code) << outcome.errors;
    EXPECT_TRUE(outcome.output.ends_with("left: \n")) << name << ": " << outcome.output;
    EXPECT_EQ(outcome.output.find("never"), std::string::npos) << outcome.output;
  }
}

// They are under a folder that somebody else may have made.
TEST_F(CliBisect, FollowsNoLinkInItsFolder) {
  make_commits(20);
  write("precious", "of somebody else");
  for (const char* name : {"git.log", "bisect.json", "sweep.lock"}) {
    expect("rm -rf headroom-bisect; mkdir headroom-bisect; ln -s ../precious headroom-bisect/" +
               std::string(name) + "; " + command("c0", "c31"),
           4, {std::string(name) + ": it is a symbolic link"});
    EXPECT_EQ(test::read_all(path_ / "precious"), "of somebody else") << name;
  }
  for (const char* name : {"trees", "logs", "rounds"}) {
    expect(
        "rm -rf headroom-bisect elsewhere; mkdir headroom-bisect elsewhere; "
        "ln -s ../elsewhere headroom-bisect/" +
            std::string(name) + "; " + command("c0", "c31"),
        4, {std::string(name) + ": it is a symbolic link"});
    EXPECT_TRUE(std::filesystem::is_empty(path_ / "elsewhere")) << name;
  }
}

TEST_F(CliBisect, SkipsWhatDoesNotBuild) {
  make_commits(20, "((i < 14 || i > 17)) || touch broken");
  expect(command("c0", "c31"), 0,
         {"the cells are slower since " + hash(20), "unbuildable",
          "its build ended with 1: error: no such thing"});
}

TEST_F(CliBisect, SaysBetweenWhichCommitsItLies) {
  make_commits(20, "((i < 19 || i > 21)) || touch broken");
  const test::Outcome outcome = run(command("c0", "c31"));
  EXPECT_EQ(outcome.code, 1) << outcome.errors;
  EXPECT_NE(outcome.output.find("since one of these 4 commits:"), std::string::npos)
      << outcome.output;
  for (const int commit : {19, 20, 21, 22}) {
    const std::string line = "    " + hash(commit).substr(0, 12) + " commit ";
    EXPECT_NE(outcome.output.find(line), std::string::npos) << commit;
  }
}

TEST_F(CliBisect, MeasuresLongerWhatIsInDoubt) {
  make_commits(20, "((i != 15)) || echo unclear >speed");
  expect(command("c0", "c31"), 0,
         {"the cells are slower since " + hash(20), "in doubt",
          "is not distinguishable yet: more launches"});
  const std::string name = hash(15).substr(0, 12);
  const auto calls = lines("calls");
  EXPECT_EQ(std::count_if(calls.begin(), calls.end(),
                          [&](const std::string& call) {
                            return call.find("/rounds/" + name + "/") != std::string::npos;
                          }),
            3 * 16);
}

TEST_F(CliBisect, WithoutADifferenceItEndsWithOne) {
  make_commits(100);
  expect(command("c0", "c31"), 1, {"none of 2 cells is slower in BAD than in GOOD", "2 builds"});
  EXPECT_EQ(lines("builds").size(), 2U);
  EXPECT_EQ(lines("calls").size(), 8U);
}

TEST_F(CliBisect, EndsThatFailAreErrors) {
  make_commits(20, "((i != 31)) || touch broken");
  expect(command("c0", "c31"), 1, {"error: BAD ", "its build ended with 1: error: no such thing"});
  expect("rm -rf headroom-bisect", 0, {});
  expect(command("c0", "c30", "--program build/other"), 1,
         {"error: GOOD ", "its build leaves no build/other; name it with --program"});
  expect("rm -rf headroom-bisect times/fast", 0, {});
  expect(command("c0", "c30"), 1, {"error: GOOD: its program wrote no results: cp: ", "by hand"});
}

TEST_F(CliBisect, MergesCountAsOneCommit) {
  make_commits(100);
  const std::string commit = "git -c user.name=test -c user.email=test@example.invalid ";
  expect(
      "cd repository; git checkout --quiet -b side c31; for ((i = 0; i < 5; ++i)); do echo $i "
      ">side; "
      "((i < 2)) || echo slow >speed; git add -A; " +
          commit +
          "commit --quiet -m side; done; "
          "git checkout --quiet --detach c31; echo more >more; git add -A; " +
          commit + "commit --quiet -m more; " + commit +
          "merge --quiet --no-ff -m 'the merge' side; git tag merged",
      0, {});
  expect(command("c0", "merged"), 0, {" the merge\n", "33 commits after GOOD up to BAD"});
}

TEST_F(CliBisect, NoNameNorMessageIsObeyed) {
  make_commits(20, ":",
               "$(printf '\\e[31m\\u202e</td><script>alert(1)</script>`touch pwned`;touch pwned')");
  const test::Outcome outcome = run(command("c0", "c31"));
  EXPECT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_EQ(test::obeyed(outcome.output + outcome.errors), "");
  EXPECT_NE(outcome.output.find("\\u001b[31m"), std::string::npos) << outcome.output;
  for (const std::string name : {"'c0;touch pwned'", "'$(touch pwned)'", "''", "missing"}) {
    expect(command(name, "c31", "--work other"), 2, {"is no commit of repository"});
  }
  expect(command("'--output=pwned'", "c31"), 2, {});
  expect("TRACES=$PWD $headroom bisect --repository repository -- --output=pwned c31 --heads 2", 2,
         {"'--output=pwned' is no commit"});
  expect(command("c0", "c31", "--work 'a;touch pwned'"), 0, {});
  EXPECT_TRUE(run("find . -name pwned").output.empty());
}

TEST_F(CliBisect, WrongUsage) {
  make_commits(20);
  expect("$headroom bisect c0", 2, {"BAD"});
  expect("$headroom bisect c0 c31 --repository repository", 2, {"AXES: none are given"});
  expect("$headroom bisect c0 c31 --repository repository -- --heads 2 --out there", 2,
         {"AXES: --out is not for a bisection"});
  expect(command("c31", "c0"), 2, {"GOOD is no ancestor of BAD"});
  expect(command("c3", "c3"), 2, {"the same commit"});
  expect(command("c0", "c31", "--program ../headroom"), 2, {"lies outside of the commit's folder"});
  expect(command("c0", "c31", "--program /bin/true"), 2, {"lies outside of the commit's folder"});
  expect(command("c0", "c31", "--threshold 3"), 2, {"--threshold"});
  expect("mkdir none; $headroom bisect a b --repository none -- --heads 2", 2, {"is no commit of"});
}

TEST_F(CliBisect, AnotherBisectionDoesNotGoOnInItsFolder) {
  make_commits(20);
  expect(command("c0", "c31"), 0, {});
  expect(command("c1", "c31"), 2, {"bisect.json is of another bisection", "--work"});
  write("headroom-bisect/bisect.json",
        "{\"schema\": \"headroom.bisect/1\", \"commits\": {\"a\": 1}}");
  expect(command("c0", "c31"), 3, {"bisect.json", "--work"});
  write("headroom-bisect/bisect.json", "no JSON");
  expect(command("c0", "c31"), 3, {"bisect.json: is no JSON object"});
}

}  // namespace
}  // namespace headroom::bisect_test
