#include <fmt/format.h>

#include <string_view>

#include "report/many/founding_question.hpp"
#include "report/many/many_documents.hpp"
#include "report/many/many_tables.hpp"
#include "report/many/many_words.hpp"
#include "report/many/text_table.hpp"
#include "report/page/documents.hpp"

namespace headroom::report {
namespace {

using across::Overview;

std::string section_text(std::string_view head, const Table& table) {
  if (table.rows.empty()) return "";
  return fmt::format("\n## {}\n\n{}", head, markdown(table));
}

std::string pictures_markdown(const std::vector<Chart>& charts) {
  if (charts.empty()) return "";
  std::string text = "\n## Pictures\n";
  for (const Chart& chart : charts) {
    text += fmt::format("\n### {0}\n\n{1}.\n\n![{0}](pictures/{2}.svg)\n",
                        escape_markdown(chart.title), escape_markdown(chart.note), chart.name);
  }
  return text;
}

}  // namespace

std::string many_markdown(const Overview& overview, const std::vector<Chart>& charts) {
  std::string text =
      fmt::format("{}\n# {}\n\n{}.\n\n", kMarkdownMark, markdown(many_headline(overview)),
                  escape_markdown(many_subtitle(overview)));
  for (const Prose& sentence : many_sentences(overview)) text += markdown(sentence) + "\n\n";
  text +=
      "Every cell is in [results.csv](results.csv); `index.html` beside this file has the "
      "verdicts between machines, cell by cell.\n";
  for (const Prose& remark : many_remarks(overview)) text += "\n> " + markdown(remark) + "\n";
  text += founding_markdown(overview);
  for (const across::LoneBackend& lone : overview.lone) {
    const std::string of =
        overview.lone.size() > 1 ? fmt::format(", {}", demand_words(lone.demand)) : "";
    text += section_text("What each machine alone would link" + of, own_table(overview, lone));
    text += section_text("If one backend is linked everywhere" + of, lone_table(overview, lone));
  }
  text += section_text("The machines", machine_table(overview));
  text += section_text("What differs", difference_table(overview));
  text += section_text("Which backend wins where", winner_table(overview));
  text += pictures_markdown(charts);
  text += section_text("The same shapes side by side", side_by_side_table(overview));
  for (const across::Matrix& matrix : overview.matrices.shown) {
    text += section_text(escape_markdown("Machine against machine: " + name_of(*matrix.contest)),
                         matrix_table(overview, matrix));
  }
  text += section_text("Versions", version_table(overview));
  text += section_text("Results for the money", value_table(overview));
  text += section_text("More threads", thread_table(overview));
  text += section_text("Precisions", numbers_table(overview));
  text += section_text("Warm and cold caches", cold_table(overview));
  text += section_text("Cells that are not verified", unverified_table(overview));
  text += "\n## How it was judged\n";
  for (const Prose& sentence : many_method(overview)) text += "\n" + markdown(sentence) + "\n";
  return text;
}

std::string many_text(const Overview& overview) {
  std::string text = plain_text(many_headline(overview)) + "\n";
  for (const Prose& sentence : many_sentences(overview)) text += plain_text(sentence) + "\n";
  for (const across::LoneBackend& lone : overview.lone) {
    text += fmt::format("\n{}: what each machine alone would link\n", demand_words(lone.demand));
    text += text_table(own_table(overview, lone));
  }
  const auto add = [&](std::string_view head, const Table& table) {
    if (!table.rows.empty()) text += fmt::format("\n{}\n{}", head, text_table(table));
  };
  add("what to link for each shape that several machines have", shared_winners(overview));
  add("the newest version beside each older one", version_table(overview));
  add("results for the money", value_table(overview));
  return text;
}

}  // namespace headroom::report
