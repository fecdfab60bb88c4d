#include "bisect/bisect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "bisect/commit_builds.hpp"
#include "bisect/git_repository.hpp"
#include "bisect/turns.hpp"
#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "program/exit_code.hpp"
#include "program/files/output_folder.hpp"
#include "program/numbers.hpp"
#include "program/signals.hpp"
#include "record/folder_lock.hpp"

namespace headroom::bisect {
namespace {

namespace fs = std::filesystem;

using Note = std::function<void(const std::string&)>;

void check(const Request& request) {
  if (request.axes.empty()) {
    throw InvalidArgument(
        "AXES: none are given; name the cells after --, as in headroom bisect GOOD BAD -- --heads "
        "12 --tokens 64");
  }
  for (const char* own : {"--out", "--resume", "--shard", "--dry-run", "--budget"}) {
    for (const std::string& word : request.axes) {
      if (word != own && !word.starts_with(std::string(own) + "=")) continue;
      throw InvalidArgument(
          fmt::format("AXES: {} is not for a bisection, which says itself where and how often it "
                      "measures; leave it out",
                      own));
    }
  }
  const fs::path program(request.program);
  const bool outside =
      program.is_absolute() || std::find(program.begin(), program.end(), "..") != program.end();
  if (request.program.empty() || outside) {
    throw InvalidArgument(
        fmt::format("--program: '{}' lies outside of the commit's folder; name it from there on, "
                    "such as build/headroom",
                    shown_text(request.program)));
  }
}

fs::path made_work_folder(const fs::path& path) {
  std::error_code error;
  fs::path work = fs::canonical(make_folder(path, kNextWork), error);
  if (error) fail_output("make the folder", path, error.value(), kNextWork);
  return work;
}

class Bisection {
 public:
  Bisection(const Request& request, const Note& note)
      : request_(request),
        note_(note),
        work_(made_work_folder(request.work)),
        lock_(work_, "--work"),
        repository_(request.repository, work_ / "git.log"),
        good_(repository_.commit(request.good)),
        bad_(repository_.commit(request.bad)),
        commits_(repository_.commits_between(good_, bad_)),
        file_(work_ / "bisect.json",
              {good_, bad_, request.axes, request.build, request.program, request.threshold}),
        builds_(work_, repository_, file_, {request.build, request.program}) {
    commits_.insert(commits_.begin(), good_);
  }

  Outcome run() {
    Outcome outcome;
    outcome.good = good_;
    outcome.bad = bad_;
    outcome.commits = commits_.size() - 1;
    outcome.end = search_between(outcome);
    outcome.builds = file_.builds();
    add_commits(outcome);
    if (outcome.end != End::stopped) {
      for (const std::string& commit : {good_, bad_}) builds_.forget(commit);
    }
    return outcome;
  }

 private:
  End search_between(Outcome& outcome) {
    note_(fmt::format("{} after GOOD up to BAD: at most {} if none is in doubt",
                      counted(commits_.size() - 1, "commit"),
                      counted(most_questions(commits_.size()) + 2, "build")));
    if (!measure_ends(outcome.ends)) return End::stopped;
    if (outcome.ends.slower.empty()) return End::no_difference;
    for (const EndsCell& cell : outcome.ends.slower) slower_.push_back(cell.id);
    found_ = search(commits_.size(), [this](std::size_t place) { return ask(commits_[place]); });
    if (found_.stopped) return End::stopped;
    return found_.exact() ? End::found : End::several;
  }

  // What is left between the ends, and what was asked, once more than the ends was.
  void add_commits(Outcome& outcome) {
    for (std::size_t i = 1; i < commits_.size(); ++i) {
      const CommitRecord& record = file_.of(commits_[i]);
      const Asked asked{commits_[i], repository_.subject(commits_[i]), record};
      if (record.finding) outcome.asked.push_back(asked);
      const bool left = outcome.end == End::found || outcome.end == End::several;
      if (left && i > found_.last_good && i <= found_.first_bad) {
        outcome.candidates.push_back(asked);
      }
    }
  }

  fs::path end_program(const std::string& commit, const char* name) {
    if (!file_.of(commit).built) {
      note_(fmt::format("{} {} {}", name, short_name(commit), repository_.subject(commit)));
    }
    const std::optional<fs::path> program = builds_.program(commit);
    if (program || stop_signal() != 0) return program.value_or("");
    throw std::runtime_error(fmt::format("{} {}: {}; name another commit, or another --build", name,
                                         short_name(commit), file_.of(commit).reason));
  }

  // @return false if the process was told to stop
  bool measure_ends(EndsDifference& ends) {
    // Both are measured with every commit, but not where that is known already.
    for (int rounds = kFirstRounds; rounds <= kMostRounds; rounds *= 2) {
      std::vector<Rival> rivals{{"good", {}}, {"bad", {}}};
      if (!measure("ends", rivals, rounds)) return false;
      const Turns turns(work_ / "rounds" / "ends", rivals, request_.axes);
      ends = compare_ends(turns.results("good", rounds), turns.results("bad", rounds),
                          request_.threshold);
      if (!ends.slower.empty() || !ends.in_doubt) break;
      note_("GOOD and BAD are not distinguishable yet: more launches");
    }
    return true;
  }

  // Rounds of both ends, and of a commit between them if it is one of the rivals.
  bool measure(const std::string& name, std::vector<Rival> rivals, int rounds) {
    const fs::path folder = work_ / "rounds" / name;
    const auto missing = [&] {
      const Turns turns(folder, rivals, request_.axes);
      for (int round = 0; round < rounds; ++round) {
        if (!turns.has(round)) return true;
      }
      return false;
    };
    if (!missing()) return true;
    for (Rival& rival : rivals) {
      if (rival.name == "good") rival.program = end_program(good_, "GOOD");
      if (rival.name == "bad") rival.program = end_program(bad_, "BAD");
      if (stop_signal() != 0) return false;
    }
    const Turns turns(folder, rivals, request_.axes);
    for (int round = 0; round < rounds; ++round) {
      if (turns.has(round)) continue;
      note_(fmt::format("{}: round {} of {}", name, round + 1, rounds));
      if (!measure_round(turns, round)) return false;
    }
    return true;
  }

  static bool measure_round(const Turns& turns, int round) {
    try {
      return turns.measure(round);
    } catch (const ProgramFailed& failed) {
      if (failed.rival() == "commit") throw;
      throw std::runtime_error(fmt::format("{}: {}; try its sweep with these axes by hand",
                                           failed.rival() == "good" ? "GOOD" : "BAD",
                                           failed.what()));
    }
  }

  std::optional<Finding> ask(const std::string& commit) {
    if (file_.of(commit).finding) return file_.of(commit).finding;
    note_(fmt::format("{} {}", short_name(commit), repository_.subject(commit)));
    const std::optional<fs::path> program = builds_.program(commit);
    if (stop_signal() != 0) return std::nullopt;
    if (!program) {
      note_(fmt::format("{} is skipped: {}", short_name(commit), file_.of(commit).reason));
      return Finding::unbuildable;
    }
    CommitRecord record = file_.of(commit);
    if (!judge_commit(commit, *program, record)) return std::nullopt;
    file_.set(commit, record);
    builds_.forget(commit);
    note_(fmt::format("{} is {}: {:.3f} of GOOD{}", short_name(commit), to_string(*record.finding),
                      record.ratio, record.reason.empty() ? "" : "; " + record.reason));
    return record.finding;
  }

  // @return false if the process was told to stop
  bool judge_commit(const std::string& commit, const fs::path& program, CommitRecord& record) {
    const std::vector<Rival> rivals{{"good", {}}, {"commit", program}, {"bad", {}}};
    const Turns turns(work_ / "rounds" / short_name(commit), rivals, request_.axes);
    for (int rounds = kFirstRounds; rounds <= kMostRounds; rounds *= 2) {
      try {
        if (!measure(short_name(commit), rivals, rounds)) return false;
      } catch (const ProgramFailed& failed) {
        record.finding = Finding::unbuildable;
        record.reason = failed.what();
        return true;
      }
      const Place place = side_of(turns.results("good", rounds), turns.results("commit", rounds),
                                  turns.results("bad", rounds), slower_);
      record.finding = place.finding;
      record.ratio = place.ratio;
      record.between = place.between;
      record.reason = place.reason;
      record.rounds = rounds;
      if (place.finding != Finding::in_doubt) return true;
      note_(fmt::format("{} is not distinguishable yet: more launches", short_name(commit)));
    }
    return true;
  }

  const Request& request_;
  const Note& note_;
  fs::path work_;
  record::FolderLock lock_;
  GitRepository repository_;
  std::string good_, bad_;
  std::vector<std::string> commits_;  // GOOD first
  BisectFile file_;
  CommitBuilds builds_;
  std::vector<std::string> slower_;
  Found found_;
};

}  // namespace

Outcome bisect(const Request& request, const Note& note) {
  check(request);
  return Bisection(request, note).run();
}

}  // namespace headroom::bisect
