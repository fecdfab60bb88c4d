#include "attention/choice/auto_request.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/backend.hpp"
#include "core/element/layer_numbers.hpp"
#include "core/element/numbers_of.hpp"

namespace headroom {
namespace {

std::vector<Precision> precisions_of(const AttentionOptions& options) {
  if (options.precision) return {*options.precision};
  return {kPrecisionsLikeF32.begin(), kPrecisionsLikeF32.end()};
}

// The emulator is there for tests and never pays.
std::optional<std::int64_t> pays_from_rows(const Arithmetic& does,
                                           const AttentionOptions& options) {
  if (does.unit == Unit::none || does.unit == Unit::emulated) return std::nullopt;
  return options.few_rows.value_or(does.few_rows) + 1;
}

std::vector<tuning::Computed> computed_by(const std::string& backend, const Case& shape,
                                          const AttentionOptions& options, const Target& target) {
  std::vector<tuning::Computed> all;
  for (const Precision precision : precisions_of(options)) {
    Arithmetic does = arithmetic_of(backend, numbers_of(options, precision), target);
    if (!shape.has_projections()) does = does.of_attention();
    if (!does.precision) continue;
    // What was not asked for by name is itself or nothing, and without products fp16x3 is bf16x6.
    const bool is_itself =
        *does.precision == precision && (precision != Precision::fp16x3 || shape.has_projections());
    if (!options.precision && !is_itself) continue;
    all.push_back(
        {*does.precision, std::string(to_string(does.unit)), pays_from_rows(does, options)});
  }
  return all;
}

}  // namespace

tuning::Request auto_request(const Case& shape, const AttentionOptions& options, int threads) {
  tuning::Request request;
  request.shape = shape;
  request.threads = threads;
  const Target target = select_target(options.isa, options.unit);
  request.isa = to_string(target.isa);
  request.formulation = options.formulation;
  request.stored = numbers_of(options).as_stored();
  const bool any = options.backend == kAuto;
  for (const BackendInfo& info : backends()) {
    if (!any && info.name != options.backend) continue;
    if (!info.available || backend_entry(info.name).declines(shape)) continue;
    std::vector<tuning::Computed> computed = computed_by(info.name, shape, options, target);
    if (computed.empty()) continue;
    const BackendFacts& facts = backend_facts(info.name);
    request.usable.emplace(info.name,
                           tuning::Usable{info.threaded ? request.threads : 1, facts.preference,
                                          facts.threads_pay_from, std::move(computed)});
  }
  return request;
}

}  // namespace headroom
