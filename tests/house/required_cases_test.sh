#!/usr/bin/env bash
# required_cases_test.sh <backends> <levels> <programs...>
#   Every program has a case of each backend that was built, at each level that it was built for and that this
#   processor has, and none of them is skipped. Both are known from elsewhere than the library, which may be wrong: from
#   CMake and from /proc/cpuinfo. Otherwise a level that detection loses would be "skipped", or have no test at all.
#   backends and levels are separated by commas. Run besides, for each program: one small test of every case.
set -uo pipefail
export LC_ALL=C
IFS=, read -ra backends <<<"$1"
IFS=, read -ra levels <<<"$2"
shift 2
cpuinfo=${HEADROOM_TEST_CPUINFO:-/proc/cpuinfo}
findings=0

finding() {
  echo "FAILED: $*" >&2
  findings=$((findings + 1))
}

# What a level needs, by its names in /proc/cpuinfo.
declare -A needs=(
  [sse42]="sse4_2"
  [avx2]="avx2 fma"
  [avx512]="avx512f avx512cd avx512dq avx512bw avx512vl fma"
  [neon]="asimd")
declare -A flags=()
for flag in $(sed -nE 's/^(flags|Features)[[:space:]]*: //p' "$cpuinfo" | head -n 1); do flags[$flag]=1; done
if ((${#flags[@]} == 0)); then
  echo "skipped: $cpuinfo names no flags of the processor"
  exit 77
fi

has_level() {
  local flag
  for flag in ${needs[$1]:?a level this test does not know}; do
    [[ -n "${flags[$flag]-}" ]] || return 1
  done
}

here=()
for level in "${levels[@]}"; do
  if has_level "$level"; then here+=("$level"); fi
done
((${#here[@]} > 0)) || finding "this processor has none of the levels ${levels[*]}"

# cases_of <backend> <join>: the parts of a test's name that say backend and level. naive is compiled for no level, and
# oneDNN reads its own once in a process.
cases_of() {
  local level
  case "$1" in
    naive | onednn) echo "$1$2" ;;
    *) for level in "${here[@]}"; do echo "$1${2}_$level"; done ;;
  esac
}

# required <program>: an expression for each case that it must have, at the end of a test's name.
required() {
  local backend formulation
  for backend in "${backends[@]}"; do
    case "$1" in
      backends_operations_*)
        case "$backend" in
          naive | onednn) echo "${backend}_[a-z0-9]+" ;;
          *) cases_of "$backend" "" ;;
        esac
        ;;
      attention_layer_threads_test | attention_layer_memory_test) cases_of "$backend" _split ;;
      *) for formulation in wrapper split fused; do cases_of "$backend" "_$formulation"; done ;;
    esac
  done
}

# One test that takes no time and runs for every case.
small_test() {
  case "$1" in
    attention_layer_oracle_test) echo '*OneToken/*' ;;
    backends_operations_project_test) echo '*NamesItsCostsAndWhoComputes/*' ;;
  esac
}

count=0
for program in "$@"; do
  name=$(basename "$program")
  # A case that will be skipped says so where it is listed: "# GetParam() = xsimd/split/avx2 (skipped: ...)".
  listed=$("$program" --gtest_list_tests) || finding "$name cannot list its tests"
  filter=$(small_test "$name") ran=""
  if [[ -n "$filter" ]]; then ran=$("$program" "--gtest_filter=$filter" 2>&1) || finding "$name: $ran"; fi
  while read -r wanted; do
    count=$((count + 1))
    lines=$(grep -E "^  [A-Za-z0-9_]+/$wanted( |\$)" <<<"$listed") ||
      finding "$name has no test of $wanted, which was built and which this processor has"
    if grep -m 1 -F '(skipped: ' <<<"$lines"; then finding "$name skips its tests of $wanted"; fi
    [[ -z "$filter" ]] || grep -qE "^\[       OK \] .*/$wanted " <<<"$ran" ||
      finding "$name did not run $filter for $wanted"
  done < <(required "$name")
done
((count > 0)) || finding "nothing is required at all"
echo "$count cases of ${backends[*]} at ${here[*]} in $# programs"
if ((findings > 0)); then
  echo "$findings findings" >&2
  exit 1
fi
