#!/usr/bin/env bash
# mpi_test.sh <prefix> <source> <work folder> <mpiexec>
# The example of docs/ranks.md, against the copy of headroom that is installed in <prefix>, on two ranks.
set -euo pipefail
# shellcheck source=tests/package/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=tests/package/readme.sh
source "$(dirname "${BASH_SOURCE[0]}")/readme.sh"
prefix=$1 source=$2 work=$3 mpiexec=$4
fresh "$work"

readme_project "$source" find_package_mpi.cmake "$work" ranks.cpp
configure "$work" "$work/build" -DCMAKE_PREFIX_PATH="$prefix"
"$CMAKE" --build "$work/build"
"$mpiexec" -n 2 "$work/build/app" >"$work/printed"
diff <(readme_example "$source" ranks.printed) "$work/printed" || fail "ranks.cpp prints something else than docs/ranks.md says"

# Nobody who did not ask for MPI has to have it.
mkdir -p "$work/without"
printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(without LANGUAGES CXX)' \
  'find_package(headroom REQUIRED)' 'if(TARGET headroom::mpi OR MPI_CXX_FOUND)' \
  '  message(FATAL_ERROR "find_package(headroom) looked for MPI without being asked")' 'endif()' \
  >"$work/without/CMakeLists.txt"
configure "$work/without" "$work/without/build" -DCMAKE_PREFIX_PATH="$prefix"
