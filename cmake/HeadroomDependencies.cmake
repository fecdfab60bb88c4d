# Finds the project's dependencies. Each backend's library is optional: AUTO uses it if found.

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)

# headroom_decide(<PART> <what to install> <found>): ON without the library is an error that names
# what to install. Sets HEADROOM_HAVE_<PART>.
function(headroom_decide part package found)
  set(have OFF)
  if(NOT HEADROOM_WITH_${part} STREQUAL "OFF")
    if(found)
      set(have ON)
    elseif(HEADROOM_WITH_${part} STREQUAL "ON")
      message(FATAL_ERROR "headroom: HEADROOM_WITH_${part} is ON, but its library was not "
        "found; on Debian install ${package}")
    else()
      message(STATUS "headroom: ${part} is left out; to get it, install ${package}")
    endif()
  endif()
  set(HEADROOM_HAVE_${part} ${have} PARENT_SCOPE)
endfunction()

# The xsimd target of 8.1 links a library that Debian does not install (xtl), so our own target uses
# only its headers.
find_path(HEADROOM_XSIMD_INCLUDE_DIR xsimd/xsimd.hpp)
mark_as_advanced(HEADROOM_XSIMD_INCLUDE_DIR)
headroom_decide(XSIMD libxsimd-dev "${HEADROOM_XSIMD_INCLUDE_DIR}")
if(HEADROOM_HAVE_XSIMD)
  add_library(headroom_xsimd_headers INTERFACE)
  target_include_directories(headroom_xsimd_headers SYSTEM INTERFACE
    $<BUILD_INTERFACE:${HEADROOM_XSIMD_INCLUDE_DIR}>)
endif()

find_package(TBB CONFIG QUIET)
headroom_decide(TBB libtbb-dev "${TBB_FOUND}")
if(HEADROOM_HAVE_TBB AND NOT HEADROOM_HAVE_XSIMD)
  message(FATAL_ERROR "headroom: the tbb backend runs the xsimd kernels; install libxsimd-dev or "
    "set HEADROOM_WITH_TBB=OFF")
endif()

# Debian's dnnl package needs OpenCL, so its own search may fail although dnnl is installed.
find_package(dnnl CONFIG QUIET)
set(onednn_packages "libdnnl-dev ocl-icd-opencl-dev")
set(onednn_found ${dnnl_FOUND})
if(dnnl_FOUND AND NOT DNNL_CPU_RUNTIME STREQUAL "SEQ")
  # The thread count of each call is set through the runtime that oneDNN itself uses.
  find_package(OpenMP QUIET COMPONENTS CXX)
  if(NOT DNNL_CPU_RUNTIME STREQUAL "OMP")
    set(onednn_found FALSE)
    set(onednn_packages "a oneDNN on OpenMP; this one is on ${DNNL_CPU_RUNTIME}")
  elseif(NOT OpenMP_CXX_FOUND)
    set(onednn_found FALSE)
    set(onednn_packages "OpenMP for ${CMAKE_CXX_COMPILER_ID}, for clang libomp-dev")
  endif()
endif()
headroom_decide(ONEDNN "${onednn_packages}" "${onednn_found}")

# Heads over the ranks of a communicator. The deprecated C++ bindings of MPI are left out: they would
# need a library of their own.
if(NOT HEADROOM_WITH_MPI STREQUAL "OFF")
  find_package(MPI 3.0 QUIET COMPONENTS CXX)
endif()
headroom_decide(MPI libopenmpi-dev "${MPI_CXX_FOUND}")

if(HEADROOM_BUILD_BENCHMARKS OR HEADROOM_BUILD_TESTS)
  find_package(benchmark REQUIRED)
  find_package(CLI11 REQUIRED)
  find_package(ZLIB REQUIRED)
  find_path(HEADROOM_HWLOC_INCLUDE_DIR hwloc.h REQUIRED)
  find_library(HEADROOM_HWLOC_LIBRARY hwloc REQUIRED)
  mark_as_advanced(HEADROOM_HWLOC_INCLUDE_DIR HEADROOM_HWLOC_LIBRARY)
  add_library(headroom_hwloc INTERFACE)
  target_include_directories(headroom_hwloc SYSTEM INTERFACE ${HEADROOM_HWLOC_INCLUDE_DIR})
  target_link_libraries(headroom_hwloc INTERFACE ${HEADROOM_HWLOC_LIBRARY})
  find_path(HEADROOM_BOOST_INCLUDE_DIR boost/math/distributions/students_t.hpp REQUIRED)
  mark_as_advanced(HEADROOM_BOOST_INCLUDE_DIR)
  add_library(headroom_boost_math INTERFACE)
  target_include_directories(headroom_boost_math SYSTEM INTERFACE ${HEADROOM_BOOST_INCLUDE_DIR})
endif()
if(HEADROOM_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
