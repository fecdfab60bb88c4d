#!/usr/bin/env bash
# conan_test.sh <source> <work folder>
# The recipe for Conan: a package of it, and a project that takes the library from that package.
set -euo pipefail
# shellcheck source=tests/package/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source=$1 work=$2
CC=${CC:-cc} CXX=${CXX:-c++} CMAKE=${CMAKE:-cmake} BUILD_TYPE=Release FLAGS=""
fresh "$work"
python3 -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check 'conan>=2.10,<3'
conan=$work/venv/bin/conan
export CONAN_HOME=$work/home
"$conan" profile detect

settings=(--no-remote -s compiler.cppstd=20 -o 'headroom/*:shared=True' -o 'headroom/*:without=onednn')
"$conan" create "$source/cmake/conan" "${settings[@]}"

cp -r "$source/tests/consumer" "$work/consumer"
version=$("$conan" list 'headroom/*' --format=json | sed -n 's/.*"headroom\/\([0-9.]*\)".*/\1/p' | head -n 1)
printf '[requires]\nheadroom/%s\n[generators]\nCMakeToolchain\nCMakeDeps\n' "$version" >"$work/consumer/conanfile.txt"
"$conan" install "$work/consumer" "${settings[@]}" --output-folder "$work/conan"
configure "$work/consumer" "$work/build" -DCMAKE_TOOLCHAIN_FILE="$work/conan/conan_toolchain.cmake" \
  '-DCONSUMER_COMPONENTS=naive;autovec;xsimd;tbb'
"$CMAKE" --build "$work/build" --parallel 2
"$(dirname "$(command -v "$CMAKE")")/ctest" --test-dir "$work/build" --output-on-failure --no-tests=error

# What was left out is not there.
[[ -z "$(find "$CONAN_HOME" -path '*/p/lib/*' -name '*onednn*')" ]] || fail "onednn was built"
