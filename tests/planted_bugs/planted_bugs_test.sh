#!/usr/bin/env bash
# planted_bugs_test.sh <source> <work folder>: scripts/planted-bugs on a small project of its own:
# what it says of bugs that are caught, survive and do not build, that it goes on where it was, and the
# page that it writes.
set -euo pipefail
source=$(realpath "$1") work=$(realpath -m "$2")

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

for program in cmake ninja git sha256sum; do
  command -v "$program" >/dev/null || { echo "skipped: there is no $program" && exit 77; }
done
rm -rf "$work" && mkdir -p "$work/tree/scripts" "$work/tree/src" "$work/tree/tests/planted_bugs" "$work/tree/reports"
cd "$work/tree"
cp "$source/scripts/planted-bugs" "$source/scripts/common.sh" scripts
cat >CMakeLists.txt <<'EOF'
cmake_minimum_required(VERSION 3.25)
project(small CXX)
enable_testing()
foreach(name IN ITEMS first second)
  add_executable(${name}_test src/${name}.cpp)
  add_test(NAME ${name}_test.works COMMAND ${name}_test)
endforeach()
EOF
for name in first second; do
  printf '%s\n' 'int main() {' '  const int three = 3;' '  const int spare = 4;' \
    '  return three == 3 && spare > 1 ? 0 : 1;' '}' >"src/$name.cpp"
done
# bug <name> <file> <old> <new>
bug() {
  printf 'bug: %s\nfile: src/%s.cpp\n- %s\n+ %s\nbuild: %s_test\ntest: ^%s_test\n\n' "$1" "$2" "$3" "$4" "$2" "$2"
}
list() {
  bug "three is two" first "three = 3;" "three = 2;"
  bug "the spare is another" first "spare = 4;" "spare = 5;"
  bug "no C++" second "three = 3;" "three = ;"
  bug "the other three" second "three = 3;" "three = 1;"
}
list >tests/planted_bugs/list.txt
git init --quiet .
git -c user.name=test -c user.email=test@example.invalid add . >/dev/null
git -c user.name=test -c user.email=test@example.invalid commit --quiet --message start

# run <jobs> <folder> <arguments...>: with the answer in $work/answer and what it said in $work/said.
run() {
  local jobs=$1
  shift
  HEADROOM_PLANTED_JOBS=$jobs bash scripts/planted-bugs "$@" >"$work/answer" 2>"$work/said"
}

expect() { grep -qF -- "$1" "$2" || fail "no '$1' in: $(cat "$2")"; }

# shellcheck disable=SC2016  # code of a page
for jobs in 1 2; do
  copy="$work/copy-$jobs"
  if run "$jobs" "$copy"; then fail "with a bug that survives it ended with 0"; fi
  expect '| 1 | `src/first.cpp` | three is two | caught | `first_test.works` |' "$work/answer"
  expect '| 2 | `src/first.cpp` | the spare is another | survived |  |' "$work/answer"
  expect '| 3 | `src/second.cpp` | no C++ | did not build |  |' "$work/answer"
  expect '| 4 | `src/second.cpp` | the other three | caught | `second_test.works` |' "$work/answer"
  expect "2 of 4 caught" "$work/answer"
  expect "0 of 4 bugs are done already" "$work/said"
  # Nothing of a bug is left.
  cmp -s src/first.cpp "$copy/tree/src/first.cpp" || fail "a bug is left in the copy"

  # A second time nothing is built; a bug that is new is tried alone.
  if run "$jobs" "$copy" 1 4; then :; else fail "two bugs that are caught: $(cat "$work/answer")"; fi
  expect "2 of 2 bugs are done already" "$work/said"
  bug "a spare of one" first "spare = 4;" "spare = 1;" >>tests/planted_bugs/list.txt
  if run "$jobs" "$copy" --page; then fail "--page behind a folder was taken"; fi
  if run "$jobs" --page "$copy"; then fail "the page ended with 0"; fi
  expect "4 of 5 bugs are done already" "$work/said"
  expect "**3 of 5 were caught.**" reports/planted-bugs.md
  expect "- 2, the spare is another (\`src/first.cpp\`): survived" reports/planted-bugs.md
  expect "$(date -u +%Y-)" reports/planted-bugs.md
  expect "$(git rev-parse --short=12 HEAD), with changes" reports/planted-bugs.md
  expect '| 5 | `src/first.cpp` | a spare of one | caught | `first_test.works` |' reports/planted-bugs.md

  # Other sources are another matter.
  echo '// another line' >>src/second.cpp
  run "$jobs" "$copy" 1 || fail "bug 1 in other sources"
  expect "0 of 1 bugs are done already" "$work/said"
  git checkout --quiet .
done

# Where a test is red without a bug, nothing is said of bugs.
sed -i 's/three = 3/three = 8/' src/second.cpp
bug "three is two" first "three = 3;" "three = 2;" >tests/planted_bugs/list.txt
bug "none" second "spare = 4;" "spare = 9;" >>tests/planted_bugs/list.txt
if run 1 "$work/copy-1"; then fail "a test that is red without a bug was taken"; fi
expect "without a bug: red" "$work/said"
echo "all as it should be"
