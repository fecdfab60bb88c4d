// How far two machines are apart, as far as the choice of a backend is concerned.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace headroom::store {

/// What of a machine decides which kernels are fast there, as an environment tells it. What is not
/// recorded is empty or 0.
struct MachineFacts {
  std::string architecture;
  std::string vendor;
  std::string model;  ///< such as `"family 25, model 17"`
  std::string level;  ///< the highest, such as `"avx512"`
  bool tiles = false;
  bool bf16_vectors = false;
  double multiply_adds =
      0;                   ///< of floats, per cycle of one core, from its peak and the clock there
  double l1d = 0, l2 = 0;  ///< bytes per core
  double last_level = 0;   ///< bytes for each allowed core
  std::int64_t cores = 0;  ///< allowed
};

MachineFacts facts_of(const nlohmann::ordered_json& environment);

enum class Nearness { very_near, near, far, very_far };

/// `"very near"` up to a distance of 0.5, `"near"` up to 2, `"far"` up to 4, else `"very far"`.
Nearness nearness_of(double distance);
const char* to_string(Nearness nearness);

struct MachineDistance {
  double distance = 0;
  std::vector<std::string> same;  ///< such as `"same vendor"`
  std::vector<std::string>
      different;                     ///< such as `"2.00 times the L2 of a core"`, of the other one
  std::vector<std::string> unknown;  ///< facts that one of them does not tell

  Nearness nearness() const { return nearness_of(distance); }
  /// Such as `"same vendor, same level; 2.00 times the L2 of a core; not known: model"`.
  std::string words() const;
};

/// A sum, in which 1 is about what another size of L2 means: another vendor 2; another model of one
/// family 0.5, another family 1; another highest level 4; tiles on one side only 3, vectors of
/// bfloat16 1; and for sizes the difference of their binary logarithms times a weight:
/// multiply-adds a cycle 2, L2 of a core 1, allowed cores 1, L1d of a core 0.5, last level for each
/// core 0.25, because a virtual machine often sees that of the whole socket. What one of them does
/// not tell counts nothing and is named.
/// @param other the machine that is described relative to `here`
/// @return nothing for another architecture, whose kernels are others
std::optional<MachineDistance> distance(const MachineFacts& here, const MachineFacts& other);

}  // namespace headroom::store
