#include "lesson/times_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "program/numbers.hpp"

namespace headroom::lesson {
namespace {

using judge::Verdict;

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

// Empty if no row is wanted.
template <class Wanted>
std::string named(const ShapeTimes& times, Wanted wanted, bool with_ratio = false) {
  std::vector<std::string> names;
  for (const FormulationTimes& row : times.backends) {
    if (!wanted(row)) continue;
    const double ratio = 1 / row.difference.ratio;
    names.push_back(with_ratio ? fmt::format("{} ({:.2f} ×)", row.backend, ratio) : row.backend);
  }
  return listed(names);
}

bool differs(const FormulationTimes& row) {
  return row.difference.verdict == Verdict::faster || row.difference.verdict == Verdict::slower;
}

class Findings {
 public:
  explicit Findings(const ShapeTimes& times) : times_(times) {}

  std::string text() {
    if (times_.shape.heads == 1) {
      say_of_one_head();
    } else {
      say_of_heads();
    }
    say("Wrapper and split are level with {}.",
        named(times_, [](const auto& row) { return row.difference.verdict == Verdict::same; }));
    say("No difference can be shown with {}.", named(times_, [](const auto& row) {
          return row.difference.verdict == Verdict::not_distinguishable;
        }));
    if (times_.shape.heads > 1) explain_level();
    return text_;
  }

 private:
  void say(fmt::format_string<const std::string&> sentence, const std::string& names) {
    if (names.empty()) return;
    if (!text_.empty()) text_ += " ";
    text_ += fmt::format(sentence, names);
  }

  // Both are the same work, so no reason can be given.
  void say_of_one_head() {
    text_ = "With 1 head, wrapper and split are the same 3 products.";
    say("So the formulation is not what differs with {}.", named(times_, differs, true));
  }

  void say_of_heads() {
    const auto faster = [](bool together) {
      return [together](const FormulationTimes& row) {
        return row.difference.verdict == Verdict::faster && row.together == together;
      };
    };
    const std::string apart = named(times_, faster(false), true);
    say("Split is faster with {}.", apart);
    if (!apart.empty()) {
      text_ += fmt::format(
          " There, each of the wrapper's {} products is computed by itself: it starts anew, has "
          "only {} columns, and reads x again.",
          3 * times_.shape.heads, times_.shape.head_dim());
    }
    say("Split is faster with {}, although the matrices of all heads are packed together there.",
        named(times_, faster(true), true));
    say("Split is slower with {}.",
        named(
            times_, [](const auto& row) { return row.difference.verdict == Verdict::slower; },
            true));
  }

  // Only beside backends that do differ: where none does, there is nothing to explain.
  void explain_level() {
    const bool apart_differ = std::any_of(
        times_.backends.begin(), times_.backends.end(),
        [](const auto& row) { return row.difference.verdict == Verdict::faster && !row.together; });
    if (!apart_differ) return;
    say("A backend that packs the matrices of all heads over one input together multiplies them as "
        "if they were one wide matrix: {}.",
        named(times_, [](const auto& row) { return row.together && !differs(row); }));
  }

  const ShapeTimes& times_;
  std::string text_;
};

}  // namespace

std::string shape_text(const Case& shape) {
  return fmt::format("{} of {}, width {}, {}", counted(shape.heads, "head"), shape.head_dim(),
                     shape.d_out, counted(shape.tokens, "token"));
}

std::string findings(const ShapeTimes& times) { return Findings(times).text(); }

std::string verdict_note(const std::vector<ShapeTimes>& times) {
  std::size_t rows = 0;
  double margin = 0;
  for (const ShapeTimes& one : times) {
    rows += one.backends.size();
    for (const FormulationTimes& row : one.backends) margin = row.difference.margin;
  }
  if (rows == 0) return "";
  return fmt::format(
      "Not every interval that excludes 1 is a difference: {} are tested together, and one 95 % "
      "interval in twenty misses the true ratio by chance. So faster and slower also require a "
      "ratio beyond {} and p < {}, corrected for all rows. Same: the whole interval is within {}.",
      counted(rows, "row"), format_share(margin, 1), judge::kSignificance, format_share(margin, 1));
}

}  // namespace headroom::lesson
