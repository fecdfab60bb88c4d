#include "store/cleaned.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "core/text/shown.hpp"
#include "judge/compare.hpp"
#include "program/json_text.hpp"
#include "program/numbers.hpp"
#include "store/kept_places.hpp"
#include "store/unverified.hpp"

namespace headroom::store {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using record::CellResult;

// Names that the folder itself gives away, so that they are found in its texts as well.
void add_secrets_of(const ordered_json& environment, std::vector<std::string>& secrets) {
  for (const char* place : {"/conditions/node", "/node", "/host"}) {
    secrets.push_back(text_at(environment, place, ""));
  }
  const fs::path weights = text_at(environment, "/sweep/weights/file", "");
  secrets.push_back(weights.filename().string());
  secrets.push_back(weights.stem().string());
  for (auto step = weights.begin(); step != weights.end(); ++step) {
    if (*step != "home" && *step != "Users") continue;
    if (const auto next = std::next(step); next != weights.end()) secrets.push_back(next->string());
  }
}

// Of kernels, such as ".far" or ".far.rows8".
bool is_variant(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
  constexpr std::string_view kDigits = "0123456789";
  constexpr std::string_view kRows = ".rows";
  constexpr std::size_t kLongest = 16;
  if (const std::size_t rows = text.find(kRows); rows != std::string_view::npos) {
    const std::string_view count = text.substr(rows + kRows.size());
    if (count.empty() || count.find_first_not_of(kDigits) != std::string_view::npos) return false;
    text = text.substr(0, rows);
    if (text.empty()) return true;
  }
  return text.front() == '.' && text.size() > 1 && text.size() <= kLongest &&
         text.substr(1).find_first_not_of(kLetters) == std::string_view::npos;
}

// The name that the cell's own fields give it, unless it has that already, perhaps with the variant
// of its kernels.
std::string plain_id(const CellResult& result) {
  std::string own = plan::cell_id(result.shape, result.cell);
  const std::string& id = result.cell.id;
  const std::string begin = fmt::format("{}/{}", result.way(), result.cell.backend);
  const std::string end = own.substr(begin.size());
  const bool fits = id.size() >= own.size() && id.starts_with(begin) && id.ends_with(end);
  if (!fits) return own;
  const std::string variant = id.substr(begin.size(), id.size() - own.size());
  return variant.empty() || is_variant(variant) ? id : own;
}

class Cleaning {
 public:
  Cleaning(const PlainWords& plain, CleanRun& run) : plain_(plain), run_(run) {}

  void add(CellResult result) {
    if (!is_plain_name(result.cell.backend) || !plain_.fit(result.cell.backend)) {
      ++nameless_;
      return;
    }
    const std::string id = plain_id(result);
    if (id != result.cell.id) ++renamed_;
    result.cell.id = id;
    if (!known_.insert(id).second) {
      twice_.push_back(id);
      return;
    }
    clean_texts(result);
    if (result.has_time()) check(result);
    run_.results.push_back(std::move(result));
  }

  void note_all() {
    note(nameless_, "left out, because the backend has no plain name");
    note(twice_.size(), "left out, because the folder has another of that name" + example(twice_));
    note(renamed_, "named after what was measured, because the name said something else");
    note(rewritten_, "lost words that look like a path or a name");
    note(unverified_.size(),
         "kept without a time, because nobody can verify it" + example(unverified_));
  }

 private:
  void clean(std::string& text) {
    std::string left = plain_(text);
    changed_ = changed_ || left != text;
    text = std::move(left);
  }

  void clean_texts(CellResult& result) {
    changed_ = false;
    clean(result.reason);
    clean(result.isa);
    clean(result.unit);
    if (result.costs) {
      clean(result.costs->project_provenance);
      clean(result.costs->attend_provenance);
    }
    if (result.choice) {
      clean(result.choice->backend);
      clean(result.choice->reason);
    }
    if (result.control) clean(result.control->isa);
    for (std::string& warning : result.cell.warnings) clean(warning);
    if (changed_) ++rewritten_;
  }

  void check(CellResult& result) {
    const std::string why = why_unverified(result);
    if (why.empty()) return;
    unverified_.push_back(result.cell.id + ": " + why);
    result.status = record::Status::failed;
    result.reason = "not verified when it was collected: " + why;
    result.time = {};
  }

  static std::string example(const std::vector<std::string>& all) {
    return all.empty() ? "" : ", such as " + all.front();
  }

  void note(std::size_t count, const std::string& what) {
    if (count > 0) run_.notes.push_back(fmt::format("{} {}", counted(count, "cell"), what));
  }

  const PlainWords& plain_;
  CleanRun& run_;
  std::set<std::string> known_;
  std::size_t nameless_ = 0, renamed_ = 0, rewritten_ = 0;
  std::vector<std::string> twice_, unverified_;
  bool changed_ = false;
};

void keep_noise_floor(const record::ResultsFolder& folder, ordered_json& environment) {
  // Recorded or not, it is read by the rule that everybody reads it by.
  const double floor = judge::recorded_noise_floor(folder);
  if (floor > 0) environment["noise"]["floor"] = floor;
}

}  // namespace

std::string CleanRun::lines() const {
  std::string text;
  for (const CellResult& result : results) text += to_text(record::to_json(result)) + "\n";
  return text;
}

CleanRun cleaned(const record::ResultsFolder& folder, std::vector<std::string> secrets) {
  add_secrets_of(folder.environment, secrets);
  const PlainWords plain(secrets);
  CleanRun run;
  run.source = folder.path;
  run.notes = folder.notes;
  KeptEnvironment kept = kept_of(folder.environment, plain);
  run.environment = std::move(kept.environment);
  keep_noise_floor(folder, run.environment);
  run.origin = origin_of(run.environment);
  Cleaning cleaning(plain, run);
  for (const CellResult& result : folder.results) cleaning.add(result);
  cleaning.note_all();
  if (!kept.left_out.empty()) {
    run.notes.push_back(fmt::format("left out of the environment: {}",
                                    shown_text(fmt::format("{}", fmt::join(kept.left_out, ", ")))));
  }
  if (!kept.unlisted.empty()) {
    run.notes.push_back(fmt::format("this version does not know, and so leaves out: {}",
                                    shown_text(fmt::format("{}", fmt::join(kept.unlisted, ", ")))));
  }
  if (!kept.rewritten.empty()) {
    run.notes.push_back(fmt::format("texts of the environment that lost words: {}",
                                    fmt::join(kept.rewritten, ", ")));
  }
  return run;
}

}  // namespace headroom::store
