// The contents of a report's files: every value appears as text, whatever it contains.
#include <gtest/gtest.h>
#include <zlib.h>

#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "page/template.hpp"
#include "program/exit_code.hpp"
#include "report/page/assets.hpp"
#include "report/page/documents.hpp"
#include "report/page/page_data.hpp"
#include "report/words/facts.hpp"
#include "support/report_documents.hpp"
#include "support/sample_results.hpp"
#include "support/told.hpp"

namespace headroom::document_test {
namespace {

using test::markdown_of;
using test::page_of;

using record::Status;
using report::code;
using report::plain;
using report::strong;

constexpr const char* kMarkup = "<script>alert(\"1\")</script>&'";

record::ResultsFolder one_cell() {
  return test::sample_folder(
      "results", {test::with_time(test::sample_result("tbb"), {1, 1.1, 1.2, 1.3, 1.4})});
}

std::string joined(const std::vector<report::Prose>& all) {
  std::string text;
  for (const report::Prose& prose : all) text += report::plain_text(prose) + "\n";
  return text;
}

std::string unpacked(const std::string& digits, std::size_t size) {
  const std::string known = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<unsigned char> bytes;
  unsigned group = 0;
  int bits = 0;
  for (const char digit : digits.substr(0, digits.find('='))) {
    group = (group << 6 | static_cast<unsigned>(known.find(digit))) & 0xffffff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push_back(static_cast<unsigned char>(group >> bits & 0xff));
  }
  std::string text(size, ' ');
  auto length = static_cast<uLongf>(size);
  EXPECT_EQ(uncompress(reinterpret_cast<unsigned char*>(text.data()), &length, bytes.data(),
                       static_cast<uLong>(bytes.size())),
            Z_OK);
  return text.substr(0, length);
}

TEST(ReportProse, HtmlIsEscaped) {
  EXPECT_EQ(report::html({plain("a<b"), code("\"x\""), strong("&'")}),
            "a&lt;b<code>&quot;x&quot;</code><strong>&amp;&#39;</strong>");
  EXPECT_EQ(report::escape_html(std::string("a\0b\x1b", 4)), "a\\u0000b\\u001b");
}

TEST(ReportProse, MarkdownIsEscaped) {
  EXPECT_EQ(report::markdown({plain("a|b*c\n<d>"), strong("_e_")}),
            "a\\|b\\*c\\\\n&lt;d&gt;**\\_e\\_**");
  EXPECT_EQ(report::markdown({code("a`b|c")}), "`` a`b\\|c ``");
  EXPECT_EQ(report::markdown({code("<d>|e")}), "<code>&lt;d&gt;\\|e</code>");
}

TEST(ReportData, ComesBackAsItWas) {
  for (const std::string& text : {std::string(), std::string("a"), std::string("ab"),
                                  std::string("abc"), std::string(100'000, 'x') + kMarkup}) {
    EXPECT_EQ(unpacked(page::packed(text), text.size() + 1), text);
  }
}

TEST(ReportPage, HostileNamesAreText) {
  record::ResultsFolder folder = one_cell();
  folder.environment["processor"]["name"] = kMarkup;
  folder.environment["warnings"] = {kMarkup, "{{data}}"};
  folder.notes = {kMarkup};
  folder.results[0].cell.backend = kMarkup;
  folder.results.push_back(
      test::without_time(test::sample_result(kMarkup), Status::failed, kMarkup));
  const std::string page = page_of(folder);
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_NE(page.find("&lt;script&gt;alert"), std::string::npos);
  EXPECT_NE(page.find("<li>{{data}}.</li>"), std::string::npos);
  EXPECT_EQ(markdown_of(folder).find("<script>"), std::string::npos);
}

TEST(ReportPage, SaysWhatIsMissingWithoutCharts) {
  const bool has_charts = !report::assets().echarts.empty();
  EXPECT_EQ(page_of(one_cell()).find("No charts: Apache ECharts") == std::string::npos, has_charts);
  EXPECT_NE(markdown_of(one_cell()).find("There are none: no &lt;node&gt;"), std::string::npos);
}

TEST(ReportPage, NoScriptEndsBeforeItsEnd) {
  for (const std::string_view text : {report::assets().echarts, report::assets().charts,
                                      report::assets().browser, report::assets().picture}) {
    EXPECT_EQ(text.find("</script"), std::string_view::npos);
    EXPECT_EQ(text.find("<!--"), std::string_view::npos);
  }
}

TEST(ReportPage, IsKnownAsOurs) {
  EXPECT_TRUE(report::written_by_headroom(page_of(one_cell())));
  EXPECT_TRUE(report::written_by_headroom(markdown_of(one_cell())));
  EXPECT_FALSE(report::written_by_headroom("<html>my page</html>"));
}

TEST(ReportPage, CellsWithoutATimeHaveTheirReason) {
  record::ResultsFolder folder = one_cell();
  folder.results.push_back(
      test::without_time(test::sample_result("naive"), Status::skipped, "needs 3 TiB"));
  const std::string page = page_of(folder);
  EXPECT_NE(page.find("needs 3 TiB"), std::string::npos);
  EXPECT_NE(page.find("Without a time (1)"), std::string::npos);
}

TEST(ReportFacts, TheCommandIsReadyForAShell) {
  nlohmann::ordered_json environment;
  EXPECT_EQ(report::repeating_command(environment), "");
  environment["sweep"] = {
      {"identity", {{"axes", {{"heads", "1-96*2"}, {"no-causal", true}, {"model", "x'; rm y"}}}}},
      {"repetitions_asked", 9},
      {"processes", 8},
      {"min_time_s", 0.03},
      {"seed", 1}};
  EXPECT_EQ(report::repeating_command(environment),
            "headroom sweep --heads '1-96*2' --no-causal --model 'x'\\''; rm y' --repetitions 9");
}

TEST(ReportFacts, TheCommandHasEveryOptionThatChangesAResult) {
  nlohmann::ordered_json environment;
  environment["isa"] = "avx2";
  environment["available_isas"] = {"sse4.2", "avx2", "avx512"};
  environment["unit"] = "none";
  environment["available_units"] = {"emulated", "none", "avx512_bf16"};
  environment["conditions"] = {
      {"openmp_wait_policy", "passive (set by headroom)"},
      {"variables", {{"OMP_PROC_BIND", "close one"}, {"OMP_WAIT_POLICY", "passive"}}}};
  environment["sweep"] = {
      {"identity", {{"axes", {{"heads", "2"}}}, {"shard", {{"index", 1}, {"of", 8}}}}},
      {"cache", "cold"},
      {"repetitions_asked", 9},
      {"processes", 1},
      {"min_time_s", 0.00001},
      {"seed", 12345678901},
      {"budget_s", 600.0},
      {"timeout_s", 1.5},
      {"memory_asked_bytes", 17179869184}};
  EXPECT_EQ(
      report::repeating_command(environment),
      "env OMP_PROC_BIND='close one' headroom sweep --heads 2 --isa avx2 --unit none --cache cold "
      "--repetitions 9 --processes 1 --min-time 0.00001 --seed 12345678901 --budget 600s "
      "--timeout 1.5s "
      "--max-memory 17179869184 --shard 1/8");
  environment["sweep"]["identity"]["axes"]["isa"] = "avx2";
  environment["conditions"]["openmp_wait_policy"] = "passive (set by the user)";
  const std::string command = report::repeating_command(environment);
  EXPECT_EQ(command.find("--isa avx2"), command.rfind("--isa avx2")) << command;
  EXPECT_NE(command.find(" OMP_WAIT_POLICY=passive "), std::string::npos) << command;
}

TEST(ReportFacts, ACheckOfSampledRowsIsNamedAsSuch) {
  record::ResultsFolder folder = one_cell();
  for (const std::string& text : {page_of(folder), markdown_of(folder)}) {
    EXPECT_NE(text.find("Its result was checked on 3 of 4 rows."), std::string::npos);
    EXPECT_NE(text.find("only a sample of the rows was checked"), std::string::npos);
    EXPECT_NE(text.find("at least 3 of 4 rows"), std::string::npos);
  }
  EXPECT_NE(markdown_of(folder).find("| 3 of 4 rows |"), std::string::npos) << markdown_of(folder);
  folder.results[0].checked_rows = 4;
  for (const std::string& text : {page_of(folder), markdown_of(folder)}) {
    EXPECT_EQ(text.find("of 4 rows"), std::string::npos);
    EXPECT_NE(text.find("all rows"), std::string::npos);
  }
}

TEST(ReportFacts, RemarksTellWhatIsInDoubt) {
  record::ResultsFolder folder = one_cell();
  folder.notes = {"the last line is torn"};
  folder.environment["sweep"]["cells"] = 3U;
  folder.environment["warnings"] = {"busy"};
  folder.environment["resumed"] = {{{"warnings", {"busier"}}}, {{"warnings", {"busy"}}}};
  folder.results[0].cell.warnings = {"4 threads share 2 cores"};
  EXPECT_EQ(
      joined(report::remarks(folder)),
      "the last line is torn.\n2 of 3 planned cells are missing: the sweep was not finished, or "
      "a line was lost.\nbusy.\nbusier.\n1 cell: 4 threads share 2 cores.\n");
  folder.results.resize(5, folder.results[0]);
  EXPECT_NE(joined(report::remarks(folder)).find("another run were added"), std::string::npos);
}

TEST(ReportFacts, RemarksTellOfAnotherClockThanTheRoof) {
  record::ResultsFolder folder = one_cell();
  const std::size_t samples = folder.results[0].time.samples.size();
  folder.results[0].control = record::Control{"avx2", 1, std::vector<double>(samples, 100),
                                              std::vector<double>(samples, 2.5)};
  EXPECT_EQ(joined(report::remarks(folder)).find("another clock"), std::string::npos);
  folder.environment["peaks"]["clock_ghz_by_threads"] = {{"1", 3.0}};
  EXPECT_NE(joined(report::remarks(folder)).find("1 of 1 cell ran at another clock"),
            std::string::npos)
      << joined(report::remarks(folder));
}

TEST(ReportFacts, TheShareOfThePeakSaysAtWhichClock) {
  record::ResultsFolder folder = one_cell();
  const auto method = [&folder] {
    std::string text;
    for (const auto& row : report::method_facts(report::find_out(folder)).rows) text += joined(row);
    return text;
  };
  EXPECT_NE(method().find("rate measured before the first cell"), std::string::npos) << method();
  const std::size_t samples = folder.results[0].time.samples.size();
  folder.results[0].control = record::Control{"avx2", 1, std::vector<double>(samples, 100)};
  EXPECT_NE(method().find("each sample, at a clock that was not recorded"), std::string::npos)
      << method();
  folder.results.push_back(folder.results[0]);
  folder.results[0].control->clock_ghz = std::vector<double>(samples, 2.5);
  folder.results[1].control->clock_ghz = std::vector<double>(samples, 3.25);
  EXPECT_NE(method().find("at the clock recorded with it (2.50 to 3.25 GHz)"), std::string::npos)
      << method();
}

TEST(ReportFacts, TheShareOfTheTilesIsExplainedWhereItIsKnown) {
  record::ResultsFolder folder = one_cell();
  EXPECT_NE(markdown_of(folder).find("register tiles were not measured beside these cells"),
            std::string::npos);
  folder.results[0].tile_fraction = 0.5;
  EXPECT_NE(markdown_of(folder).find("the share of the rate of register tiles"), std::string::npos);
}

TEST(ReportFacts, CellsWhoseThreadsHadFewerCoresAreMarked) {
  record::ResultsFolder folder = one_cell();
  folder.results[0].threads = 2;
  folder.results[0].control = record::Control{"avx2", 2, std::vector<double>(5, 110)};
  const auto found = [&folder] {
    const report::Findings findings = report::find_out(folder);
    return nlohmann::ordered_json::parse(report::page_data(findings))["findings"][0];
  };
  EXPECT_EQ(joined(report::remarks(folder)).find("fewer cores"), std::string::npos);
  EXPECT_NE(markdown_of(folder).find("| 2 |"), std::string::npos) << "no rate of one thread";
  EXPECT_FALSE(found().contains("cores"));
  folder.environment["peaks"]["fma_gflops_by_threads"] = {{"1", 100.0}};
  EXPECT_NE(joined(report::remarks(folder)).find("2 threads ran at the rate of 1.1 cores"),
            std::string::npos)
      << joined(report::remarks(folder));
  EXPECT_NE(markdown_of(folder).find("| 2 (as 1.1 cores) |"), std::string::npos)
      << markdown_of(folder);
  EXPECT_EQ(found()["cores"], 1.1);
}

std::string machine_of(const record::ResultsFolder& folder) {
  std::string text;
  for (const auto& row : report::machine_facts(folder).rows) text += joined(row);
  return text;
}

TEST(ReportFacts, ARoofThatIsHeldOnlyInBurstsIsNamedSo) {
  record::ResultsFolder folder = one_cell();
  nlohmann::ordered_json& peaks = folder.environment["peaks"];
  peaks = {{"fma_gflops_by_threads", {{"1", 100.0}, {"2", 190.0}}},
           {"read_gb_per_s_by_threads", {{"1", 12.0}}}};
  EXPECT_NE(machine_of(folder).find("1 thread: multiply-adds 100.0 GFLOP/s, memory read 12.0 GB/s; "
                                    "2 threads: multiply-adds 190.0 GFLOP/s"),
            std::string::npos)
      << "an old folder: " << machine_of(folder);
  peaks["sustained_fma_gflops_by_threads"] = {{"1", 99.0}, {"2", 150.0}};
  peaks["clock_ghz_by_threads"] = {{"1", 3.5}, {"2", 3.5}};
  peaks["sustained_clock_ghz_by_threads"] = {{"1", 3.5}, {"2", 2.8}};
  EXPECT_NE(machine_of(folder).find("100.0 GFLOP/s at 3.50 GHz, sustained 99.0"), std::string::npos)
      << machine_of(folder);
  EXPECT_NE(machine_of(folder).find("190.0 GFLOP/s at 3.50 GHz, only in bursts"), std::string::npos)
      << machine_of(folder);
}

TEST(ReportFacts, AConditionThatIsNotKnownSaysWhy) {
  record::ResultsFolder folder = one_cell();
  folder.environment["conditions"] = {
      {"governor", nullptr},
      {"clock_ghz", 3.25},
      {"unavailable", {{"governor", "not available: /sys/governor: No such file"}}}};
  const std::string text = machine_of(folder);
  EXPECT_NE(text.find("governor not available: /sys/governor: No such file"), std::string::npos)
      << text;
  EXPECT_NE(text.find("3.25 GHz"), std::string::npos) << text;
}

TEST(ReportFacts, ResultsOfTwoMachinesAreRefused) {
  record::ResultsFolder folder = one_cell();
  folder.results[0].control = record::Control{"avx2", 1, std::vector<double>(5, 1)};
  report::check_one_machine(folder);
  folder.results[0].control->isa = "avx512";
  EXPECT_THROW(report::check_one_machine(folder), FileError);
}

TEST(ReportFacts, StrangeEnvironmentsAreNoCrash) {
  record::ResultsFolder folder = one_cell();
  for (const char* key : {"processor", "memory", "isa", "backends", "build", "conditions", "peaks",
                          "sweep", "warnings", "resumed", "allowed_cores"}) {
    for (const nlohmann::ordered_json& value :
         {nlohmann::ordered_json(nullptr), nlohmann::ordered_json("text"),
          nlohmann::ordered_json(1e300), nlohmann::ordered_json::array({1, "x", nullptr}),
          nlohmann::ordered_json(
              {{"caches", {1, {{"bytes", "x"}}}}, {"fma_gflops_by_threads", {{"1", "x"}}}})}) {
      record::ResultsFolder strange = folder;
      strange.environment[key] = value;
      EXPECT_NE(page_of(strange).find("Link <code>"), std::string::npos) << key << value;
    }
  }
}

TEST(ReportPage, StartsAtTheShapeOfTheHeadline) {
  std::vector<record::CellResult> cells;
  for (const auto& [heads, tokens, backend] :
       {std::tuple(96, 1, "tbb"), std::tuple(2, 8, "tbb"), std::tuple(2, 8, "xsimd"),
        std::tuple(12, 8, "tbb")}) {
    cells.push_back(test::cell(backend, test::kSplit, heads, test::around(1), 1, tokens));
  }
  const record::ResultsFolder folder = test::sample_folder("results", std::move(cells));
  const report::Findings findings = report::find_out(folder);
  const report::Conclusion conclusion = report::conclude(findings);
  // Prefill comes before decode, and most rivals are here.
  EXPECT_EQ(conclusion.focus, "B1_T8_D8_H2") << report::plain_text(conclusion.headline);
  EXPECT_EQ(nlohmann::ordered_json::parse(report::page_data(findings, conclusion.focus))["focus"],
            conclusion.focus);
}

TEST(ReportMarkdown, NamesWhatIsNotDrawn) {
  const record::ResultsFolder folder = one_cell();
  const report::Findings findings = report::find_out(folder);
  const report::Conclusion conclusion = report::conclude(findings);
  const report::Pictures none{{}, "", {{"Time by heads", "add --heads <1,2>"}}};
  EXPECT_NE(report::markdown_report(findings, conclusion, none)
                .find("### Not drawn\n\n- Time by heads: add --heads &lt;1,2&gt;.\n"),
            std::string::npos);
  EXPECT_EQ(report::markdown_report(findings, conclusion, {}).find("Not drawn"), std::string::npos);
}

}  // namespace
}  // namespace headroom::document_test
