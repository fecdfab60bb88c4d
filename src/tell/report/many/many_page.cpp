#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "page/template.hpp"
#include "program/numbers.hpp"
#include "report/many/cell_list.hpp"
#include "report/many/founding_question.hpp"
#include "report/many/many_documents.hpp"
#include "report/many/many_tables.hpp"
#include "report/many/many_words.hpp"
#include "report/many/pictures/chart_style.hpp"
#include "report/page/assets.hpp"
#include "report/words/wording.hpp"

namespace headroom::report {
namespace {

using across::Overview;

// What stands on the page, and what leads to it.
struct Sections {
  std::string links, text;

  void add(const char* id, const char* head, const std::string& inside) {
    if (inside.empty()) return;
    links += fmt::format("<a href=\"#{}\">{}</a>\n", id, head);
    text += fmt::format(
        "<section id=\"{0}\" aria-labelledby=\"{0}-head\">\n<h2 id=\"{0}-head\">{1}</h2>\n{2}"
        "</section>\n",
        id, head, inside);
  }
};

std::string note_html(std::string_view words) {
  return fmt::format("<p class=\"note\">{}</p>\n", page::escape_html(words));
}

std::string many_paragraphs(const std::vector<Prose>& sentences) {
  std::string text;
  for (const Prose& sentence : sentences) text += fmt::format("<p>{}</p>\n", html(sentence));
  return text;
}

std::string folded(const std::string& summary, const std::string& inside, bool open = false) {
  return fmt::format("<details{}><summary>{}</summary>\n{}</details>\n", open ? " open" : "",
                     page::escape_html(summary), inside);
}

std::string if_rows(const Table& table, std::string_view caption) {
  return table.rows.empty() ? "" : html(table, caption);
}

std::string remark_list(const Overview& overview) {
  std::string items;
  for (const Prose& remark : many_remarks(overview)) {
    items += fmt::format("<li>{}</li>\n", html(remark));
  }
  return items.empty() ? "" : "<ul class=\"remarks\">\n" + items + "</ul>\n";
}

// The answer in tables: how sure it is, and what one backend for all costs.
std::string answer_tables(const Overview& overview) {
  std::string text;
  for (const across::LoneBackend& lone : overview.lone) {
    const std::string of =
        overview.lone.size() > 1 ? fmt::format(", {}", demand_words(lone.demand)) : "";
    text += html(own_table(overview, lone), "What each machine alone would link" + of);
    text += html(lone_table(overview, lone), "If one backend is linked everywhere" + of);
  }
  return text;
}

std::string machine_section(const Overview& overview) {
  std::string text = html(machine_table(overview), "The folders of this page");
  const Table differences = difference_table(overview);
  if (differences.rows.empty())
    return text + note_html("Machines, programs and settings are the same.");
  return text + folded(fmt::format("Everything that differs between them: {}",
                                   counted(overview.differences.size(), "fact")),
                       html(differences, "Everything that differs"));
}

std::string winner_section(const Overview& overview) {
  std::string text = if_rows(winner_table(overview), "What to link for each shape");
  if (!text.empty()) {
    text += note_html(
        "Yes: the same backend is to be linked on every machine that has the shape. Not known: on "
        "one of them another may be faster, or has no time.");
  }
  const std::string sides = if_rows(side_by_side_table(overview), "The same shapes side by side");
  if (sides.empty()) return text;
  return text + (text.empty() ? sides : folded("Times, each beside its own roof", sides));
}

std::string picture_section(const std::vector<Chart>& charts) {
  std::string text;
  for (const Chart& chart : charts) {
    text += fmt::format(
        "<figure id=\"{0}\">\n<h3>{1}</h3>\n{2}<div class=\"scrolls\" tabindex=\"0\" "
        "role=\"region\" aria-label=\"{1}\">\n{3}</div>\n{4}</figure>\n",
        chart.name, page::escape_html(chart.title), note_html(chart.note + "."), svg(chart, false),
        folded("The figures of this picture", html(table_of(chart), chart.title)));
  }
  return text;
}

std::string matrix_section(const Overview& overview) {
  std::string text;
  // The one that most machines have is shown at once.
  const auto first =
      std::max_element(overview.matrices.shown.begin(), overview.matrices.shown.end(),
                       [](const across::Matrix& a, const across::Matrix& b) {
                         return a.contest->standings.size() < b.contest->standings.size();
                       });
  for (const across::Matrix& matrix : overview.matrices.shown) {
    const std::string name = name_of(*matrix.contest);
    const std::string inside = if_rows(matrix_table(overview, matrix), "Time over time: " + name) +
                               html(pair_table(overview, matrix), "Pairs of machines: " + name);
    text += folded(name, inside, &matrix == &*first);
  }
  if (text.empty()) return "";
  return note_html(
             "The fastest cell of each machine beside that of each other, and the same cells "
             "beside "
             "each other: time over time with its 95 % interval. † marks verdicts between "
             "different programs.") +
         text;
}

std::string version_section(const Overview& overview) {
  const Table versions = version_table(overview);
  if (versions.rows.empty()) return "";
  return note_html(
             "The cell that is now the fastest of its shape, beside itself in each older version "
             "on the same machine.") +
         html(versions, "The newest version beside each older one") +
         folded("Shape by shape", html(change_table(overview), "Shape by shape"));
}

std::string money_section(const Overview& overview) {
  const Table value = value_table(overview);
  if (value.rows.empty()) return "";
  return note_html(
             "Passes for one unit of money: an hour at the given price, over the median time of "
             "the fastest cell.") +
         html(value, "Results for the money");
}

}  // namespace

std::string many_page(const Overview& overview, const std::vector<Chart>& charts) {
  const Prose headline = many_headline(overview);
  Sections sections;
  sections.add("founding-question", kFoundingHead, founding_html(overview));
  sections.add("answer", "Which backend to link", answer_tables(overview));
  sections.add("machines", "Machines", machine_section(overview));
  sections.add("winners", "Which backend wins where", winner_section(overview));
  sections.add("pictures", "Pictures", picture_section(charts));
  sections.add("matrix", "Machine against machine", matrix_section(overview));
  sections.add("versions", "Versions", version_section(overview));
  sections.add("money", "Money", money_section(overview));
  sections.add("more-threads", "More threads", if_rows(thread_table(overview), "More threads"));
  sections.add("precisions", "Precisions", if_rows(numbers_table(overview), "Precisions"));
  sections.add("caches", "Warm and cold caches", if_rows(cold_table(overview), "Caches"));
  sections.add("unverified", "Not verified",
               if_rows(unverified_table(overview), "Cells that are not ranked"));
  sections.add("cells", "Every cell", cell_list(overview));
  sections.add("method", "How it was judged", many_paragraphs(many_method(overview)));
  return page::filled(many_page_text(),
                      {"report", page::escape_html(plain_text(headline)),
                       std::string(assets().style) + std::string(many_style())},
                      {{"subtitle", page::escape_html(many_subtitle(overview))},
                       {"links", sections.links},
                       {"headline", html(headline)},
                       {"sentences", many_paragraphs(many_sentences(overview))},
                       {"remarks", remark_list(overview)},
                       {"sections", sections.text}});
}

}  // namespace headroom::report
