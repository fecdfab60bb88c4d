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
"$(dirname "$CMAKE")/ctest" --test-dir "$work/build" --output-on-failure --no-tests=error

# A program carries the libraries of its own backend only.
for component in "$@"; do
  needed=$(ldd "$work/build/consumer-$component")
  for library in dnnl:onednn tbb:tbb; do
    [[ "${library#*:}" == "$component" ]] && continue
    ! grep "lib${library%:*}\." <<<"$needed" ||
      fail "a program that links headroom::$component alone needs lib${library%:*}"
  done
done

# The same with pkg-config.
if command -v pkg-config >/dev/null; then
  export PKG_CONFIG_PATH="$prefix/$libdir/pkgconfig"
  read -ra flags <<<"$FLAGS $(pkg-config --cflags headroom-core)"
  "$CXX" -std=c++20 "${flags[@]}" -c "$work/source/layer.cpp" -o "$work/layer.o"
  for component in "$@"; do
    read -ra flags <<<"$FLAGS $(pkg-config --libs "headroom-$component")"
    "$CXX" "$work/layer.o" -o "$work/layer-$component" "${flags[@]}"
    LD_LIBRARY_PATH="$prefix/$libdir" "$work/layer-$component" "$component"
  done
fi

# A missing component is reported with what to install.
refused() {
  local components=$1 message=$2
  local project="$work/refused-$languages"
  mkdir -p "$project"
  printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' "project(refused LANGUAGES $languages)" \
    "find_package(headroom REQUIRED COMPONENTS $components)" >"$project/CMakeLists.txt"
  local answer
  if answer=$(configure "$project" "$project/build" -Uheadroom_DIR -DCMAKE_PREFIX_PATH="$copy" 2>&1); then
    fail "find_package took '$components'"
  fi
  tr -s '\n ' '  ' <<<"$answer" | grep -F "$message" ||
    fail "find_package refused '$components' without '$message': $answer"
}
copy=$prefix languages=CXX
refused "$1 cuda" "component cuda: there is no such component; allowed: naive, autovec, xsimd"

# Archives of C++ cannot be linked by a project of C alone.
if [[ -e "$prefix/$libdir/libheadroom-core.a" ]]; then
  languages=C
  refused "$1" "enable it: project(... LANGUAGES C CXX)"
  languages=CXX
fi

# As if the package of that component alone were not installed, and then as if it were never built.
copy=$work/copy
cp -r "$prefix" "$copy"
rm "$copy/$libdir/libheadroom-naive".*
refused naive "install libheadroom-naive"
if [[ " $* " == *" tbb "* ]]; then
  rm "$copy/$libdir/cmake/headroom/headroom-tbb.cmake"
  refused tbb "component tbb: this copy of headroom was built without it; install libtbb-dev"
fi
