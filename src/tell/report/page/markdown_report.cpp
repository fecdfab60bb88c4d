#include <fmt/format.h>

#include "program/json_text.hpp"
#include "program/numbers.hpp"
#include "report/page/documents.hpp"
#include "report/words/answers.hpp"
#include "report/words/facts.hpp"
#include "report/words/peer_words.hpp"
#include "report/words/rank_words.hpp"
#include "report/words/wording.hpp"

namespace headroom::report {
namespace {

constexpr std::string_view kPageMark = "<meta name=\"generator\" content=\"headroom report";

std::string section(const char* head, const Table& table) {
  return fmt::format("\n## {}\n\n{}", head, table.rows.empty() ? "None.\n" : markdown(table));
}

std::string pictures_text(const Pictures& pictures) {
  std::string text = "\n## Pictures\n\n";
  if (!pictures.missing.empty()) {
    return text + "There are none: " + escape_markdown(pictures.missing) + ".\n";
  }
  for (const Picture& picture : pictures.drawn) {
    text +=
        fmt::format("### {}\n\n{}\n\n![{}](pictures/{}.svg)\n\n", escape_markdown(picture.title),
                    escape_markdown(picture.note), escape_markdown(picture.title), picture.name);
  }
  if (!pictures.not_drawn.empty()) text += "### Not drawn\n\n";
  for (const NotDrawn& chart : pictures.not_drawn) {
    text += fmt::format("- {}: {}.\n", escape_markdown(chart.title), escape_markdown(chart.reason));
  }
  return text;
}

std::string peers_text(const PeerWords& words) {
  std::string text = fmt::format("# {}\n\n", markdown(words.headline));
  for (const Prose& item : words.faster) text += fmt::format("- {}\n", markdown(item));
  if (!words.faster.empty()) text += "\n";
  for (const Prose& sentence : words.sentences) text += markdown(sentence) + "\n\n";
  if (words.by_threads.rows.empty()) return text;
  return fmt::format("{}{}\n{}\n\n", text, markdown(words.by_threads), kPeerNote);
}

std::string peers_details(const record::ResultsFolder& folder, const PeerWords& words) {
  return section("Every cell of the other libraries", words.cells) +
         section("The other libraries", peer_rows(folder)) +
         section("How they were called", peer_trials(folder));
}

}  // namespace

std::string markdown_report(const Findings& findings, const Conclusion& conclusion,
                            const Pictures& pictures) {
  const record::ResultsFolder& folder = *findings.folder;
  const std::optional<PeerWords> peers = peer_words(findings);
  std::string text = fmt::format("{}\n{}{} {}\n\n", kMarkdownMark, peers ? peers_text(*peers) : "",
                                 peers ? "##" : "#", markdown(conclusion.headline));
  if (!conclusion.split.empty()) text += markdown(conclusion.split) + "\n\n";
  if (!conclusion.answers.rows.empty())
    text += markdown(conclusion.answers) + "\n" + markdown(answer_note()) + "\n\n";
  text += escape_markdown(fmt::format("{}, {}, {}.", text_at(folder.environment, "/processor/name"),
                                      counted(folder.results.size(), "cell"),
                                      text_at(folder.environment, "/time")));
  // No link to the page: a published folder may lack it, since it holds the chart library.
  text +=
      " The interactive page is `index.html` beside this file; if it is missing, run `headroom "
      "report` on this folder. Every cell is in [results.csv](results.csv).\n";
  for (const Prose& remark : remarks(folder)) text += "\n> " + markdown(remark) + "\n";
  text += pictures_text(pictures);
  text += "\n## Why\n\n";
  for (const Prose& sentence : conclusion.sentences) text += markdown(sentence) + "\n\n";
  text += section("Every shape", conclusion.every_shape);
  if (!conclusion.every_shape.rows.empty()) text += "\n" + markdown(conclusion.shape_note) + "\n";
  if (const Table used = usage_rows(findings); !used.rows.empty()) {
    text += section("Energy and counters of the fastest cells", used);
  }
  if (const std::optional<RankWords> words = rank_words(folder)) {
    text += section(kPredictionHead, words->table) + "\n" + markdown(words->note) + "\n";
  }
  if (peers) text += peers_details(folder, *peers);
  text += section("The machine", machine_facts(folder));
  text += section("Backends", backend_rows(folder));
  text += section("The method", method_facts(findings));
  text += section("Cells without a time", table_without_times(folder));
  text += section("Noise and drift", noise_facts(findings));
  return text;
}

bool written_by_headroom(std::string_view text) {
  return text.starts_with(kMarkdownMark) || text.find(kPageMark) != std::string_view::npos;
}

}  // namespace headroom::report
