#include <fmt/format.h>

#include "headroom/version.hpp"
#include "pick/lines.hpp"
#include "pick/pick.hpp"
#include "program/numbers.hpp"

namespace headroom::pick {
namespace {

// A processor's name or a path may contain anything, but only a newline would end the comment.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

}  // namespace

std::string to_cmake(const Pick& pick) {
  const Configuration& choice = pick.choice();
  std::string shapes;
  for (const ShapePick& shape : pick.shapes) {
    const record::CellResult& best = *shape.candidates[shape.chosen].result;
    shapes +=
        fmt::format("#   {}: best {}/{}, {}\n", shape.shape.id(), to_string(best.cell.formulation),
                    best.cell.backend, format_seconds(best.time.median));
  }
  std::string borrowed;
  for (const std::string& line : borrowed_lines(pick)) {
    borrowed += fmt::format("# {}.\n", one_line(line));
  }
  const std::string open = no_answer(pick);
  return fmt::format(
      R"(# Written by headroom {version} pick; create it again if the shapes or the machine change.
# Measured on {machine}.
{borrowed}{shapes}{open}# {reason}.
#
#   include(this_file.cmake)
#   target_link_libraries(your_program PRIVATE headroom::pick)

set(HEADROOM_PICK_BACKEND "{backend}")
set(HEADROOM_PICK_FORMULATION "{formulation}")
set(HEADROOM_PICK_THREADS {threads})
set(HEADROOM_PICK_PRECISION "{precision}")
set(HEADROOM_PICK_DTYPE "{dtype}")
set(HEADROOM_PICK_WEIGHTS_DTYPE "{weights}")
set(HEADROOM_PICK_CACHE_DTYPE "{cache}")

if(NOT TARGET headroom::{backend})  # it exists if headroom is part of the project
  find_package(headroom REQUIRED COMPONENTS {backend})
endif()
if(NOT TARGET headroom_pick)
  add_library(headroom_pick INTERFACE)
  add_library(headroom::pick ALIAS headroom_pick)
  target_link_libraries(headroom_pick INTERFACE headroom::{backend})
  # For the fields of headroom::AttentionOptions that have these names in small letters.
  target_compile_definitions(headroom_pick INTERFACE
    HEADROOM_PICK_BACKEND="{backend}"
    HEADROOM_PICK_FORMULATION=headroom::Formulation::{formulation}
    HEADROOM_PICK_THREADS={threads}
    HEADROOM_PICK_PRECISION=headroom::Precision::{precision}
    HEADROOM_PICK_DTYPE=headroom::Dtype::{dtype}
    HEADROOM_PICK_WEIGHTS_DTYPE=headroom::Storage::{weights}
    HEADROOM_PICK_CACHE_DTYPE=headroom::Storage::{cache})
endif()
)",
      fmt::arg("version", HEADROOM_VERSION),
      fmt::arg("machine", one_line(measured_on(*pick.folder))), fmt::arg("borrowed", borrowed),
      fmt::arg("shapes", shapes),
      fmt::arg("open", open.empty() ? "" : fmt::format("# {}.\n", open)),
      fmt::arg("reason", one_line(reason(pick))), fmt::arg("backend", choice.backend),
      fmt::arg("formulation", to_string(choice.formulation)), fmt::arg("threads", choice.threads),
      fmt::arg("precision", to_string(choice.numbers.precision)),
      fmt::arg("dtype", to_string(choice.numbers.dtype)),
      fmt::arg("weights", to_string(choice.numbers.stored_weights())),
      fmt::arg("cache", to_string(choice.numbers.stored_cache())));
}

}  // namespace headroom::pick
