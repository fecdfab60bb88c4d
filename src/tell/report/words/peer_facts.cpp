#include <fmt/format.h>

#include <string>
#include <vector>

#include "program/json_text.hpp"
#include "report/words/facts.hpp"
#include "report/words/wording.hpp"

namespace headroom::report {
namespace {

using nlohmann::ordered_json;

Prose plain_or_dash(const std::string& text) { return {plain(text.empty() ? "-" : text)}; }

const ordered_json& peers_of(const record::ResultsFolder& folder) {
  static const ordered_json none = ordered_json::object();
  const ordered_json& peers = value_at(folder.environment, "/peers");
  return peers.is_object() ? peers : none;
}

void add_trials(const std::string& peer, const ordered_json& places, Table& table) {
  if (!places.is_object()) return;
  for (const auto& [place, formulations] : places.items()) {
    if (!formulations.is_object()) continue;
    for (const auto& [formulation, told] : formulations.items()) {
      const ordered_json& taken = value_at(told, "/taken");
      table.rows.push_back({{code(place)},
                            {code(fmt::format("{}/{}", peer, formulation))},
                            plain_or_dash(in_words(taken)),
                            plain_or_dash(in_words(value_at(told, "/tried")))});
    }
  }
}

}  // namespace

Table peer_rows(const record::ResultsFolder& folder) {
  Table table{{{"peer", false}, {"version", false}, {"settings", false}, {"packages", false}}, {}};
  for (const auto& [name, peer] : peers_of(folder).items()) {
    const std::string skipped = in_words(value_at(peer, "/skipped"));
    table.rows.push_back({{code(name)},
                          plain_or_dash(skipped.empty() ? in_words(value_at(peer, "/version"))
                                                        : "not measured: " + skipped),
                          plain_or_dash(in_words(value_at(peer, "/settings"))),
                          plain_or_dash(in_words(value_at(peer, "/packages")))});
  }
  return table;
}

Table peer_trials(const record::ResultsFolder& folder) {
  Table table{{{"threads and shape", false}, {"peer", false}, {"taken", false}, {"tried", false}},
              {}};
  for (const auto& [name, peer] : peers_of(folder).items()) {
    add_trials(name, value_at(peer, "/tried"), table);
  }
  return table;
}

}  // namespace headroom::report
