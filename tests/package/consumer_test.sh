#!/usr/bin/env bash
# consumer_test.sh <prefix> <source> <work folder> <libdir> <components...>
# tests/consumer, outside the tree, against the copy of headroom that is installed in <prefix>.
set -euo pipefail
# shellcheck source=tests/package/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
prefix=$1 source=$2 work=$3 libdir=$4
shift 4
fresh "$work"
cp -r "$source/tests/consumer" "$work/source"

configure "$work/source" "$work/build" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCONSUMER_COMPONENTS="$(IFS=';'; echo "$*")"
"$CMAKE" --build "$work/build" --parallel 2
for component in "$@"; do "$work/build/consumer-$component" "$component"; done
"$work/build/consumer-all" "$@"
"$work/build/consumer-c" "$1"

# A program carries the libraries of its own backend only.
for component in "$@"; do
  needed=$(ldd "$work/build/consumer-$component")
  for library in dnnl:onednn tbb:tbb; do
    [[ "${library#*:}" == "$component" ]] && continue
    ! grep "lib${library%:*}\." <<<"$needed" ||
      fail "a program that links headroom::$component alone needs lib${library%:*}"
  done
done

# What cannot be had is told with what to install.
refused() {
  local components=$1 message=$2
  mkdir -p "$work/refused"
  printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(refused LANGUAGES CXX)' \
    "find_package(headroom REQUIRED COMPONENTS $components)" >"$work/refused/CMakeLists.txt"
  local answer
  if answer=$(configure "$work/refused" "$work/refused/build" --fresh -DCMAKE_PREFIX_PATH="$copy" 2>&1); then
    fail "find_package took '$components'"
  fi
  tr -s '\n ' '  ' <<<"$answer" | grep -F "$message" ||
    fail "find_package refused '$components' without '$message': $answer"
}
copy=$prefix
refused "$1 cuda" "component cuda: there is no such component; allowed: naive, autovec, xsimd"

# As if the package of that component alone were not installed, and then as if it were never built.
copy=$work/copy
cp -r "$prefix" "$copy"
rm "$copy/$libdir/libheadroom-naive".*
refused naive "install libheadroom-naive"
if [[ " $* " == *" tbb "* ]]; then
  rm "$copy/$libdir/cmake/headroom/headroom-tbb.cmake"
  refused tbb "component tbb: this copy of headroom was built without it; install libtbb-dev"
fi
