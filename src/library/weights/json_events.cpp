#include "weights/json_events.hpp"

namespace headroom::weights {

bool JsonEvents::parse_error(std::size_t position, const std::string&,
                             const nlohmann::detail::exception&) {
  const auto before = static_cast<std::int64_t>(position == 0 ? 0 : position - 1);
  bytes_.fail(offset_ + before, "this is not valid JSON", "the file is damaged; get it again");
}

void JsonEvents::parse(std::string_view text) {
  nlohmann::json::sax_parse(text.begin(), text.end(), this);
}

}  // namespace headroom::weights
