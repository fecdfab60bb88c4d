#include "record/run_record.hpp"

#include <utility>

namespace headroom::record {

using nlohmann::ordered_json;

RunRecord::RunRecord(Journal& journal, ordered_json environment, const Continuation& before)
    : journal_(journal), environment_(std::move(environment)), resumed_(before.found) {
  if (!resumed_) return;
  ordered_json own;
  for (const char* key : {"time", "conditions", "memory", "warnings"}) {
    own[key] = std::move(environment_[key]);
  }
  environment_ = before.environment;
  environment_["resumed"].push_back(std::move(own));
}

ordered_json& RunRecord::entry() {
  return resumed_ ? environment_["resumed"].back() : environment_;
}

void RunRecord::begin(const Peaks& peaks) {
  entry()["peaks"] = to_json(peaks);
  journal_.write_environment(environment_);
  start_ = machine::processor_time();
}

std::optional<double> RunRecord::stolen_share() const {
  const std::optional<machine::ProcessorTime> now = machine::processor_time();
  if (!start_ || !now || now->all <= start_->all) return std::nullopt;
  return static_cast<double>(now->stolen - start_->stolen) /
         static_cast<double>(now->all - start_->all);
}

void RunRecord::finish(const std::vector<std::string>& cautions) {
  const std::optional<double> stolen = stolen_share();
  const std::optional<double> load = machine::current_conditions().load;
  ordered_json& own = entry();
  own["ended"] = utc_now();
  own["conditions"]["load_at_end"] = load ? ordered_json(*load) : ordered_json(nullptr);
  own["conditions"]["stolen_share"] = stolen ? ordered_json(*stolen) : ordered_json(nullptr);
  for (const std::string& caution : cautions) own["warnings"].push_back(caution);
  journal_.write_environment(environment_);
}

}  // namespace headroom::record
