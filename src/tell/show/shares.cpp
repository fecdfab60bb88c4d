#include "show/shares.hpp"

#include <fmt/format.h>

#include <cmath>

#include "program/numbers.hpp"

namespace headroom::show {

Limit arithmetic_limit(const record::CellResult& result) {
  if (result.cell.numbers.precision != Precision::f32) return Limit::products;
  return result.control ? Limit::beside : Limit::once;
}

bool above_limit(double share, int digits) {
  const double steps = 100 * std::pow(10.0, digits);
  return std::round(share * steps) > steps;
}

std::string_view why_above(Limit limit) {
  switch (limit) {
    case Limit::beside:
      return "the multiply-adds or tiles beside the samples were slowed more than the pass itself";
    case Limit::once:
      return "the machine was slower when the multiply-adds were measured, before the first cell";
    case Limit::products:
      return "the machine was slower when products of that precision were measured, before the "
             "first cell";
    case Limit::memory:
      break;
  }
  return "part of the data came from a nearer cache, or the machine was slower when the bandwidth "
         "was measured";
}

bool Shares::above(double share, Limit limit, int digits) {
  if (!above_limit(share, digits)) return false;
  passed_.insert(limit);
  return true;
}

std::string Shares::text(double share, Limit limit, int digits) {
  std::string text = format_share(share, digits);
  if (above(share, limit, digits)) text += kAboveMark;
  return text;
}

std::vector<std::string> Shares::reasons() const {
  std::vector<std::string> lines;
  for (const Limit limit : passed_) {
    lines.push_back(fmt::format("{} more than 100 %: {}", kAboveMark, why_above(limit)));
  }
  return lines;
}

}  // namespace headroom::show
