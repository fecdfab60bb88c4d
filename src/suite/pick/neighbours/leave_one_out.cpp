#include "pick/neighbours/leave_one_out.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "headroom/error.hpp"
#include "pick/lines.hpp"
#include "pick/neighbours/from_store.hpp"
#include "record/results_folder.hpp"
#include "statistics/samples.hpp"

namespace headroom::pick {
namespace {

using record::CellResult;

// What is known of a machine, by the names of shapes.
struct Known {
  std::vector<StoredResults::Folder> folders;
  std::map<std::string, ShapePick> shapes;
  double margin = 0;
};

void add_shapes(const std::vector<ShapePick>& shapes, double margin, Known& known) {
  if (!shapes.empty()) known.margin = std::max(known.margin, margin);
  for (const ShapePick& shape : shapes) known.shapes.try_emplace(shape.shape.id(), shape);
}

// One shape without a time must not hide the others of its run.
// @return why there is none; empty if there are some
std::string add_shapes_of(const record::ResultsFolder& folder, const std::vector<Case>& shapes,
                          const Filters& filters, Known& known) {
  std::string why;
  try {
    const Pick all = pick(folder, shapes, filters);
    add_shapes(all.shapes, all.margin, known);
    return "";
  } catch (const std::exception& error) {
    why = error.what();
  }
  try {
    const std::vector<ShapePick> each = pick_each(folder, shapes, filters);
    add_shapes(each, margin_of(folder), known);
    return each.empty() ? why : "";
  } catch (const FileError&) {  // its noise floor, which the first attempt has named
    return why;
  }
}

std::string words_of(const CellResult& result) {
  return to_text(Configuration{.backend = result.cell.backend,
                               .formulation = result.cell.formulation,
                               .threads = result.threads,
                               .numbers = result.cell.numbers});
}

bool is_same_way(const CellResult& a, const CellResult& b) {
  return a.cell.backend == b.cell.backend && a.cell.formulation == b.cell.formulation &&
         a.threads == b.threads && a.cell.numbers == b.cell.numbers;
}

BorrowedShape borrowed(const ShapePick& own, const ShapePick& other, const std::string& from) {
  const CellResult& choice = *other.candidates[other.chosen].result;
  const CellResult& fastest = *own.candidates.front().result;
  BorrowedShape shape{own.shape.id(), from, words_of(choice), words_of(fastest)};
  const auto here = std::find_if(
      own.candidates.begin(), own.candidates.end(),
      [&](const Candidate& candidate) { return is_same_way(*candidate.result, choice); });
  shape.measured = here != own.candidates.end();
  if (!shape.measured) return shape;
  shape.loss = here->result->time.median / fastest.time.median;
  shape.verdict = here->loss;
  return shape;
}

// Collects losses under one name.
class Losses {
 public:
  void add(const BorrowedShape& shape, const std::string& where) {
    if (!shape.measured) {
      ++of_.missing;
      return;
    }
    if (shape.verdict == judge::Loss::large) ++of_.large;
    if (all_.empty() || shape.loss > of_.worst) {
      of_.worst = shape.loss;
      of_.worst_where = where;
    }
    all_.push_back(shape.loss);
  }

  LossOfMany summary(std::string name) const {
    LossOfMany of = of_;
    of.name = std::move(name);
    of.answers = all_.size();
    if (!all_.empty()) of.median = statistics::median(all_);
    return of;
  }

 private:
  LossOfMany of_;
  std::vector<double> all_;
};

using KnownMachines = std::map<std::string, Known>;

KnownMachines read_all(const store::Catalogue& catalogue, const std::vector<Case>& shapes,
                       const Filters& filters, StoredResults& results, LeaveOneOut& table) {
  KnownMachines all;
  for (const store::StoredMachine& machine : catalogue.machines) {
    Known& known = all[machine.name];
    for (const store::StoredRun& run : machine.runs) {
      try {
        known.folders.push_back(results.of(run));
      } catch (const FileError& error) {
        table.notes.emplace_back(error.what());
        continue;
      }
      std::string why = add_shapes_of(*known.folders.back(), shapes, filters, known);
      if (!why.empty()) table.notes.push_back(std::move(why));
    }
    table.margin = std::max(table.margin, known.margin);
  }
  return all;
}

LeftOutMachine left_out(const store::StoredMachine& machine, const store::Catalogue& catalogue,
                        const KnownMachines& known) {
  LeftOutMachine row;
  row.machine = machine.name;
  row.processor = machine.processor;
  const std::vector<Neighbour> others =
      neighbours(catalogue, facts_environment(machine), machine.name);
  if (!others.empty()) {
    row.nearest = others.front().machine->name;
    row.nearness = to_string(others.front().distance.nearness());
    row.distance = others.front().distance.distance;
    row.reasons = others.front().distance.words();
  }
  Losses losses;
  for (const auto& [id, own] : known.at(machine.name).shapes) {
    for (const Neighbour& other : others) {
      const auto& shapes = known.at(other.machine->name).shapes;
      const auto found = shapes.find(id);
      if (found == shapes.end()) continue;
      row.shapes.push_back(borrowed(own, found->second, other.machine->name));
      losses.add(row.shapes.back(), id);
      break;
    }
  }
  row.loss = losses.summary(machine.name);
  return row;
}

}  // namespace

LeaveOneOut leave_one_out(const store::Catalogue& catalogue, const std::vector<Case>& shapes,
                          const Filters& filters, StoredResults& results) {
  if (catalogue.machines.size() < 2) {
    throw InvalidArgument(
        "--leave-one-out: the store has one machine, and nobody else to ask; collect the results "
        "of another");
  }
  LeaveOneOut table;
  const KnownMachines known = read_all(catalogue, shapes, filters, results, table);
  std::map<std::string, Losses> by_shape;
  Losses all;
  for (const store::StoredMachine& machine : catalogue.machines) {
    table.machines.push_back(left_out(machine, catalogue, known));
    for (const BorrowedShape& shape : table.machines.back().shapes) {
      by_shape[shape.shape].add(shape, machine.name);
      all.add(shape, fmt::format("{}, {}", machine.name, shape.shape));
    }
  }
  for (const auto& [id, losses] : by_shape) table.by_shape.push_back(losses.summary(id));
  table.all = all.summary("all");
  return table;
}

}  // namespace headroom::pick
