#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "page/template.hpp"
#include "program/json_text.hpp"
#include "program/numbers.hpp"
#include "report/page/assets.hpp"
#include "report/page/documents.hpp"
#include "report/page/page_data.hpp"
#include "report/words/answers.hpp"
#include "report/words/facts.hpp"
#include "report/words/peer_words.hpp"
#include "report/words/rank_words.hpp"
#include "report/words/wording.hpp"

namespace headroom::report {
namespace {

std::string paragraphs(const std::vector<Prose>& sentences) {
  std::string text;
  for (const Prose& sentence : sentences) text += fmt::format("<p>{}</p>\n", html(sentence));
  return text;
}

std::string list(const std::vector<Prose>& items, const char* kind) {
  if (items.empty()) return "";
  std::string text = fmt::format("<ul class=\"{}\">\n", kind);
  for (const Prose& item : items) text += fmt::format("<li>{}</li>\n", html(item));
  return text + "</ul>\n";
}

std::string table_or(const Table& table, std::string_view caption, std::string_view otherwise) {
  return table.rows.empty() ? fmt::format("<p>{}</p>\n", otherwise) : html(table, caption);
}

std::string details(const char* summary, const std::string& inside) {
  return fmt::format("<details><summary>{}</summary>\n{}</details>\n", summary, inside);
}

// As many shapes as leave room for the first picture; the others unfold. A single one more takes no
// more room than the line that would unfold it.
std::string answers(const Table& all) {
  constexpr std::size_t kMost = 5;
  const std::size_t shown =
      all.rows.size() == kMost + 1 ? kMost + 1 : std::min(kMost, all.rows.size());
  const auto middle = all.rows.begin() + static_cast<std::ptrdiff_t>(shown);
  const Table first{all.columns, {all.rows.begin(), middle}};
  const Table rest{all.columns, {middle, all.rows.end()}};
  std::string text = table_or(first, "What to link, for each shape", "No shape has a time.");
  if (rest.rows.empty()) return text;
  const std::string head =
      fmt::format("{} more shape{}", rest.rows.size(), rest.rows.size() == 1 ? "" : "s");
  return text + details(head.c_str(), html(rest, "What to link, for the other shapes"));
}

// One line, until somebody wants to know.
std::string remarks_of(const record::ResultsFolder& folder) {
  const std::vector<Prose> items = remarks(folder);
  if (items.empty()) return "";
  const std::string head =
      fmt::format("How far to trust these times: {}", counted(items.size(), "remark"));
  return details(head.c_str(), list(items, "remarks"));
}

// Before everything else, so that nobody reads the verdict on ours without it.
std::string peers_section(const record::ResultsFolder& folder, const PeerWords& words) {
  std::string text = fmt::format(
      "<section id=\"peers\" aria-labelledby=\"peers-head\">\n<h1 id=\"peers-head\">{}</h1>\n",
      html(words.headline));
  if (!words.faster.empty()) text += list(words.faster, "faster");
  text += fmt::format("<div class=\"sentences\">\n{}</div>\n", paragraphs(words.sentences));
  if (!words.by_threads.rows.empty()) {
    text += html(words.by_threads, "Other libraries beside the best of ours");
    text += fmt::format("<p class=\"note\">{}</p>\n", kPeerNote);
    text += details("Every cell of the other libraries",
                    html(words.cells, "Every cell of the other libraries"));
  }
  text += details("Versions, settings and packages of the other libraries",
                  html(peer_rows(folder), "The other libraries"));
  text += details("How they were called: every variant that was tried",
                  table_or(peer_trials(folder), "Every variant that was tried", "None."));
  return text + "</section>\n";
}

std::string prediction_section(const record::ResultsFolder& folder) {
  const std::optional<RankWords> words = rank_words(folder);
  if (!words) return "";
  return fmt::format(
      "<section id=\"prediction\" aria-labelledby=\"prediction-head\">\n"
      "<h2 id=\"prediction-head\">{}</h2>\n{}<p class=\"note\">{}</p>\n</section>\n",
      kPredictionHead, html(words->table, kPredictionHead), html(words->note));
}

constexpr const char* kUsageHead = "Energy and counters of the fastest cells";

std::string usage_details(const Findings& findings) {
  const Table rows = usage_rows(findings);
  return rows.rows.empty() ? "" : details(kUsageHead, html(rows, kUsageHead));
}

std::string subtitle(const record::ResultsFolder& folder) {
  const auto& environment = folder.environment;
  return fmt::format("{} · {} · {}", text_at(environment, "/processor/name"),
                     counted(folder.results.size(), "cell"), text_at(environment, "/time"));
}

constexpr const char* kNoCharts =
    "<p class=\"missing\" role=\"note\">No charts: Apache ECharts was not installed when "
    "headroom was built. Every table is here. To get the charts, run <code>scripts/setup</code> "
    "with network access, build again, and repeat <code>headroom report</code>.</p>\n";

}  // namespace

std::string page(const Findings& findings, const Conclusion& conclusion, const std::string& data) {
  const record::ResultsFolder& folder = *findings.folder;
  const Assets& parts = assets();
  const Table without = table_without_times(folder);
  const std::optional<PeerWords> peers = peer_words(findings);
  const page::Places places{
      {"peers", peers ? peers_section(folder, *peers) : ""},
      {"peers_link", peers ? "<a href=\"#peers\">Other libraries</a>\n" : ""},
      {"rank", peers ? "2" : "1"},
      {"subtitle", escape_html(subtitle(folder))},
      {"headline", html(conclusion.headline)},
      {"split", conclusion.split.empty()
                    ? ""
                    : fmt::format("<p id=\"split-gains\" class=\"sentences\">{}</p>\n",
                                  html(conclusion.split))},
      {"answer_note",
       details("What these columns say", "<p class=\"note\">" + html(answer_note()) + "</p>\n")},
      {"shape_note", html(conclusion.shape_note)},
      {"answers", answers(conclusion.answers)},
      {"sentences", paragraphs(conclusion.sentences)},
      {"remarks", remarks_of(folder)},
      {"every_shape",
       table_or(conclusion.every_shape, "The fastest cell of every shape", "No shape has a time.") +
           usage_details(findings)},
      {"prediction", prediction_section(folder)},
      {"machine", html(machine_facts(folder), "The machine")},
      {"backends", table_or(backend_rows(folder), "Backends", "No backends were recorded.")},
      {"method", html(method_facts(findings), "The method")},
      {"noise", html(noise_facts(findings), "Noise and drift")},
      {"without_time", table_or(without, "Cells without a time",
                                "None: every cell was checked as the method says and has a time.")},
      {"without_count",
       fmt::format("{}", std::count_if(folder.results.begin(), folder.results.end(),
                                       [](const record::CellResult& result) {
                                         return result.status != record::Status::ok;
                                       }))},
      {"no_charts", parts.echarts.empty() ? kNoCharts : ""},
      {"echarts", std::string(parts.echarts)},
      {"scripts", std::string(parts.charts) + std::string(parts.browser)},
      {"data", page::packed(data)}};
  return page::filled(
      parts.page,
      {.command = "report",
       .title = escape_html(plain_text(peers ? peers->headline : conclusion.headline)),
       .style = std::string(parts.style),
       .scripts = true},
      places);
}

}  // namespace headroom::report
