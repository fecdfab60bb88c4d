#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include "json/shape_json.hpp"
#include "show/csv_field.hpp"
#include "show/export.hpp"

namespace headroom::show {
namespace {

std::string text(std::string_view value) { return std::string(value); }
std::string flag(bool value) { return value ? "true" : "false"; }
// The shortest text that reads back as the same number.
std::string text(double value) { return fmt::format("{}", value); }
std::string text(std::int64_t value) { return fmt::format("{}", value); }

template <class Value>
std::string text(const std::optional<Value>& value) {
  return value ? text(*value) : "";
}

std::string shown(bool value) { return flag(value); }
std::string shown(auto value) { return text(value); }

template <class Value>
std::string if_timed(const record::CellResult& result, Value value) {
  return result.status == record::Status::ok ? text(value) : "";
}

struct Column {
  const char* name;
  std::string (*field)(const record::CellResult&);
};

using Result = const record::CellResult&;

bool has_rotary(Result r) { return r.shape.rotary.pairs != Rotary::Pairs::none; }

constexpr Column kColumns[] = {
    {"id", [](Result r) { return r.cell.id; }},
    {"status", [](Result r) { return text(to_string(r.status)); }},
    {"reason", [](Result r) { return r.reason; }},
    {"formulation", [](Result r) { return text(r.way()); }},
    {"backend", [](Result r) { return r.cell.backend; }},
    {"dtype", [](Result r) { return text(headroom::to_string(r.cell.numbers.dtype)); }},
    {"weights_dtype",
     [](Result r) { return text(headroom::to_string(r.cell.numbers.stored_weights())); }},
    {"cache_dtype",
     [](Result r) { return text(headroom::to_string(r.cell.numbers.stored_cache())); }},
    {"threads", [](Result r) { return text(std::int64_t{r.threads}); }},
    {"isa", [](Result r) { return r.isa; }},
    {"unit", [](Result r) { return r.unit; }},
    {"cache", [](Result r) { return text(to_string(r.cache)); }},
    {"batch", [](Result r) { return text(r.shape.batch); }},
    {"tokens", [](Result r) { return text(r.shape.tokens); }},
    {"d_in", [](Result r) { return text(r.shape.d_in); }},
    {"d_out", [](Result r) { return text(r.shape.d_out); }},
    {"heads", [](Result r) { return text(r.shape.heads); }},
    {"head_dim", [](Result r) { return text(r.shape.head_dim()); }},
    {"causal", [](Result r) { return flag(r.shape.causal); }},
    {"qkv_bias", [](Result r) { return flag(r.shape.qkv_bias); }},
    {"d_proj", [](Result r) { return text(r.shape.d_proj); }},
    {"dropout", [](Result r) { return text(r.shape.dropout); }},
    {"median_s", [](Result r) { return if_timed(r, r.time.median); }},
    {"ci95_low_s", [](Result r) { return if_timed(r, r.time.ci95.low); }},
    {"ci95_high_s", [](Result r) { return if_timed(r, r.time.ci95.high); }},
    {"min_s", [](Result r) { return if_timed(r, r.time.min); }},
    {"samples",
     [](Result r) { return if_timed(r, static_cast<std::int64_t>(r.time.samples.size())); }},
    {"flops", [](Result r) { return if_timed(r, r.shape.flops().total()); }},
    {"gflops", [](Result r) { return if_timed(r, r.gflops); }},
    {"peak_fraction", [](Result r) { return r.peak_fraction ? text(*r.peak_fraction) : ""; }},
    {"tile_fraction", [](Result r) { return r.tile_fraction ? text(*r.tile_fraction) : ""; }},
    {"qkv_s", [](Result r) { return if_timed(r, r.phases.qkv); }},
    {"attend_s", [](Result r) { return if_timed(r, r.phases.attend); }},
    {"output_s", [](Result r) { return if_timed(r, r.phases.output); }},
    {"setup_s", [](Result r) { return r.costs ? text(r.costs->setup_seconds) : ""; }},
    {"packed_bytes", [](Result r) { return r.costs ? text(r.costs->packed_bytes) : ""; }},
    {"workspace_bytes", [](Result r) { return r.costs ? text(r.costs->workspace_bytes) : ""; }},
    {"nrmse", [](Result r) { return r.error ? text(r.error->nrmse) : ""; }},
    {"storage_nrmse", [](Result r) { return r.storage_error ? text(*r.storage_error) : ""; }},
    {"moved_rows",
     [](Result r) { return r.attention_shift ? text(r.attention_shift->moved) : ""; }},
    {"kl_divergence",
     [](Result r) { return r.attention_shift ? text(r.attention_shift->divergence) : ""; }},
    {"max_over_rms", [](Result r) { return r.error ? text(r.error->max_over_rms) : ""; }},
    {"checked_rows", [](Result r) { return r.error ? text(r.checked_rows) : ""; }},
    {"project", [](Result r) { return r.costs ? r.costs->project_provenance : ""; }},
    {"attend", [](Result r) { return r.costs ? r.costs->attend_provenance : ""; }},
    {"warnings",
     [](Result r) {
       std::string all;
       for (const std::string& warning : r.cell.warnings)
         all += (all.empty() ? "" : "; ") + warning;
       return all;
     }},
    {"peer", [](Result r) { return flag(r.peer); }},
    {"kv_heads", [](Result r) { return text(r.shape.key_heads()); }},
    {"rotary", [](Result r) { return text(to_string(r.shape.rotary.pairs)); }},
    {"rotary_base", [](Result r) { return has_rotary(r) ? text(r.shape.rotary.base) : ""; }},
    {"rotary_scale", [](Result r) { return has_rotary(r) ? text(r.shape.rotary.scale) : ""; }},
    {"lengths", [](Result r) { return fmt::format("{}", fmt::join(r.shape.lengths, "-")); }},
    {"bytes", [](Result r) { return r.reading ? text(r.reading->bytes) : ""; }},
    {"read_gbps", [](Result r) { return r.reading ? text(r.reading->gbps) : ""; }},
    {"read_fraction",
     [](Result r) { return r.reading && r.reading->fraction ? text(*r.reading->fraction) : ""; }},
    {"cache_bytes", [](Result r) { return r.cached ? text(r.cached->bytes) : ""; }},
    {"fill_s", [](Result r) { return r.cached ? text(r.cached->fill_seconds) : ""; }},
    {"precision", [](Result r) { return text(headroom::to_string(r.cell.numbers.precision)); }},
    {"ranks", [](Result r) { return text(std::int64_t{r.cell.ranks}); }},
    {"sum_s", [](Result r) { return r.cell.ranks > 1 ? if_timed(r, r.phases.sum) : ""; }},
};

// Only where a machine tells any of them, so that other tables stay as they were.
constexpr Column kUsageColumns[] = {
    {"joules", [](Result r) { return r.used ? text(r.used->joules()) : ""; }},
    {"idle_share", [](Result r) { return r.used ? text(r.used->idle_share) : ""; }},
    {"instructions", [](Result r) { return r.used ? text(r.used->instructions()) : ""; }},
    {"instructions_per_cycle", [](Result r) { return r.used ? text(r.used->per_cycle()) : ""; }},
    {"cache_misses", [](Result r) { return r.used ? text(r.used->cache_misses()) : ""; }},
    {"throttled_samples", [](Result r) { return r.used ? text(r.used->throttled_samples()) : ""; }},
};

using CsvColumns = std::span<const Column>;

bool has_usage(const record::ResultsFolder& folder) {
  return std::any_of(folder.results.begin(), folder.results.end(),
                     [](Result result) { return result.used.has_value(); });
}

CsvColumns usage_columns(bool any) { return any ? CsvColumns(kUsageColumns) : CsvColumns(); }

// The names of all columns. @param first of those in front of a cell's own
std::string head_of(const std::string& first, CsvColumns of_usage) {
  std::string head = first;
  for (const Column& column : kColumns) {
    if (!head.empty()) head += ',';
    head += column.name;
  }
  for (const ShapeField& field : shape_fields()) head += fmt::format(",{}", field.name);
  for (const Column& column : of_usage) head += fmt::format(",{}", column.name);
  return head;
}

// @param first of each row
void add_rows(std::string& table, const record::ResultsFolder& folder, const std::string& first,
              CsvColumns of_usage) {
  for (const record::CellResult* result : record::in_order(folder)) {
    std::string line = "\r\n" + first;
    for (const Column& column : kColumns) {
      if (&column != kColumns) line += ",";
      line += csv_field(column.field(*result));
    }
    for (const ShapeField& field : shape_fields()) {
      std::visit([&](auto member) { line += "," + shown(result->shape.*member); }, field.member);
    }
    for (const Column& column : of_usage) line += "," + csv_field(column.field(*result));
    table += line;
  }
}

}  // namespace

std::string export_csv(const record::ResultsFolder& folder) {
  const CsvColumns of_usage = usage_columns(has_usage(folder));
  std::string table = head_of("", of_usage);
  add_rows(table, folder, "", of_usage);
  return table + "\r\n";
}

std::string export_csv(const std::vector<NamedFolder>& folders) {
  const CsvColumns of_usage =
      usage_columns(std::any_of(folders.begin(), folders.end(),
                                [](const NamedFolder& named) { return has_usage(*named.folder); }));
  std::string table = head_of("machine,version", of_usage);
  for (const NamedFolder& named : folders) {
    add_rows(table, *named.folder,
             fmt::format("{},{},", csv_field(named.machine), csv_field(named.version)), of_usage);
  }
  return table + "\r\n";
}

}  // namespace headroom::show
