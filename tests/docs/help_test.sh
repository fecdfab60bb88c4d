#!/usr/bin/env bash
# help_test.sh <source> <work folder>: scripts/sweep and scripts/test print their help at once. In a
# copy of the scripts, where whatever would set up or build leaves a trace.
set -euo pipefail
source=$1 work=$2

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

rm -rf "$work" && mkdir -p "$work/tree" "$work/path"
cp -r "$source/scripts" "$work/tree/scripts"
for program in tree/scripts/setup path/cmake path/ctest path/apt-get; do
  printf '#!/bin/sh\necho "%s" >>"%s/started"\n' "$program" "$work" >"$work/$program"
  chmod +x "$work/$program"
done

# helps <script> <arguments...>: prints help on standard output, ends with 0 and starts nothing.
helps() {
  local answer
  answer=$(cd "$work" && PATH="$work/path:$PATH" bash "$work/tree/scripts/$1" "${@:2}") ||
    fail "scripts/$* ended with $?"
  [[ ! -e "$work/started" ]] || fail "scripts/$* started $(tr '\n' ' ' <"$work/started")"
  grep -q -- '--help' <<<"$answer" || fail "scripts/$* printed no help: $answer"
  echo "$answer"
}

for arguments in --help -h "--library --help" "-R layer -h"; do
  # shellcheck disable=SC2086  # several words
  grep -q -- --library <<<"$(helps test $arguments)" || fail "scripts/test $arguments does not name its options"
done
for arguments in --help -h "--heads 2 --help"; do
  # shellcheck disable=SC2086
  answer=$(helps sweep $arguments)
  page=$(grep -o 'docs/[a-z]*\.md' <<<"$answer") || fail "scripts/sweep $arguments names no page"
  [[ -e "$source/$page" ]] || fail "scripts/sweep $arguments names $page, which is not there"
done

# Once it is built, the program knows its options best.
mkdir "$work/tree/build"
printf '#!/bin/sh\necho "program: $*"\n' >"$work/tree/build/headroom"
chmod +x "$work/tree/build/headroom"
grep -qx 'program: sweep --help' <<<"$(helps sweep --help)" ||
  fail "scripts/sweep --help does not ask the program"
