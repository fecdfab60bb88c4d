#include "show/usage_columns.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "program/numbers.hpp"

namespace headroom::show {
namespace {

struct Prefix {
  double size;
  const char* name;
};

constexpr Prefix kPrefixes[] = {{1e12, "T"}, {1e9, "G"},  {1e6, "M"}, {1e3, "k"},
                                {1, ""},     {1e-3, "m"}, {1e-6, "u"}};

constexpr const char* kNone = "-";

bool has_energy(const record::CellResult& cell) { return cell.used && cell.used->joules(); }

bool has_counters(const record::CellResult& cell) {
  return cell.used && (cell.used->instructions() || cell.used->cache_misses());
}

std::string amount_of(const std::optional<double>& amount, std::string_view unit = "") {
  return amount ? format_amount(*amount, unit) : kNone;
}

std::string ratio_of(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:.2f}", *ratio) : kNone;
}

}  // namespace

std::string format_amount(double amount, std::string_view unit) {
  constexpr int kDigits = 3;
  if (!(amount > 0)) return unit.empty() ? "0" : fmt::format("0 {}", unit);
  // Rounded first, so that 999.9 k is 1.00 M.
  const double step = std::pow(10, std::floor(std::log10(amount)) - (kDigits - 1));
  const double rounded = std::round(amount / step) * step;
  const Prefix* prefix =
      std::find_if(std::begin(kPrefixes), std::end(kPrefixes),
                   [&](const Prefix& each) { return rounded >= each.size * (1 - 1e-9); });
  if (prefix == std::end(kPrefixes)) --prefix;
  const double value = rounded / prefix->size;
  const int whole = static_cast<int>(std::floor(std::log10(value) + 1e-9)) + 1;
  const std::string name = std::string(prefix->name).append(unit);
  return fmt::format("{:.{}f}{}{}", value, std::clamp(kDigits - whole, 0, kDigits),
                     name.empty() ? "" : " ", name);
}

UsageColumns::UsageColumns(const std::vector<const record::CellResult*>& cells) {
  for (const record::CellResult* cell : cells) {
    energy_ = energy_ || has_energy(*cell);
    counters_ = counters_ || has_counters(*cell);
  }
}

std::string UsageColumns::head() const {
  return (energy_ ? fmt::format(" {:>8} {:>6}", "J / pass", "idle") : "") +
         (counters_ ? fmt::format(" {:>7} {:>7} {:>7}", "instr.", "/ cycle", "misses") : "");
}

std::string UsageColumns::fields(const record::CellResult& cell) const {
  const record::Used used = cell.used.value_or(record::Used{});
  std::string text;
  if (energy_) {
    text += fmt::format(" {:>8} {:>6}", amount_of(used.joules(), "J"),
                        used.idle_share ? format_share(*used.idle_share) : kNone);
  }
  if (counters_) {
    text += fmt::format(" {:>7} {:>7} {:>7}", amount_of(used.instructions()),
                        ratio_of(used.per_cycle()), amount_of(used.cache_misses()));
  }
  return text;
}

std::string usage_note(const std::vector<record::CellResult>& cells) {
  std::vector<std::string> notes;
  if (std::any_of(cells.begin(), cells.end(), has_energy)) {
    notes.emplace_back(
        "energy: joules of a pass, of all packages and their memory, whoever used them; idle: the "
        "share that the idle machine would have used; none for samples below 10 ms");
  }
  if (std::any_of(cells.begin(), cells.end(), has_counters)) {
    notes.emplace_back(
        "instructions, cycles and cache misses: of a pass, of all threads of the process, in user "
        "space");
  }
  return fmt::format("{}", fmt::join(notes, "; "));
}

}  // namespace headroom::show
