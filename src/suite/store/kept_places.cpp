#include "store/kept_places.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "program/json_text.hpp"
#include "record/peaks.hpp"

namespace headroom::store {
namespace {

using nlohmann::ordered_json;

enum class Kind {
  number,
  flag,    // true or false
  word,    // one of the program's own, such as avx512 or a revision
  moment,  // 2026-11-21T23:10:07Z
  text,    // of anybody: without paths and names
};

struct Place {
  std::string_view path;  // * is any plain name, or any place of a list
  Kind kind;
};

// Not in the list, among others: the node of a cluster, the file and the layer of weights, the
// axes that name files, and what was installed beside a peer.
constexpr Place kPlaces[] = {
    {"schema", Kind::word},
    {"headroom", Kind::word},
    {"time", Kind::moment},
    {"ended", Kind::moment},
    {"processor/name", Kind::text},
    {"processor/vendor", Kind::text},
    {"processor/architecture", Kind::word},
    {"processor/model", Kind::text},
    {"processor/features/*", Kind::word},
    {"processor/caches/*/name", Kind::word},
    {"processor/caches/*/bytes", Kind::number},
    {"processor/caches/*/count", Kind::number},
    {"processor/last_level_total_bytes", Kind::number},
    {"processor/packages", Kind::number},
    {"processor/cores", Kind::number},
    {"processor/hardware_threads", Kind::number},
    {"processor/numa_nodes", Kind::number},
    {"allowed_cores", Kind::number},
    {"memory/bytes", Kind::number},
    {"memory/limited_by", Kind::text},
    {"isa", Kind::word},
    {"available_isas/*", Kind::word},
    {"unit", Kind::word},
    {"available_units/*", Kind::word},
    {"missing_units/*", Kind::text},
    {"fp16_tiles", Kind::word},
    {"tiles/available", Kind::flag},
    {"tiles/emulated", Kind::flag},
    {"tiles/reason", Kind::text},
    {"backends/*/name", Kind::word},
    {"backends/*/available", Kind::flag},
    {"backends/*/reason", Kind::text},
    {"backends/*/description", Kind::text},
    {"backends/*/library", Kind::text},
    {"backends/*/threaded", Kind::flag},
    {"libraries/*", Kind::text},
    {"build/compiler", Kind::text},
    {"build/build_type", Kind::word},
    {"build/flags", Kind::text},
    {"build/git_revision", Kind::word},
    {"build/committed", Kind::moment},
    {"conditions/governor", Kind::word},
    {"conditions/turbo", Kind::flag},
    {"conditions/load", Kind::number},
    {"conditions/load_at_end", Kind::number},
    {"conditions/stolen_share", Kind::number},
    {"conditions/huge_pages", Kind::word},
    {"conditions/clock_ghz", Kind::number},
    {"conditions/energy", Kind::text},
    {"conditions/counters", Kind::text},
    {"conditions/throttling", Kind::text},
    {"conditions/unavailable/*", Kind::text},
    {"conditions/openmp_wait_policy", Kind::text},
    {"conditions/variables/*", Kind::text},
    {"sweep/repetitions", Kind::number},
    {"sweep/repetitions_asked", Kind::number},
    {"sweep/processes", Kind::number},
    {"sweep/min_time_s", Kind::number},
    {"sweep/cache", Kind::word},
    {"sweep/seed", Kind::number},
    {"sweep/budget_s", Kind::number},
    {"sweep/timeout_s", Kind::number},
    {"sweep/memory_limit_bytes", Kind::number},
    {"sweep/memory_asked_bytes", Kind::number},
    {"sweep/inputs", Kind::number},
    {"sweep/op", Kind::word},
    {"sweep/numbers/*", Kind::word},
    {"sweep/cells", Kind::number},
    {"sweep/compared_with/*", Kind::text},
    {"sweep/variables/*", Kind::text},
    {"sweep/weights/layout", Kind::text},
    {"sweep/weights/bytes_read", Kind::number},
    {"sweep/weights/fingerprint", Kind::word},
    {"sweep/weights/input", Kind::word},
    {"sweep/identity/cells", Kind::number},
    {"sweep/identity/fingerprint", Kind::word},
    {"sweep/identity/shard", Kind::number},  // null where there is none
    {"sweep/identity/shard/index", Kind::number},
    {"sweep/identity/shard/of", Kind::number},
    {"shard/index", Kind::number},  // of a part in `merged_from`
    {"shard/of", Kind::number},
    {"noise/floor", Kind::number},
    {"peers/*/version", Kind::text},
    {"peers/*/skipped", Kind::text},
    {"peers/*/settings/*", Kind::text},
    {"warnings/*", Kind::text},
};

// Axes that hold sizes and names of ours; the others may name files of a user.
constexpr std::string_view kAxes[] = {
    "op",        "heads",  "tokens",        "batch",       "d-model",   "head-dim", "d-in",
    "kv-heads",  "window", "past",          "lengths",     "rotary",    "qk-norm",  "scale",
    "softcap",   "sinks",  "outliers",      "threads",     "ranks",     "backend",  "formulation",
    "precision", "dtype",  "weights-dtype", "cache-dtype", "isa",       "unit",     "dropout",
    "preset",    "stored", "causal",        "strict",      "no-causal", "qkv-bias", "no-out-proj"};

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

// Axes are texts, or lists of them.
constexpr Place kAxis{"sweep/identity/axes/*", Kind::text};
constexpr Place kAxisList{"sweep/identity/axes/*/*", Kind::text};

bool is_axis_kept(std::string_view path) {
  for (int step = 0; step < 3; ++step) take_step(path);
  return path.empty() ||
         std::find(std::begin(kAxes), std::end(kAxes), take_step(path)) != std::end(kAxes);
}

const Place* place_of(std::string_view path) {
  path = in_run(path);
  for (const Place* axis : {&kAxis, &kAxisList}) {
    if (fit_of(axis->path, path) == Fit::whole) return is_axis_kept(path) ? axis : nullptr;
  }
  const auto found = std::find_if(std::begin(kPlaces), std::end(kPlaces), [&](const Place& each) {
    return fit_of(each.path, path) == Fit::whole;
  });
  return found == std::end(kPlaces) ? nullptr : found;
}

// Whether anything below may stay. It also ends the walk into what a stranger nested.
bool leads_on(std::string_view path) {
  path = in_run(path);
  if (path.empty()) return true;
  if (fit_of(kAxisList.path, path) == Fit::begins) return is_axis_kept(path);
  return std::any_of(std::begin(kPlaces), std::end(kPlaces),
                     [&](const Place& each) { return fit_of(each.path, path) == Fit::begins; });
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
    stays = place != nullptr && (value.is_null() || has_kind(value, place->kind));
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
  std::set<std::string> seen_, changed_;
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
