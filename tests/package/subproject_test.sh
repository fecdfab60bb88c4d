#!/usr/bin/env bash
# subproject_test.sh <source> <work folder> <ON|OFF>
# headroom inside another project, with shared libraries or archives, as docs/link.md shows it. What
# is built that way is installed for the tests that follow.
set -euo pipefail
# shellcheck source=tests/package/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=tests/package/readme.sh
source "$(dirname "${BASH_SOURCE[0]}")/readme.sh"
source=$1 work=$2 shared=$3
fresh "$work"

# A user has none of what only the programs and tests need.
for package in GTest CLI11 benchmark; do
  disabled+=("-DCMAKE_DISABLE_FIND_PACKAGE_$package=ON")
done

# project_as_readme_says <name> [options...]
project_as_readme_says() {
  local name=$1
  shift
  readme_project "$source" "$name.cmake" "$work/$name"
  ln -s "$source" "$work/$name/headroom"
  configure "$work/$name" "$work/$name/build" -DBUILD_SHARED_LIBS="$shared" "${disabled[@]}" "$@"
}

# Configured only: what is built is the same as below, and takes a minute.
project_as_readme_says add_subdirectory

# How fast the result is does not matter here, but how long it takes to compile does: low tiles are the same code, and
# the levels are those of this processor.
BUILD_TYPE='' FLAGS="$FLAGS -O0 -DHEADROOM_LOW_TILES" project_as_readme_says fetch_content \
  -DFETCHCONTENT_SOURCE_DIR_HEADROOM="$source" -DHEADROOM_INSTALL=ON -DHEADROOM_LEVELS=native
"$CMAKE" --build "$work/fetch_content/build" --parallel 2
"$work/fetch_content/build/app"
"$CMAKE" --install "$work/fetch_content/build" --prefix "$work/prefix"
