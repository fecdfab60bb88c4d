# Headers of other projects, parsed once instead of once in every file. A file that includes less than
# it needs may compile with them; scripts/test --clang and scripts/lint do without and find it.

option(HEADROOM_PCH "Precompile the headers of other projects" OFF)

# A compiler cache cannot tell what a file takes from a precompiled header, and would give up.
set(HEADROOM_PRECOMPILE ${HEADROOM_PCH})
if(HEADROOM_PCH AND CMAKE_CXX_COMPILER_LAUNCHER)
  message(STATUS "headroom: nothing is precompiled, because ${CMAKE_CXX_COMPILER_LAUNCHER} is used")
  set(HEADROOM_PRECOMPILE OFF)
endif()

# headroom_precompile(<name> HEADERS <headers...> LIBRARIES <targets...> [OPTIONS <flags...>])
# Headers for all targets that are compiled with the same flags.
function(headroom_precompile name)
  if(NOT HEADROOM_PRECOMPILE)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "HEADERS;LIBRARIES;OPTIONS" ${ARGN})
  set(empty ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  file(CONFIGURE OUTPUT ${empty} CONTENT "")
  add_library(headroom_${name} OBJECT ${empty})
  headroom_configure(headroom_${name})
  target_link_libraries(headroom_${name} PRIVATE ${arg_LIBRARIES})
  target_compile_options(headroom_${name} PRIVATE ${arg_OPTIONS})
  target_precompile_headers(headroom_${name} PRIVATE
    <algorithm> <array> <chrono> <cmath> <cstdint> <filesystem> <fstream> <functional> <map> <memory>
    <optional> <random> <set> <span> <sstream> <string> <string_view> <utility> <vector>
    ${arg_HEADERS})
endfunction()

# headroom_use_precompiled(<target> <name>): never for files compiled per instruction set, which
# share nothing with others.
function(headroom_use_precompiled target name)
  if(HEADROOM_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM headroom_${name})
  endif()
endfunction()

# headroom_compile_together(<target> <precompiled>): eight files as one, so that templates of other
# projects are instantiated once for all of them. An edit costs no more than one file did alone.
function(headroom_compile_together target precompiled)
  if(HEADROOM_PRECOMPILE AND (CMAKE_BUILD_TYPE STREQUAL "Release" OR CMAKE_CXX_FLAGS MATCHES "-fsanitize"))
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
  headroom_use_precompiled(${target} ${precompiled})
endfunction()

# What neither takes samples nor computes much need not be fast, and is compiled in two thirds of the
# time.
set(HEADROOM_UNHURRIED $<$<CONFIG:Release>:-O1>)

# headroom_compile_quickly(<target> <precompiled>): both.
function(headroom_compile_quickly target precompiled)
  target_compile_options(${target} PRIVATE ${HEADROOM_UNHURRIED})
  headroom_compile_together(${target} ${precompiled})
endfunction()
