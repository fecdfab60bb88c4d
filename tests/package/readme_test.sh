#!/usr/bin/env bash
# readme_test.sh <prefix> <source> <work folder> <libdir>
# The examples of README.md and docs/, against the copy of headroom that is installed in <prefix>.
set -euo pipefail
# shellcheck source=tests/package/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=tests/package/readme.sh
source "$(dirname "${BASH_SOURCE[0]}")/readme.sh"
prefix=$1 source=$2 work=$3 libdir=$4
fresh "$work"

readme_project "$source" find_package.cmake "$work/find_package"
configure "$work/find_package" "$work/find_package/build" -DCMAKE_PREFIX_PATH="$prefix"
"$CMAKE" --build "$work/find_package/build"
"$work/find_package/build/app"

# What a page says that a program prints, it prints, in a clone as everything else.
programs=$(readme_programs "$source")
[[ -n "$programs" ]] || fail "no page shows what a program prints"
while read -r name; do
  readme_project "$source" find_package.cmake "$work/$name" "$name.cpp"
  configure "$work/$name" "$work/$name/build" -DCMAKE_PREFIX_PATH="$prefix"
  "$CMAKE" --build "$work/$name/build"
  (cd "$source" && "$work/$name/build/app") >"$work/$name/printed"
  diff <(readme_example "$source" "$name.txt") "$work/$name/printed" ||
    fail "$name.cpp prints something else than its page says"
done <<<"$programs"

command -v pkg-config >/dev/null || skip "pkg-config is not here; the CMake example passed"
readme_example "$source" app.cpp >"$work/app.cpp"
readme_example "$source" app.c >"$work/app.c"
readme_example "$source" pkg-config >"$work/commands"
sed -i -e "s|^c++ |$CXX $FLAGS |" -e "s|^cc |$CC $FLAGS |" "$work/commands"
cd "$work"
export PKG_CONFIG_PATH="$prefix/$libdir/pkgconfig" LD_LIBRARY_PATH="$prefix/$libdir"
bash -eux commands
./app
./app-c
