#include "tune/words.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/regular_file.hpp"
#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "headroom/version.hpp"
#include "program/json_text.hpp"
#include "tuning/tuning_file.hpp"

namespace headroom::tune {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kMostBytes = std::int64_t{64} << 20;

ordered_json kept_of(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return ordered_json::object();
  const std::string text = read_regular_file(path, kMostBytes);
  const std::string stale = tuning::stale_reason(tuning::parse_tuning(path, text));
  if (!stale.empty()) {
    throw FileError(
        fmt::format("{}: {}; remove it or name another with --output", shown_path(path), stale));
  }
  return ordered_json::parse(text);
}

std::string row_of(const std::string& first, const std::string& second,
                   const judge::Difference& one) {
  return fmt::format("  {:<12} {:<20} {:.3f} [{:.3f}, {:.3f}] {}\n", first, second, one.ratio,
                     one.ci95.low, one.ci95.high, to_string(one.verdict));
}

std::string to_text(const Border& border) {
  std::string text;
  for (const RowTimes& times : border.rows) {
    text += row_of(text.empty() ? std::string(to_string(border.precision)) : "",
                   fmt::format("{} rows", times.rows), times.by_unit);
  }
  return text + fmt::format("  chosen: {} from {} rows on (by itself {})\n", to_string(border.unit),
                            border.chosen + 1, border.own_choice + 1);
}

ordered_json to_json(const Border& border) {
  return {{"precision", to_string(border.precision)},
          {"unit", to_string(border.unit)},
          {"few_rows", border.chosen},
          {"own_choice", border.own_choice}};
}

}  // namespace

std::string to_text(const std::vector<Tuned>& all, const std::vector<Case>& shapes) {
  std::string text;
  for (const Tuned& tuned : all) {
    text +=
        fmt::format("{} thread{} ({}): {} by itself ({})\n", tuned.threads,
                    tuned.threads == 1 ? "" : "s", tuned.backend, tuned.own_choice, tuned.reason);
    for (const VariantTimes& times : tuned.others) {
      for (std::size_t s = 0; s < shapes.size(); ++s) {
        text += row_of(s == 0 ? times.variant : "", shapes[s].id(), times.by_shape[s]);
      }
    }
    text += fmt::format("  chosen: {}\n", tuned.chosen);
    for (const Border& border : tuned.borders) text += to_text(border);
  }
  return text +
         "Ratios are times over that of the backend's own choice, or of a unit over that of "
         "vectors; below 1 is faster.\n";
}

std::string tuning_text(const std::filesystem::path& path, const std::vector<Tuned>& all, Isa isa) {
  ordered_json file = kept_of(path);
  const tuning::Machine here = tuning::this_machine();
  file["schema"] = tuning::kSchema;
  file["headroom"] = HEADROOM_VERSION;
  if (!file.contains("machine")) {
    file["machine"] = {{"processor", here.processor}, {"architecture", here.architecture}};
  }
  ordered_json kernels = ordered_json::array();
  const ordered_json former = file.value("kernels", ordered_json::array());
  for (const ordered_json& entry : former) {
    if (entry["isa"] != to_string(isa)) kernels.push_back(entry);
  }
  for (const Tuned& tuned : all) {
    ordered_json others = ordered_json::array();
    for (const VariantTimes& times : tuned.others) {
      others.push_back({{"variant", times.variant}, {"times_its_own_choice", times.mean_ratio()}});
    }
    ordered_json& entry = kernels.emplace_back(ordered_json{{"isa", to_string(isa)},
                                                            {"threads", tuned.threads},
                                                            {"variant", tuned.chosen},
                                                            {"own_choice", tuned.own_choice},
                                                            {"others", others}});
    for (const Border& border : tuned.borders) entry["borders"].push_back(to_json(border));
  }
  file["kernels"] = std::move(kernels);
  return headroom::to_text(file, 2) + "\n";
}

}  // namespace headroom::tune
