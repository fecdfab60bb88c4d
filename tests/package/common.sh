# shellcheck shell=bash
# Shared by the tests of the installed package; sourced, never run.
# The environment brings CC, CXX, CMAKE, BUILD_TYPE and the FLAGS of the tree under test, because a
# program has to be built like the library that it links.

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

skip() {
  echo "skipped: $*"
  exit 77
}

# configure <source> <build> [options...]: with the compilers and flags of the tree under test.
configure() {
  local source=$1 build=$2
  shift 2
  "$CMAKE" -S "$source" -B "$build" -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" \
    -DCMAKE_BUILD_TYPE="$BUILD_TYPE" -DCMAKE_CXX_FLAGS="$FLAGS" -DCMAKE_C_FLAGS="$FLAGS" "$@"
}

# fresh <folder>: empty and there.
fresh() {
  "$CMAKE" -E rm -rf "$1"
  mkdir -p "$1"
}
