// What the text of each axis means, and the names that its values may have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headroom/formulation.hpp"
#include "headroom/isa.hpp"
#include "headroom/load_weights.hpp"
#include "headroom/precision.hpp"
#include "headroom/storage.hpp"
#include "headroom/unit.hpp"
#include "plan/shapes/models.hpp"
#include "plan/shapes/op.hpp"
#include "program/numbers.hpp"

namespace headroom::plan {

/// Names for help and for a shell, in this order; those of lists end with `all`.
std::vector<std::string> op_names();
std::vector<std::string> pairs_names();
std::vector<std::string> over_names();
std::vector<std::string> backend_names();
std::vector<std::string> formulation_names();
std::vector<std::string> precision_names();
std::vector<std::string> dtype_names();
std::vector<std::string> storage_names();
std::vector<std::string> cache_names();
std::vector<std::string> isa_names();
std::vector<std::string> order_names();

/// All of these throw InvalidArgument naming the option, what was found and what is allowed.
template <std::int64_t least>
std::vector<std::int64_t> numbers(std::string_view option, const std::string& text) {
  return parse_numbers(option, text, least);
}

template <int most>
std::vector<int> counts(std::string_view option, const std::string& text) {
  return parse_counts(option, text, most);
}

std::vector<std::vector<std::int64_t>> lengths_of(std::string_view option, const std::string& text);
std::vector<Op> ops_of(std::string_view option, const std::string& text);
std::vector<Rotary::Pairs> pairs_of(std::string_view option, const std::string& text);
std::vector<QueryKeyNorm::Over> over_of(std::string_view option, const std::string& text);
std::vector<double> positives_of(std::string_view option, const std::string& text);
std::vector<Formulation> formulations_of(std::string_view option, const std::string& text);
std::vector<std::optional<Precision>> precisions_of(std::string_view option,
                                                    const std::string& text);
std::vector<Dtype> dtypes_of(std::string_view option, const std::string& text);
std::vector<Storage> storages_of(std::string_view option, const std::string& text);
std::vector<Storage> caches_of(std::string_view option, const std::string& text);
std::vector<Isa> isa_of(std::string_view option, const std::string& text);
std::vector<Unit> unit_of(std::string_view option, const std::string& text);
std::vector<double> probability_of(std::string_view option, const std::string& text);
std::vector<ShapeSeed> models_of(std::string_view option, const std::string& text);
std::vector<ShapeSeed> presets_of(std::string_view option, const std::string& text);
std::vector<std::string> as_typed(std::string_view option, const std::string& text);
std::vector<std::pair<std::string, std::string>> part_of(std::string_view option,
                                                         const std::string& text);
std::vector<Stored> order_of(std::string_view option, const std::string& text);

}  // namespace headroom::plan
