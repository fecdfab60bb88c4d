#include "weights/layer/config/config_parts.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

namespace headroom::weights {

void ConfigReading::add_foreign(std::string_view field, const nlohmann::json& value) const {
  std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 60) + "...";
  config.foreign.push_back(fmt::format("{} is {}", field, text));
}

}  // namespace headroom::weights
