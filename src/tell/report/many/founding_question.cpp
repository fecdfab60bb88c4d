#include "report/many/founding_question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "page/template.hpp"
#include "report/many/table_words.hpp"
#include "report/words/wording.hpp"

namespace headroom::report {
namespace {

using across::HeadPanel;
using across::Overview;
using across::SplitField;
using judge::Verdict;

constexpr const char* kLegend =
    "The wrapper's time over split's: above 1, one wide matrix is faster. Bold: faster or slower "
    "beyond the noise. Plain: equally fast within it.";

// How strong the colour of a field is; each step is a class of many.css.
const char* class_of(const SplitField& field) {
  switch (field.difference.verdict) {
    case Verdict::faster:
      return field.factor() >= 2 ? "won-3" : field.factor() >= 1.25 ? "won-2" : "won-1";
    case Verdict::slower:
      return field.factor() <= 0.8 ? "lost-2" : "lost-1";
    case Verdict::same:
      return "level";
    default:
      return "unclear";
  }
}

std::string factor_of(const SplitField& field) {
  return fmt::format("{:.{}f}", field.factor(), field.factor() < 9.995 ? 2 : 1);
}

bool is_shown(const SplitField& field) {
  const Verdict verdict = field.difference.verdict;
  return verdict == Verdict::faster || verdict == Verdict::slower;
}

// The page has a colour in place of the parentheses.
std::string field_html(const SplitField* field) {
  if (field == nullptr) return "<td>-</td>";
  const Prose words{is_shown(*field) ? strong(factor_of(*field)) : plain(factor_of(*field))};
  return fmt::format("<td class=\"{}\">{}</td>", class_of(*field), html(words));
}

Prose field_words(const SplitField* field) {
  if (field == nullptr) return {plain("-")};
  if (is_shown(*field)) return {strong(factor_of(*field))};
  if (field->difference.verdict == Verdict::same) return {plain(factor_of(*field))};
  return {plain("(" + factor_of(*field) + ")")};
}

std::string threads_of(const SplitField& field) { return counted(field.split->threads, "thread"); }

bool on_equal_threads(const HeadPanel& panel) {
  return std::all_of(panel.fields.begin(), panel.fields.end(), [&](const SplitField& field) {
    return field.split->threads == panel.fields.front().split->threads;
  });
}

// The backend, with its threads where not all have as many.
Prose name_of_row(const HeadPanel& panel, const std::string& backend) {
  if (on_equal_threads(panel)) return {code(backend)};
  const auto field =
      std::find_if(panel.fields.begin(), panel.fields.end(),
                   [&](const SplitField& each) { return each.split->cell.backend == backend; });
  return {code(backend), plain(fmt::format(", {}", threads_of(*field)))};
}

// Such as "16 tokens, width 768, 1 thread" or "128 tokens, heads of 64, 1 thread".
std::string name_of_panel(const HeadPanel& panel) {
  Case shape = panel.shape();
  std::string name = name_of(shape);
  if (!panel.one_width) {
    const std::string width = fmt::format("width {}", shape.d_out);
    name.replace(name.find(width), width.size(), fmt::format("heads of {}", shape.head_dim()));
  }
  if (on_equal_threads(panel)) name += ", " + threads_of(panel.fields.front());
  return name;
}

// Columns stay side by side on a small screen, where other tables become lists.
std::string grid_html(const HeadPanel& panel) {
  const std::string name = page::escape_html(name_of_panel(panel));
  std::string text = fmt::format(
      "<div class=\"table-box\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\">\n"
      "<table class=\"factors{1}\">\n<caption>{0}</caption>\n<thead><tr><th "
      "scope=\"col\">heads</th>",
      name, panel.heads.size() > 6 ? " dense" : "");
  for (const std::int64_t heads : panel.heads) {
    text += fmt::format("<th scope=\"col\">{}</th>", heads);
  }
  text += "</tr></thead>\n<tbody>\n";
  for (const std::string& backend : panel.backends) {
    text += fmt::format("<tr><th scope=\"row\">{}</th>", html(name_of_row(panel, backend)));
    for (const std::int64_t heads : panel.heads) text += field_html(panel.at(backend, heads));
    text += "</tr>\n";
  }
  return text + "</tbody>\n</table>\n</div>\n";
}

// What a reader must know of a panel whose shapes are not of one width.
std::string instead_of_width(const HeadPanel& panel) {
  if (panel.one_width) return "";
  return "Here the width grows with the heads, so each head's matrix keeps its columns; at one "
         "width they would become fewer.";
}

// Machines without a run of the question.
std::vector<std::string> without_width(const Overview& overview) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < overview.collection->machines.size(); ++i) {
    bool has = false;
    for (const HeadPanel& panel : overview.head_panels) {
      has = has || (panel.machine == i && panel.one_width);
    }
    if (!has) names.push_back(machine_at(overview, i));
  }
  return names;
}

Prose missing_words(const Overview& overview) {
  const std::vector<std::string> names = without_width(overview);
  if (names.empty()) return {};
  Prose prose{plain("Not measured at one width on ")};
  append(prose, listed(names, strong));
  append(prose, {plain(". A run of about ten minutes there answers it: "), code(kFoundingCommand),
                 plain(".")});
  return prose;
}

}  // namespace

Table factor_table(const HeadPanel& panel) {
  Table table{{{"heads", false}}, {}};
  for (const std::int64_t heads : panel.heads) {
    table.columns.push_back({fmt::format("{}", heads), true});
  }
  for (const std::string& backend : panel.backends) {
    std::vector<Prose> row{name_of_row(panel, backend)};
    for (const std::int64_t heads : panel.heads)
      row.push_back(field_words(panel.at(backend, heads)));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table field_table(const HeadPanel& panel) {
  Table table{{{"backend", false},
               {"heads", true},
               {"wrapper", true},
               {"split", true},
               {"wrapper over split", true},
               {"95 % interval", true},
               {"split is", false}},
              {}};
  for (const std::string& backend : panel.backends) {
    for (const std::int64_t heads : panel.heads) {
      const SplitField* field = panel.at(backend, heads);
      if (field == nullptr) continue;
      table.rows.push_back(
          {name_of_row(panel, backend), words_cell(fmt::format("{}", heads)),
           time_of(*field->wrapper), time_of(*field->split), words_cell(times(field->factor())),
           words_cell(range(field->factor_ci95())), verdict_of(field->difference.verdict)});
    }
  }
  return table;
}

std::string founding_html(const Overview& overview) {
  std::string text;
  if (!overview.head_panels.empty()) {
    text += fmt::format("<p class=\"note\">{} Grey: no difference can be shown.</p>\n", kLegend);
  }
  for (std::size_t i = 0; i < overview.head_panels.size();) {
    const std::size_t machine = overview.head_panels[i].machine;
    const std::string instead = instead_of_width(overview.head_panels[i]);
    text += fmt::format("<h3>{}</h3>\n{}<div class=\"panels\">\n",
                        page::escape_html(machine_at(overview, machine)),
                        instead.empty() ? "" : fmt::format("<p class=\"note\">{}</p>\n", instead));
    std::string figures;
    for (; i < overview.head_panels.size() && overview.head_panels[i].machine == machine; ++i) {
      const HeadPanel& panel = overview.head_panels[i];
      text += grid_html(panel);
      figures += html(field_table(panel), name_of_panel(panel));
    }
    text += fmt::format(
        "</div>\n<details><summary>Times, intervals and verdicts</summary>\n{}</details>\n",
        figures);
  }
  const Prose missing = missing_words(overview);
  return missing.empty() ? text : text + fmt::format("<p>{}</p>\n", html(missing));
}

std::string founding_markdown(const Overview& overview) {
  std::string text = fmt::format("\n## {}\n", kFoundingHead);
  if (!overview.head_panels.empty()) {
    text += fmt::format("\n{} In parentheses: no difference can be shown.\n", kLegend);
  }
  const HeadPanel* before = nullptr;
  for (const HeadPanel& panel : overview.head_panels) {
    if (before == nullptr || before->machine != panel.machine) {
      text += fmt::format("\n### {}\n", escape_markdown(machine_at(overview, panel.machine)));
      const std::string instead = instead_of_width(panel);
      if (!instead.empty()) text += "\n" + instead + "\n";
    }
    text += fmt::format("\n{}:\n\n{}", escape_markdown(name_of_panel(panel)),
                        markdown(factor_table(panel)));
    before = &panel;
  }
  const Prose missing = missing_words(overview);
  return missing.empty() ? text : text + "\n" + markdown(missing) + "\n";
}

}  // namespace headroom::report
