// What a store keeps of an environment.json: what is listed here, and nothing else.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "store/plain_words.hpp"

namespace headroom::store {

struct KeptEnvironment {
  nlohmann::ordered_json environment;
  std::vector<std::string>
      left_out;  ///< places that are not in the list, such as `conditions/node`
  std::vector<std::string> unlisted;   ///< of them those that the list does not even name
  std::vector<std::string> rewritten;  ///< places whose text lost words
};

/// Only what `listed_places` and `listed_axes` keep, as the type that it has there; `resumed` and
/// `merged_from` have the same places again. Of `peers` every name stays, because it says that
/// another library was measured and not a backend of ours. Roofs are read and written anew.
/// @param environment as `read_environment` gives it
KeptEnvironment kept_of(const nlohmann::ordered_json& environment, const PlainWords& plain);

}  // namespace headroom::store
