// How much is lost by asking another machine: each machine of a store is asked what `pick` would
// answer for it from the others, and what that costs by its own results.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "pick/neighbours/stored_results.hpp"
#include "pick/pick.hpp"
#include "store/catalogue.hpp"

namespace headroom::pick {

/// A shape of a machine that was left out.
struct BorrowedShape {
  std::string shape;
  std::string from;      ///< the nearest machine that has the shape
  std::string choice;    ///< such as `fused/tbb, 2 threads`
  std::string own;       ///< the fastest of the machine itself
  bool measured = true;  ///< whether the machine has a time of the choice
  double loss = 1;  ///< time of the choice over that of the fastest, both of the machine itself
  judge::Loss verdict = judge::Loss::little;
};

struct LossOfMany {
  std::string name;         ///< of the machine, or of the shape
  std::size_t answers = 0;  ///< those with a loss
  std::size_t missing = 0;  ///< choices of which there is no time
  std::size_t large = 0;    ///< that lose more than the margin, beyond the noise
  double median = 1;
  double worst = 1;
  std::string worst_where;  ///< the shape, or the machine
};

struct LeftOutMachine {
  std::string machine;
  std::string processor;
  std::string nearest;  ///< the first machine that is asked; empty without one
  std::string nearness;
  double distance = 0;
  std::string reasons;
  std::vector<BorrowedShape> shapes;
  LossOfMany loss;
};

struct LeaveOneOut {
  std::vector<LeftOutMachine> machines;
  std::vector<LossOfMany> by_shape;
  LossOfMany all;
  double margin = 0;               ///< of the machine with the largest
  std::vector<std::string> notes;  ///< runs that say nothing, each with the reason
};

/// Asks every run of the store. Of a shape that a machine has several times, the newest counts.
/// @throws InvalidArgument for a store of one machine
LeaveOneOut leave_one_out(const store::Catalogue& catalogue, const std::vector<Case>& shapes,
                          const Filters& filters, StoredResults& results);

/// What the table says of an answer that is borrowed from this store, in a sentence; empty if it
/// says nothing.
std::string evidence(const LeaveOneOut& table);

/// Two tables for people, by machine and by shape.
std::string to_text(const LeaveOneOut& table);

/// Schema `headroom.leave-one-out/1`.
std::string to_json(const LeaveOneOut& table);

}  // namespace headroom::pick
