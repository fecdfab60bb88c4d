#include "bisect/bisect_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <system_error>
#include <utility>

#include "core/text/names.hpp"
#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "json/json_fields.hpp"
#include "program/exit_code.hpp"
#include "program/files/fresh_file.hpp"
#include "program/json_text.hpp"

namespace headroom::bisect {
namespace {

using nlohmann::ordered_json;

constexpr const char* kSchema = "headroom.bisect/1";
constexpr std::int64_t kLargest = std::int64_t{64} << 20;
constexpr std::int64_t kMostRounds = 1000;

constexpr Name<Finding> kFindings[] = {{Finding::good, "good"},
                                       {Finding::bad, "bad"},
                                       {Finding::in_doubt, "in doubt"},
                                       {Finding::unbuildable, "unbuildable"}};

ordered_json json_of(const Subject& subject) {
  return {{"good", subject.good},   {"bad", subject.bad},         {"axes", subject.axes},
          {"build", subject.build}, {"program", subject.program}, {"threshold", subject.threshold}};
}

ordered_json json_of(const CommitRecord& record) {
  return {{"built", record.built},
          {"finding",
           record.finding ? ordered_json(to_string(*record.finding)) : ordered_json(nullptr)},
          {"ratio", record.ratio},
          {"between", record.between},
          {"rounds", record.rounds},
          {"reason", record.reason}};
}

CommitRecord record_of(const JsonFields& fields) {
  CommitRecord record;
  record.built = fields.flag("built");
  if (fields.has_value("finding")) {
    record.finding = value_of(kFindings, fields.text("finding"));
    if (!record.finding) fields.fail("finding", "good, bad, in doubt or unbuildable");
  }
  record.ratio = fields.positive("ratio");
  record.between = fields.flag("between");
  record.rounds = static_cast<int>(fields.whole("rounds", 0, kMostRounds));
  record.reason = fields.text("reason");
  return record;
}

}  // namespace

std::string_view to_string(Finding finding) { return name_of(kFindings, finding); }

BisectFile::BisectFile(std::filesystem::path path, Subject subject)
    : path_(std::move(path)), subject_(std::move(subject)) {
  remove_unfinished(path_);
  // A folder that cannot be written is an error at once, and not after the first build.
  require_writable(path_, {}, Links::refuse);
  std::error_code error;
  if (!std::filesystem::exists(path_, error)) return;
  const std::string text = read_regular_file(path_, kLargest);
  const ordered_json json = ordered_json::parse(text, nullptr, false);
  try {
    read(json);
  } catch (const InvalidArgument& fault) {
    throw FileError(fmt::format("{}: {}; remove the folder, or name another with --work",
                                shown_path(path_), fault.what()));
  }
  if (value_at(json, "/subject") == json_of(subject_)) return;
  throw InvalidArgument(
      fmt::format("{} is of another bisection: other commits, axes, build, program or threshold; "
                  "repeat its command, or name another folder with --work",
                  shown_path(path_)));
}

void BisectFile::read(const ordered_json& json) {
  if (!json.is_object()) throw InvalidArgument("is no JSON object");
  if (text_at(json, "/schema", "") != kSchema) {
    throw InvalidArgument(fmt::format("schema is not {}", kSchema));
  }
  const JsonFields commits = JsonFields(json, "").object("commits");
  for (const auto& item : value_at(json, "/commits").items()) {
    records_[shown_text(item.key())] = record_of(commits.object(item.key().c_str()));
  }
}

const CommitRecord& BisectFile::of(const std::string& commit) const {
  static const CommitRecord nothing;
  const auto known = records_.find(commit);
  return known == records_.end() ? nothing : known->second;
}

void BisectFile::set(const std::string& commit, const CommitRecord& record) {
  records_[commit] = record;
  write();
}

std::size_t BisectFile::builds() const {
  return static_cast<std::size_t>(
      std::count_if(records_.begin(), records_.end(), [](const auto& each) {
        return each.second.built || each.second.finding == Finding::unbuildable;
      }));
}

void BisectFile::write() const {
  ordered_json commits = ordered_json::object();
  for (const auto& [commit, record] : records_) commits[commit] = json_of(record);
  const ordered_json all{{"schema", kSchema}, {"subject", json_of(subject_)}, {"commits", commits}};
  write_file(path_, to_text(all, 1) + "\n", Links::refuse);
}

}  // namespace headroom::bisect
