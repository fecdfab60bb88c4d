#include "store/kept_places.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "program/json_text.hpp"
#include "record/peaks.hpp"
#include "store/kept_list.hpp"

namespace headroom::store {
namespace {

using nlohmann::ordered_json;

// The next step of a path, which becomes what follows it.
std::string_view take_step(std::string_view& path) {
  const std::size_t end = std::min(path.find('/'), path.size());
  const std::string_view step = path.substr(0, end);
  path.remove_prefix(std::min(end + 1, path.size()));
  return step;
}

enum class Fit { none, begins, whole };

// How far a path goes along a pattern, in which `*` stands for any step.
Fit fit_of(std::string_view pattern, std::string_view path) {
  while (!path.empty()) {
    if (pattern.empty()) return Fit::none;
    const std::string_view wanted = take_step(pattern);
    if (take_step(path) != wanted && wanted != "*") return Fit::none;
  }
  return pattern.empty() ? Fit::whole : Fit::begins;
}

// The place of a run that was resumed, or of a part that was merged, in an environment of its own.
std::string_view in_run(std::string_view path) {
  for (const std::string_view again : {"resumed", "merged_from"}) {
    std::string_view rest = path;
    if (take_step(rest) != again) continue;
    take_step(rest);
    return rest;
  }
  return path;
}

// An axis is a text, or a list of them.
constexpr std::string_view kAxis = "sweep/identity/axes/*";
constexpr std::string_view kAxisList = "sweep/identity/axes/*/*";

const Place* axis_of(std::string_view path) {
  for (int step = 0; step < 3; ++step) take_step(path);
  const std::string_view name = take_step(path);
  const auto axes = listed_axes();
  const auto found = std::find_if(axes.begin(), axes.end(),
                                  [name](const Place& axis) { return axis.path == name; });
  return found == axes.end() ? nullptr : &*found;
}

const Place* place_of(std::string_view path) {
  path = in_run(path);
  if (fit_of(kAxis, path) == Fit::whole || fit_of(kAxisList, path) == Fit::whole) {
    return axis_of(path);
  }
  const auto places = listed_places();
  const auto found = std::find_if(places.begin(), places.end(), [&](const Place& each) {
    return fit_of(each.path, path) == Fit::whole;
  });
  return found == places.end() ? nullptr : &*found;
}

// Whether anything below may stay. It also ends the walk into what a stranger nested.
bool leads_on(std::string_view path) {
  path = in_run(path);
  if (path.empty()) return true;
  if (fit_of(kAxisList, path) == Fit::begins) {
    const Place* axis = fit_of(kAxis, path) == Fit::whole ? axis_of(path) : nullptr;
    return fit_of(kAxis, path) == Fit::begins || (axis != nullptr && axis->kind == Kind::text);
  }
  const auto places = listed_places();
  return std::any_of(places.begin(), places.end(), [&](const Place& each) {
    return each.kind != Kind::left_out && fit_of(each.path, path) == Fit::begins;
  });
}

bool is_moment(std::string_view text) {
  return text.size() <= 25 && text.find_first_not_of("0123456789TZ:+-") == std::string_view::npos;
}

bool has_kind(const ordered_json& value, Kind kind) {
  switch (kind) {
    case Kind::number:
      return value.is_number();
    case Kind::flag:
      return value.is_boolean();
    case Kind::word:
      return value.is_string() && is_word(value.get_ref<const std::string&>());
    case Kind::moment:
      return value.is_string() && is_moment(value.get_ref<const std::string&>());
    case Kind::text:
      return value.is_string() || value.is_boolean() || value.is_number();
    case Kind::left_out:
      return false;
  }
  return false;
}

// Copies what may stay, from a value at `path`.
class Copy {
 public:
  Copy(const PlainWords& plain, KeptEnvironment& kept) : plain_(plain), kept_(kept) {}

  /// @return null for what does not stay; `stays` says which
  ordered_json of(const ordered_json& value, const std::string& path, bool& stays) {
    if (value.is_structured() && leads_on(path)) {
      return value.is_object() ? of_object(value, path, stays) : of_list(value, path, stays);
    }
    const Place* place = place_of(path);
    stays = place != nullptr && place->kind != Kind::left_out &&
            (value.is_null() || has_kind(value, place->kind));
    if (!stays) {
      if (!value.is_null()) leave_out(path);
      return nullptr;
    }
    if (!value.is_string() || place->kind != Kind::text) return value;
    std::string text = plain_(value.get_ref<const std::string&>());
    if (text != value.get_ref<const std::string&>() && changed_.insert(path).second) {
      kept_.rewritten.push_back(path);
    }
    return text;
  }

 private:
  ordered_json of_object(const ordered_json& object, const std::string& path, bool& stays) {
    ordered_json copy = ordered_json::object();
    for (const auto& item : object.items()) {
      const std::string below = path.empty() ? item.key() : path + "/" + item.key();
      if (item.key() == "peaks" && in_run(path).empty()) {
        copy["peaks"] = record::to_json(record::peaks_of(object));
        continue;
      }
      // Also against a key that holds a stroke and so would be two steps.
      if (!is_plain_name(item.key()) || !plain_.fit(item.key())) {
        leave_out((path.empty() ? "" : path + "/") + "[a key that is no plain name]");
        continue;
      }
      bool kept = false;
      ordered_json inner = of(item.value(), below, kept);
      if (kept) copy[item.key()] = std::move(inner);
    }
    stays = !copy.empty() || (object.empty() && !path.empty());
    return copy;
  }

  // A list whose parts all go is no list of nothing.
  ordered_json of_list(const ordered_json& list, const std::string& path, bool& stays) {
    ordered_json copy = ordered_json::array();
    for (const ordered_json& each : list) {
      bool kept = false;
      ordered_json inner = of(each, path + "/*", kept);
      if (kept) copy.push_back(std::move(inner));
    }
    stays = !copy.empty() || list.empty();
    return copy;
  }

  void leave_out(const std::string& path) {
    if (place_of(path) == nullptr && unlisted_.insert(path).second) kept_.unlisted.push_back(path);
    // Of what lies deep inside, as what was tried for a peer, the first steps say enough.
    std::size_t end = 0;
    for (int step = 0; step < 3 && end != std::string::npos; ++step) {
      end = path.find('/', end == 0 ? 0 : end + 1);
    }
    const std::string shown = path.substr(0, end);
    if (seen_.insert(shown).second) kept_.left_out.push_back(shown);
  }

  const PlainWords& plain_;
  KeptEnvironment& kept_;
  std::set<std::string> seen_, changed_, unlisted_;
};

}  // namespace

KeptEnvironment kept_of(const ordered_json& environment, const PlainWords& plain) {
  KeptEnvironment kept;
  bool stays = false;
  kept.environment = Copy(plain, kept).of(environment, "", stays);
  const ordered_json& peers = value_at(environment, "/peers");
  if (!peers.is_object()) return kept;
  for (const auto& peer : peers.items()) {
    if (!is_plain_name(peer.key())) continue;  // no cell of such a name stays
    ordered_json& known = kept.environment["peers"][peer.key()];
    if (!known.is_object()) known = ordered_json::object();
  }
  return kept;
}

}  // namespace headroom::store
