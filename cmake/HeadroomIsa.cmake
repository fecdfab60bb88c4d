# Compiles one source once per instruction-set level, so that a single binary runs everywhere.

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  set(HEADROOM_ISAS sse42 avx2 avx512)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(HEADROOM_ISAS neon)
else()
  message(FATAL_ERROR "headroom: processor '${CMAKE_SYSTEM_PROCESSOR}' is not supported; "
    "allowed are x86-64 and aarch64")
endif()

# Single features instead of -march levels: exactly those that machine/isa.cpp tests for.
set(HEADROOM_ISA_FLAGS_sse42 -msse4.2)
set(HEADROOM_ISA_FLAGS_avx2 -mavx2 -mfma -mtune=haswell)
set(HEADROOM_ISA_FLAGS_avx512 -mavx512f -mavx512cd -mavx512dq -mavx512bw -mavx512vl -mfma
  -mtune=skylake-avx512)
set(HEADROOM_ISA_FLAGS_neon "")

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
  target_compile_options(${objects} PRIVATE ${HEADROOM_ISA_FLAGS_${isa}} ${ARGN})
  set_target_properties(${objects} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
  set_property(GLOBAL APPEND PROPERTY HEADROOM_ISA_OBJECTS ${objects})
endfunction()
