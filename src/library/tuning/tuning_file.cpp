#include "tuning/tuning_file.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/regular_file.hpp"
#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "headroom/version.hpp"
#include "json/json_fields.hpp"
#include "json/read_numbers.hpp"
#include "json/shape_json.hpp"
#include "processor/processor_name.hpp"

namespace headroom::tuning {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kMaxBytes = std::int64_t{64} << 20;
constexpr std::size_t kMaxShapes = 100'000;
constexpr std::size_t kMaxCandidates = 1000;
constexpr std::size_t kMaxKernels = 1000;
constexpr const char* kNext = "create it again with headroom pick --emit json or headroom tune";

Candidate read_candidate(const JsonFields& fields) {
  Candidate candidate;
  candidate.backend = fields.text("backend");
  if (candidate.backend.empty()) fields.fail("backend", "the name of a backend");
  const std::optional<Formulation> formulation = parse_formulation(fields.text("formulation"));
  if (!formulation) fields.fail("formulation", "wrapper, split or fused");
  candidate.formulation = *formulation;
  candidate.threads = static_cast<int>(fields.whole("threads", 1, std::numeric_limits<int>::max()));
  candidate.isa = fields.text("isa");
  candidate.unit = fields.text("unit");
  candidate.numbers = read_numbers(fields);
  candidate.seconds = fields.object("time_s").positive("median");
  return candidate;
}

TuningFile read_fields(const JsonFields& file) {
  TuningFile tuning;
  tuning.version = file.text("headroom");
  const JsonFields machine = file.object("machine");
  tuning.machine = {machine.text("processor"), machine.text("architecture")};
  // Either part may be missing, but not both.
  if (file.has("kernels")) {
    for (const JsonFields& fields : file.objects("kernels", kMaxKernels)) {
      TunedKernels& tuned = tuning.kernels.emplace_back();
      tuned.isa = fields.text("isa");
      tuned.threads = static_cast<int>(fields.whole("threads", 1, std::numeric_limits<int>::max()));
      tuned.variant = fields.text("variant");
      if (tuned.variant.empty()) fields.fail("variant", "the name of a variant");
      if (!fields.has("borders")) continue;
      for (const JsonFields& border : fields.objects("borders", kMaxKernels)) {
        tuned.borders.push_back(
            {read_precision(border), border.text("unit"), border.whole("few_rows", 0)});
      }
    }
  }
  if (!tuning.kernels.empty() && !file.has("shapes")) return tuning;
  for (const JsonFields& fields : file.objects("shapes", kMaxShapes)) {
    TunedShape& tuned = tuning.shapes.emplace_back();
    tuned.shape = shape_from_json(fields.object("shape"));
    for (const JsonFields& candidate : fields.objects("candidates", kMaxCandidates)) {
      tuned.candidates.push_back(read_candidate(candidate));
    }
  }
  return tuning;
}

// Up to the second dot.
std::string_view major_and_minor(std::string_view version) {
  const std::size_t dot = version.find('.');
  return dot == std::string_view::npos ? version : version.substr(0, version.find('.', dot + 1));
}

// In doublings, so that one thread is as far from 2 as 8 are from 4.
double distance(int a, int b) { return std::abs(std::log2(static_cast<double>(a) / b)); }

}  // namespace

const TunedKernels* TuningFile::kernels_for(std::string_view isa, int threads) const {
  const TunedKernels* nearest = nullptr;
  for (const TunedKernels& tuned : kernels) {
    if (tuned.isa != isa) continue;
    if (nearest == nullptr ||
        distance(tuned.threads, threads) < distance(nearest->threads, threads)) {
      nearest = &tuned;
    }
  }
  return nearest;
}

Machine this_machine() {
  return {processor::processor_name(), processor::processor_architecture()};
}

TuningFile parse_tuning(const std::filesystem::path& path, std::string_view text) {
  const auto fail = [&](const std::string& found) -> void {
    throw FileError(fmt::format("{}: {}; {}", shown_path(path), found, kNext));
  };
  try {
    const ordered_json json = ordered_json::parse(text);
    if (!json.is_object() || !json.contains("schema") || json["schema"] != kSchema) {
      fail(fmt::format("not a tuning file of schema {}", kSchema));
    }
    return read_fields(JsonFields(json, ""));
  } catch (const ordered_json::parse_error& error) {
    fail(fmt::format("not valid JSON, byte {} of {}", error.byte == 0 ? 0 : error.byte - 1,
                     text.size()));
  } catch (const ordered_json::exception&) {
    fail("a number is too large");
  } catch (const InvalidArgument& error) {
    fail(error.what());
  }
  return {};
}

TuningFile read_tuning(const std::filesystem::path& path) {
  return parse_tuning(path, read_regular_file(path, kMaxBytes));
}

std::string stale_reason(const TuningFile& file) {
  if (major_and_minor(file.version) != major_and_minor(HEADROOM_VERSION)) {
    return fmt::format("it was measured with headroom {}, but this is headroom {}", file.version,
                       HEADROOM_VERSION);
  }
  const Machine here = this_machine();
  if (file.machine == here) return "";
  return fmt::format("it was measured on '{}' ({}), but this is '{}' ({})", file.machine.processor,
                     file.machine.architecture, here.processor, here.architecture);
}

}  // namespace headroom::tuning
