#include "core/text/names.hpp"
#include "headroom/version.hpp"
#include "json/read_numbers.hpp"
#include "json/shape_json.hpp"
#include "pick/lines.hpp"
#include "pick/pick.hpp"
#include "program/json_text.hpp"
#include "tuning/tuning_file.hpp"

namespace headroom::pick {
namespace {

using nlohmann::ordered_json;

constexpr Name<judge::Loss> kLosses[] = {{judge::Loss::little, "little"},
                                         {judge::Loss::unknown, "unknown"},
                                         {judge::Loss::large, "large"}};

ordered_json cost_json(const LinkCost& cost) {
  return {{"packages", cost.packages},   {"build_packages", cost.build_packages},
          {"libraries", cost.libraries}, {"library_bytes", cost.library_bytes},
          {"known", cost.known},         {"measured", cost.measured}};
}

ordered_json configuration_json(const Configuration& configuration) {
  ordered_json json{{"backend", configuration.backend},
                    {"formulation", to_string(configuration.formulation)},
                    {"threads", configuration.threads},
                    {"precision", to_string(configuration.numbers.precision)},
                    {"dtype", to_string(configuration.numbers.dtype)},
                    {"worst_nrmse", configuration.worst_error},
                    {"mean_loss", configuration.mean_loss},
                    {"worst_loss", configuration.worst_loss},
                    {"worst_shape", configuration.worst_shape},
                    {"shapes_without_time", configuration.missing},
                    {"times_the_fastest_ci95",
                     {configuration.times_fastest.low, configuration.times_fastest.high}},
                    {"loss", name_of(kLosses, configuration.loss)}};
  add_storage(configuration.numbers, json);
  return json;
}

ordered_json candidate_json(const Candidate& candidate) {
  const record::CellResult& result = *candidate.result;
  const judge::Difference& difference = candidate.to_fastest;
  ordered_json json{
      {"backend", result.cell.backend},
      {"formulation", to_string(result.cell.formulation)},
      {"threads", result.threads},
      {"precision", to_string(result.cell.numbers.precision)},
      {"dtype", to_string(result.cell.numbers.dtype)},
      {"nrmse", result.error->nrmse},
      {"isa", result.isa},
      {"unit", result.unit},
      {"time_s",
       {{"median", result.time.median}, {"ci95", {result.time.ci95.low, result.time.ci95.high}}}},
      {"packed_bytes", result.costs->packed_bytes},
      {"times_the_fastest", difference.ratio},
      {"times_the_fastest_ci95", {difference.ci95.low, difference.ci95.high}},
      {"loss", name_of(kLosses, candidate.loss)}};
  if (result.storage_error) json["storage_nrmse"] = *result.storage_error;
  add_storage(result.cell.numbers, json);
  return json;
}

ordered_json shape_json(const ShapePick& shape) {
  ordered_json candidates = ordered_json::array();
  for (const Candidate& candidate : shape.candidates) {
    candidates.push_back(candidate_json(candidate));
  }
  return {{"id", shape.shape.id()},
          {"shape", headroom::to_json(shape.shape)},
          {"answer", judge::to_string(shape.sureness)},
          {"choice", candidates[shape.chosen]},
          {"candidates", candidates},
          {"not_timed", shape.left_out}};
}

// A layer takes a tuning file for its own where the processor has the same name. Two processors may
// have one name, and what is borrowed is not this machine's.
std::string processor_of(const Pick& pick) {
  const std::string name = text_at(pick.folder->environment, "/processor/name");
  return pick.borrowed ? name + ", borrowed from " + pick.borrowed->machine : name;
}

ordered_json borrowed_json(const Borrowed& from) {
  return {{"machine", from.machine}, {"processor", from.processor}, {"here", from.here},
          {"named", from.named},     {"nearness", from.nearness},   {"distance", from.distance},
          {"reasons", from.reasons}, {"evidence", from.evidence}};
}

}  // namespace

std::string to_json(const Pick& pick) {
  const ordered_json& environment = pick.folder->environment;
  ordered_json choice = configuration_json(pick.choice());
  choice["reason"] = reason(pick);
  choice["cmake"] = cmake_lines(pick.choice());
  choice["cpp"] = cpp_lines(pick.choice());
  choice["open"] = ordered_json::array();
  for (const std::size_t open : pick.open) {
    choice["open"].push_back(pick.configurations[open].backend);
  }
  ordered_json configurations = ordered_json::array();
  ordered_json costs = ordered_json::object();
  for (const Configuration& configuration : pick.configurations) {
    configurations.push_back(configuration_json(configuration));
    costs[configuration.backend] = cost_json(pick.costs.at(configuration.backend));
  }
  ordered_json shapes = ordered_json::array();
  for (const ShapePick& shape : pick.shapes) shapes.push_back(shape_json(shape));
  ordered_json all{{"schema", tuning::kSchema},
                   {"headroom", text_at(environment, "/headroom", HEADROOM_VERSION)},
                   {"time", text_at(environment, "/time")},
                   {"machine",
                    {{"processor", processor_of(pick)},
                     {"architecture", text_at(environment, "/processor/architecture")},
                     {"allowed_cores", value_at(environment, "/allowed_cores")},
                     {"isa", text_at(environment, "/isa")},
                     {"unit", text_at(environment, "/unit")}}},
                   {"margin", pick.margin},
                   {"answer", judge::to_string(pick.sureness)},
                   {"choice", choice},
                   {"configurations", configurations},
                   {"link", costs},
                   {"shapes", shapes}};
  if (pick.borrowed) all["borrowed"] = borrowed_json(*pick.borrowed);
  for (const Answer& answer : pick.answers) {
    ordered_json& one = all["answers"][std::string(to_string(answer.demand))];
    one = configuration_json(answer.configuration);
    one["answer"] = judge::to_string(answer.sureness);
  }
  return headroom::to_text(all, 2) + "\n";
}

}  // namespace headroom::pick
