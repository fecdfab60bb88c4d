// The main of every test program. A program holds the tests of a room; started under the name of
// one of its files, as attention_layer_oracle_test for attention/layer_oracle_test.cpp, it has that
// file's tests and no others.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <set>
#include <string>

namespace {

/// A case that takes longer hangs. Emulators and sanitizers are slow.
constexpr unsigned kSecondsForACase = 1200;

std::string name_of(const testing::TestInfo& test) {
  return std::string(test.test_suite_name()) + '.' + test.name();
}

/// <room>/<name>_test.cpp as <room>_<name>_test.
std::string file_of(const testing::TestInfo& test) {
  std::string path = test.file();
  path.resize(path.rfind('.'));
  const std::size_t slash = path.rfind('/');
  const std::size_t room = path.rfind('/', slash - 1) + 1;
  return path.substr(room, slash - room) + '_' + path.substr(slash + 1);
}

std::map<std::string, std::set<std::string>> cases_of_files() {
  std::map<std::string, std::set<std::string>> cases;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const testing::TestInfo& test = *suite.GetTestInfo(j);
      cases[file_of(test)].insert(name_of(test));
    }
  }
  return cases;
}

/// What GoogleTest is asked for, without the cases of other files.
std::string filter_without(const std::map<std::string, std::set<std::string>>& cases,
                           const std::string& file) {
  const auto suite_of = [](const std::string& name) { return name.substr(0, name.rfind('.')); };
  std::set<std::string> own_suites;
  for (const std::string& name : cases.at(file)) own_suites.insert(suite_of(name));
  std::set<std::string> others;  // whole suites, where no case of them is in this file
  for (const auto& [other, names] : cases) {
    if (other == file) continue;
    for (const std::string& name : names) {
      const std::string suite = suite_of(name);
      others.insert(own_suites.count(suite) > 0 ? name : suite + ".*");
    }
  }
  std::string filter = testing::GTEST_FLAG(filter);
  for (const std::string& other : others) {
    filter += filter.find('-') == std::string::npos ? '-' : ':';
    filter += other;
  }
  return filter;
}

/// Each case as a test of ctest, in its language. `tests/cases.cmake` knows the properties of the
/// files.
void print_cases_for_ctest(const std::string& folder) {
  for (const auto& [file, names] : cases_of_files()) {
    for (const std::string& name : names) {
      std::cout << "add_test([==[" << file << '.' << name << "]==] ${emulator} [==[" << folder
                << '/' << file << "]==] [==[--gtest_filter=" << name
                << "]==])\nset_tests_properties([==[" << file << '.' << name
                << "]==] PROPERTIES SKIP_REGULAR_EXPRESSION [==[\\[  SKIPPED \\]]==] ${" << file
                << "_properties})\n";
    }
  }
}

/// What changes how a layer runs, as it was before any test changed it.
std::string variables() {
  std::string text;
  for (const char* name : {"HEADROOM_ISA", "HEADROOM_TUNING", "HEADROOM_UNIT"}) {
    if (const char* value = std::getenv(name)) {
      text.append(name).append("='").append(value).append("' ");
    }
  }
  return text;
}

// What a signal handler may read: the line that repeats the case that runs, of this process and not
// of its children.
std::array<char, 4096> running{};
pid_t own_process = 0;

constexpr std::array kFatal{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
std::array<struct sigaction, kFatal.size()> before{};

/// Says which case it was, and leaves the rest to who would have had the signal, such as a
/// sanitizer: an instruction that faults does so again.
void name_the_case(int signal) {
  if (getpid() == own_process && running[0] != '\0') {
    static constexpr char kEnded[] = "\nended by a signal or its time; ";
    [[maybe_unused]] ssize_t written = write(STDERR_FILENO, kEnded, sizeof kEnded - 1);
    written = write(STDERR_FILENO, running.data(), std::strlen(running.data()));
  }
  for (std::size_t i = 0; i < kFatal.size(); ++i) sigaction(kFatal[i], &before[i], nullptr);
  if (signal == SIGABRT || signal == SIGALRM) raise(signal);
}

class EachCase final : public testing::EmptyTestEventListener {
 public:
  EachCase() {
    own_process = getpid();
    struct sigaction action = {};
    action.sa_handler = name_the_case;
    for (std::size_t i = 0; i < kFatal.size(); ++i) sigaction(kFatal[i], &action, &before[i]);
  }

 private:
  void OnTestStart(const testing::TestInfo& test) override {
    std::snprintf(running.data(), running.size(), "%s\n", repeat_line(test).c_str());
    alarm(kSecondsForACase);
  }

  void OnTestEnd(const testing::TestInfo& test) override {
    alarm(0);
    running[0] = '\0';
    const testing::TestResult& result = *test.result();
    if (result.Skipped()) {
      const char* why = result.total_part_count() > 0 ? result.GetTestPartResult(0).message() : "";
      std::cout << "skipped case: " << name_of(test) << ": " << why << std::endl;
    }
    if (result.Failed()) std::cout << repeat_line(test) << std::endl;
  }

  std::string repeat_line(const testing::TestInfo& test) const {
    return "to repeat it: " + variables_ + program_invocation_name + " --gtest_filter='" +
           name_of(test) + '\'';
  }

  std::string variables_ = variables();
};

}  // namespace

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  if (count == 3 && std::strcmp(arguments[1], "--cases-for-ctest") == 0) {
    print_cases_for_ctest(arguments[2]);
    return 0;
  }
  if (count > 1) {
    std::cerr << "unknown argument '" << arguments[1] << "'; --help lists GoogleTest's\n";
    return 2;
  }
  const auto cases = cases_of_files();
  if (cases.count(program_invocation_short_name) > 0) {
    testing::GTEST_FLAG(filter) = filter_without(cases, program_invocation_short_name);
  }
  // GoogleTest owns it from here on.
  testing::UnitTest::GetInstance()->listeners().Append(new EachCase);
  return RUN_ALL_TESTS();
}
