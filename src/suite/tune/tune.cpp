#include "tune/tune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backends/backend.hpp"
#include "headroom/error.hpp"
#include "plan/cell.hpp"
#include "tune/borders.hpp"
#include "tune/rivals.hpp"

namespace headroom::tune {
namespace {

// A backend whose kernels have variants and that uses this number of threads; the one that the
// project prefers.
std::string backend_for(int threads, Isa isa) {
  const BackendInfo* best = nullptr;
  const std::vector<BackendInfo> all = backends();
  for (const BackendInfo& info : all) {
    const BackendFacts& facts = backend_facts(info.name);
    if (!info.available || facts.kernel_variants == nullptr) continue;
    if (facts.kernel_variants(isa).size() < 2 || (threads > 1 && !info.threaded)) continue;
    if (best == nullptr || facts.preference < backend_facts(best->name).preference) best = &info;
  }
  if (best == nullptr) {
    throw Unavailable(
        fmt::format("tune: no backend of this program has kernels with variants for {} thread{}",
                    threads, threads == 1 ? "" : "s"));
  }
  return best->name;
}

// What is measured for one number of threads: of each shape the backend's own choice and, after it,
// every other variant.
struct Entry {
  Tuned tuned;
  std::vector<std::string> variants;
  std::vector<plan::Group> groups;
};

Entry entry_of(const TuneSettings& settings, int threads) {
  Entry entry;
  Tuned& tuned = entry.tuned;
  tuned.threads = threads;
  tuned.backend = backend_for(threads, settings.isa);
  // The same on any number of threads; more than one would be started, and processes are forked
  // from here.
  const KernelChoice own = backend_entry(tuned.backend).make({1, {settings.isa}, ""})->kernels();
  tuned.own_choice = own.name;
  tuned.reason = own.reason;
  entry.variants.push_back(own.name);
  for (const std::string& name : backend_facts(tuned.backend).kernel_variants(settings.isa)) {
    if (name != own.name) entry.variants.push_back(name);
  }
  for (const Case& shape : settings.shapes) {
    plan::Group& group = entry.groups.emplace_back();
    group.shape = shape;
    for (const std::string& variant : entry.variants) {
      plan::Cell cell;
      cell.formulation = Formulation::fused;
      cell.backend = tuned.backend;
      cell.threads = threads;
      cell.isa = settings.isa;
      cell.kernels = variant;
      cell.order = group.cells.size();
      cell.id = plan::cell_id(shape, cell);
      group.cells.push_back(std::move(cell));
    }
  }
  return entry;
}

}  // namespace

std::string choose(const std::string& own_choice, const std::vector<VariantTimes>& others) {
  const auto any = [](const VariantTimes& times, judge::Verdict verdict) {
    return std::any_of(times.by_shape.begin(), times.by_shape.end(),
                       [&](const judge::Difference& one) { return one.verdict == verdict; });
  };
  const VariantTimes* best = nullptr;
  for (const VariantTimes& times : others) {
    if (!any(times, judge::Verdict::faster) || any(times, judge::Verdict::slower)) continue;
    if (best == nullptr || times.mean_ratio() < best->mean_ratio()) best = &times;
  }
  return best != nullptr ? best->variant : own_choice;
}

std::vector<Case> default_shapes() {
  std::vector<Case> shapes;
  const auto add = [&](std::int64_t tokens, std::int64_t width, std::int64_t heads) {
    Case shape;
    shape.tokens = tokens;
    shape.d_in = shape.d_out = shape.d_proj = width;
    shape.heads = heads;
    shapes.push_back(shape);
  };
  add(128, 768, 12);
  add(1024, 768, 12);
  add(256, 2048, 32);
  return shapes;
}

std::vector<std::int64_t> default_rows() { return {4, 8, 12, 16, 24, 32, 48, 64}; }

std::vector<Tuned> tune_kernels(const TuneSettings& settings, measure::Observer& observer) {
  std::vector<Entry> entries;
  plan::Plan plan;
  for (const int threads : settings.threads) {
    entries.push_back(entry_of(settings, threads));
    const std::vector<plan::Group>& groups = entries.back().groups;
    plan.groups.insert(plan.groups.end(), groups.begin(), groups.end());
  }
  const auto differences = compare_with_first(plan, settings.measure, observer);
  if (!differences) return {};
  auto difference = differences->begin();
  std::vector<Tuned> all;
  for (Entry& entry : entries) {
    std::vector<VariantTimes>& others = entry.tuned.others;
    for (std::size_t i = 1; i < entry.variants.size(); ++i)
      others.push_back({entry.variants[i], {}});
    for (std::size_t shape = 0; shape < entry.groups.size(); ++shape) {
      for (VariantTimes& times : others) times.by_shape.push_back(*difference++);
    }
    entry.tuned.chosen = choose(entry.tuned.own_choice, others);
    all.push_back(std::move(entry.tuned));
  }
  if (!tune_borders(settings, observer, all)) return {};
  return all;
}

}  // namespace headroom::tune
