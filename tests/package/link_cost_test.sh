#!/usr/bin/env bash
# link_cost_test.sh <folder> <work folder> <headroom>: what `headroom pick` says that a program needs
# at run time is what the shared libraries of headroom in <folder> need.
set -euo pipefail
# shellcheck source=tests/package/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
libraries=$1 work=$2 headroom=$3
for program in dpkg-query ldd; do
  command -v "$program" >/dev/null || skip "there is no $program"
done
fresh "$work"
"$headroom" sweep --backend all --formulation split --heads 1 --head-dim 4 --tokens 2 --threads 1 \
  --repetitions 2 --min-time 0.0001 --out "$work/results" >"$work/log" 2>&1 || fail "$(tail -n 5 "$work/log")"
"$headroom" pick --from "$work/results" >"$work/pick"

# What every C++ program has, and headroom's own.
everywhere='^(lib(c|m|stdc\+\+|gcc_s|pthread|dl|rt|headroom-[a-z]*)\.so|ld-linux|linux-vdso)'

# packages_of <library>: the Debian packages of all that it needs.
packages_of() {
  local name path
  ldd "$1" | while read -r name _ path _; do
    [[ "$name" =~ $everywhere || "$path" != /* ]] && continue
    path=$(realpath "$path")
    dpkg-query --search "$path" 2>/dev/null || dpkg-query --search "${path#/usr}"
  done | sed 's/[:,].*//' | sort -u
}

count=0
for library in "$libraries"/libheadroom-*.so; do
  backend=$(basename "$library" .so)
  backend=${backend#libheadroom-}
  # Lines such as "  tbb            libfmt9, libtbb12 (356.1 KiB); to build: libtbb-dev".
  said=$(sed -n "/^to link/,\$s/^  $backend  *\(.*\); to build:.*/\1/p" "$work/pick")
  [[ -n "$said" ]] || continue # the core, and what is no backend
  found=$(sed 's/ (.*//; s/, /\n/g' <<<"$said" | sort -u)
  needed=$(packages_of "$library")
  [[ "$found" == "${needed:-nothing}" ]] ||
    fail "pick says of $backend: $said; its library needs: ${needed:-nothing}"
  echo "$backend: $said"
  count=$((count + 1))
done
((count > 0)) || fail "pick says nothing of any library in $libraries"
