// The axes that choose how a shape is computed: backends, formulations, instruction set, ranks,
// threads.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/formulation.hpp"
#include "headroom/isa.hpp"
#include "headroom/precision.hpp"
#include "headroom/unit.hpp"

namespace headroom::plan {

/// Splits names separated by commas. @throws InvalidArgument for an empty name.
std::vector<std::string> split_names(std::string_view option, std::string_view text);

struct BackendChoice {
  std::string name;
  bool threaded = false;
  bool uses_isa = false;
};
std::vector<BackendChoice> parse_backends(const std::optional<std::string>& text);
std::vector<Formulation> parse_formulations(const std::optional<std::string>& text);
std::optional<Isa> parse_forced_isa(const std::optional<std::string>& text);
/// @throws Unavailable if code of the level in use has no such unit here.
std::optional<Unit> parse_forced_unit(const std::optional<std::string>& text,
                                      std::optional<Isa> isa);
/// Without a text, f32 alone.
std::vector<Precision> parse_precisions(const std::optional<std::string>& text);
std::vector<Dtype> parse_dtypes(const std::optional<std::string>& text);
std::vector<int> parse_threads(const std::optional<std::string>& text);
/// Without a text, one rank.
std::vector<int> parse_ranks(const std::optional<std::string>& text);

}  // namespace headroom::plan
