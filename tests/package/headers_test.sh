#!/usr/bin/env bash
# headers_test.sh <include folder> <compiler> [<include folders of MPI>...]: every public header compiles alone, without warnings.
set -euo pipefail
# shellcheck source=tests/package/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
include=$1 compiler=$2
mpi=("${@:3}")
# The header of MPI is not ours to warn about.
mpi=("${mpi[@]/#/-isystem}" -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX)
command -v "$compiler" >/dev/null || skip "$compiler is not here"
warnings=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -fsyntax-only)

count=0
for header in "$include"/headroom/*; do
  # C does not allow a source without a declaration.
  text="#include <headroom/$(basename "$header")>"$'\n'"typedef int something;"
  "$compiler" -x c++ -std=c++20 "${warnings[@]}" "${mpi[@]}" -I "$include" - <<<"$text" ||
    fail "$(basename "$header") as C++20 with $compiler"
  if [[ "$header" == *.h ]]; then
    "$compiler" -x c -std=c11 "${warnings[@]}" -Wstrict-prototypes -I "$include" - <<<"$text" ||
      fail "$(basename "$header") as C11 with $compiler"
  fi
  count=$((count + 1))
done
((count > 5)) || fail "only $count headers in $include/headroom"
echo "$count headers with $("$compiler" --version | head -n 1)"
