#!/usr/bin/env bash
# partial_install_test.sh <source> <work folder> <headroom>: what `cmake --install` does where
# scripts/sweep built `headroom`, with archives, and nobody built the other programs.
set -euo pipefail
# shellcheck source=tests/package/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source=$1 work=$2 headroom=$3
fresh "$work"

configure "$source" "$work/build" -DHEADROOM_BUILD_TESTS=OFF -DBUILD_SHARED_LIBS=OFF >"$work/log" 2>&1 ||
  fail "cannot configure: $(tail -n 20 "$work/log")"
cp "$headroom" "$work/build/headroom"
"$CMAKE" --install "$work/build" --component tools --prefix "$work/prefix" >"$work/log" 2>&1 ||
  fail "cmake --install: $(tail -n 5 "$work/log")"
[[ -x "$work/prefix/bin/headroom" ]] || fail "headroom is not installed"
[[ ! -e "$work/prefix/bin/headroom-bench" ]] || fail "headroom-bench is installed, which nobody built"

# Without headroom itself there is nothing to install.
rm "$work/build/headroom"
if "$CMAKE" --install "$work/build" --component tools --prefix "$work/prefix" >"$work/log" 2>&1; then
  fail "installed without headroom"
fi

# Packages are made of shared libraries, and must not lack a program without a word.
configure "$source" "$work/shared" -DHEADROOM_BUILD_TESTS=OFF -DBUILD_SHARED_LIBS=ON >"$work/log" 2>&1 ||
  fail "cannot configure: $(tail -n 20 "$work/log")"
grep -q headroom-bench "$work/shared/cmake_install.cmake" || fail "headroom-bench is not in the package"
! grep OPTIONAL "$work/shared/cmake_install.cmake" || fail "a package may lack what is not built"
