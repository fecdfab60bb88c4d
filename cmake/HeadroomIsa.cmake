# Compiles one source once per instruction-set level, so that a single binary runs everywhere.

set(HEADROOM_LEVELS all CACHE STRING
  "Instruction sets to compile for: all, native (the highest of this machine alone, for a first build in a hurry), or \
the name of one")
set_property(CACHE HEADROOM_LEVELS PROPERTY STRINGS all native sse42 avx2 avx512)
if(NOT HEADROOM_LEVELS MATCHES "^(all|native|sse42|avx2|avx512)$")
  message(FATAL_ERROR "headroom: HEADROOM_LEVELS is '${HEADROOM_LEVELS}'; allowed are all, native, sse42, avx2 and "
    "avx512")
endif()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  set(HEADROOM_ISAS sse42 avx2 avx512)
  set(HEADROOM_UNITS avx512_bf16 amx)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(HEADROOM_ISAS neon)
  set(HEADROOM_UNITS "")
else()
  message(FATAL_ERROR "headroom: processor '${CMAKE_SYSTEM_PROCESSOR}' is not supported; "
    "allowed are x86-64 and aarch64")
endif()

# What a processor must announce in /proc/cpuinfo for each level and unit: as in processor/isa.cpp.
set(HEADROOM_ISA_NEEDS_sse42 sse4_2)
set(HEADROOM_ISA_NEEDS_avx2 avx2 fma)
set(HEADROOM_ISA_NEEDS_avx512 avx512f avx512cd avx512dq avx512bw avx512vl fma)
set(HEADROOM_UNIT_NEEDS_avx512_bf16 avx512_bf16)
set(HEADROOM_UNIT_NEEDS_amx amx_tile)

# headroom_processor_has(<variable> <flags...>): whether this machine announces all of them.
function(headroom_processor_has variable)
  file(STRINGS /proc/cpuinfo announced REGEX "^flags" LIMIT_COUNT 1)
  set(${variable} ON PARENT_SCOPE)
  foreach(flag IN LISTS ARGN)
    if(NOT " ${announced} " MATCHES " ${flag} ")
      set(${variable} OFF PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# Elsewhere, and when compiling for another machine, nothing is known of the processor.
if(HEADROOM_LEVELS STREQUAL "native" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64"
    AND NOT CMAKE_CROSSCOMPILING AND EXISTS /proc/cpuinfo)
  foreach(isa IN LISTS HEADROOM_ISAS)
    headroom_processor_has(has ${HEADROOM_ISA_NEEDS_${isa}})
    if(has)
      set(native_isa ${isa})
    endif()
  endforeach()
  if(DEFINED native_isa)
    set(HEADROOM_ISAS ${native_isa})
  endif()
  foreach(unit IN LISTS HEADROOM_UNITS)
    headroom_processor_has(has ${HEADROOM_UNIT_NEEDS_${unit}})
    if(NOT has OR NOT "avx512" IN_LIST HEADROOM_ISAS)
      list(REMOVE_ITEM HEADROOM_UNITS ${unit})
    endif()
  endforeach()
  if("avx512" IN_LIST HEADROOM_ISAS)
    headroom_processor_has(HEADROOM_VNNI_ALONE avx512_vnni)
  endif()
  message(STATUS "headroom: for this processor alone: ${HEADROOM_ISAS} ${HEADROOM_UNITS}; "
    "-DHEADROOM_LEVELS=all compiles for every machine")
elseif(HEADROOM_LEVELS IN_LIST HEADROOM_ISAS)
  set(HEADROOM_ISAS ${HEADROOM_LEVELS})
  if(NOT HEADROOM_LEVELS STREQUAL "avx512")
    set(HEADROOM_UNITS "")
  endif()
endif()

# What the code asks for: see processor/built_levels.hpp.in.
list(TRANSFORM HEADROOM_ISAS REPLACE "(.+)" "each(\\1)" OUTPUT_VARIABLE each_level)
list(TRANSFORM HEADROOM_UNITS REPLACE "(.+)" "each(\\1)" OUTPUT_VARIABLE each_unit)
list(JOIN each_level " " HEADROOM_EACH_LEVEL)
list(JOIN each_unit " " HEADROOM_EACH_UNIT)
set(HEADROOM_BUILT_LEVELS_FOLDER ${PROJECT_BINARY_DIR}/src/library)
configure_file(${PROJECT_SOURCE_DIR}/src/library/processor/built_levels.hpp.in
  ${HEADROOM_BUILT_LEVELS_FOLDER}/built_levels.hpp @ONLY)

# Single features instead of -march levels: exactly those that machine/isa.cpp tests for.
set(HEADROOM_ISA_FLAGS_sse42 -msse4.2)
set(HEADROOM_ISA_FLAGS_avx2 -mavx2 -mfma -mtune=haswell)
set(HEADROOM_ISA_FLAGS_avx512 -mavx512f -mavx512cd -mavx512dq -mavx512bw -mavx512vl -mfma
  -mtune=skylake-avx512)
set(HEADROOM_ISA_FLAGS_neon "")

# A pointer that leaves its buffer is noticed where it is read, and this check alone makes the compiler
# take five times as long.
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=[a-z,]*undefined")
  set(HEADROOM_ISA_SANITIZER_FLAGS -fno-sanitize=pointer-overflow)
endif()

# headroom_add_isa_sources(<target> <source> [flags...])
# Adds to <target> the objects of <source>, compiled once per level with HEADROOM_ISA_<LEVEL> and
# HEADROOM_ISA_NAMESPACE defined. All code of such a file must live in that namespace: an inline
# function shared with other files could be kept in its widest copy and crash older machines.
# Never built for link-time optimisation, for the same reason.
function(headroom_add_isa_sources target source)
  foreach(isa IN LISTS HEADROOM_ISAS)
    headroom_add_isa_objects(${target} ${source} ${isa} ${isa} ${ARGN})
  endforeach()
endfunction()

# headroom_add_isa_unit(<target> <source> <level> <namespace> <definition> [flags...])
# The same for one unit of processors that have <level>, in a namespace of its own.
function(headroom_add_isa_unit target source isa namespace definition)
  headroom_add_isa_objects(${target} ${source} ${isa} ${namespace} ${ARGN} -D${definition}=1)
endfunction()

function(headroom_add_isa_objects target source isa namespace)
  get_filename_component(stem ${source} NAME_WE)
  set(objects ${target}_${stem}_${namespace})
  add_library(${objects} OBJECT ${source})
  headroom_configure(${objects})
  string(TOUPPER ${isa} upper)
  target_compile_definitions(${objects} PRIVATE
    HEADROOM_ISA_${upper}=1 HEADROOM_ISA_NAMESPACE=${namespace})
  target_compile_options(${objects} PRIVATE
    ${HEADROOM_ISA_FLAGS_${isa}} ${ARGN} ${HEADROOM_ISA_SANITIZER_FLAGS})
  set_target_properties(${objects} PROPERTIES
    INTERPROCEDURAL_OPTIMIZATION OFF HEADROOM_NAMESPACE ${namespace})
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
  set_property(GLOBAL APPEND PROPERTY HEADROOM_ISA_OBJECTS ${objects})
endfunction()
