#!/usr/bin/env bash
# docs_test.sh links <source>
#   Every link of README.md, CONTRIBUTING.md, CHANGELOG.md and docs/ leads to a file of the
#   repository and, with an anchor, to a heading. Nothing is fetched. Every page that the sources
#   name is there, by its path from the root.
# docs_test.sh commands <source> <work folder> <build folder> <programs...>
#   Every command of README.md and docs/ ends with the exit code that it should. The commands of a
#   page run in their order in one folder, which has build/ and what the page names of reports/ and
#   tests/data/families/, weights/, models/ and gguf/. A sweep gets
#   --dry-run. Comments above a block of code say otherwise:
#     <!-- run -->                     run it unchanged
#     <!-- run with: OPTIONS -->       run it with these options, which replace its own
#     <!-- exit: 1 -->                 the exit code, or several: <!-- exit: 0 1 -->
#     <!-- not run: REASON -->
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mode=$1 source=$(realpath "$2")
shift 2
readme_lines=200 # below which the README stays
findings=0

finding() {
  echo "FAILED: $*" >&2
  findings=$((findings + 1))
}

markdown() { awk -v want="$1" -f "$here/markdown.awk" "$source/$2"; }

# What stands in the repository; in a copy without git, every file.
repository_files() {
  if [[ -e "$source/.git" ]] && git -C "$source" ls-files 2>/dev/null; then return; fi
  find "$source" -type f -printf "%P\n"
}

check_link() {
  local page=$1 line=$2 target=$3 path
  [[ "$target" =~ ^(https?|mailto): ]] && return
  path=${target%%#*}
  if [[ -z "$path" ]]; then
    path=$page
  else
    path=$(realpath -m --relative-to="$source" "$source/$(dirname "$page")/$path")
  fi
  if [[ -z "${exists[$path]-}" ]]; then
    finding "$page:$line: the link '$target' leads to $path, which is not in the repository"
  elif [[ "$target" == *"#"* ]] && ! grep -qxF -- "${target#*#}" <<<"$(markdown anchors "$path")"; then
    finding "$page:$line: the link '$target' leads to no heading of $path"
  fi
  linked[$path]=1
}

# The pages that comments and messages name, as <file>:<line>:<page>. report.md is what the program
# writes; the tests of this script make up pages of their own.
# shellcheck disable=SC2016 # $root as it stands there
cited_pages() {
  repository_files | grep -E '\.(cpp|hpp|h|c|py|sh|cmake|in|awk|mjs|js)$|CMakeLists\.txt$|^scripts/' |
    grep -v '^tests/docs/' |
    (cd "$source" && xargs -r -d '\n' grep -nHoE '(\$root/)?[A-Za-z0-9_./-]+\.md\b' -- 2>/dev/null) |
    sed 's#:\$root/#:#' |
    grep -vE '(^|[/:])report\.md$'
}

check_citations() {
  local file line page
  while IFS=: read -r file line page; do
    [[ -n "${exists[${page#/}]-}" ]] ||
      finding "$file:$line: $page is named, which is no path of a page in the repository"
  done < <(cited_pages)
}

check_links() {
  local -A exists=() linked=()
  local file page line target count=0
  while read -r file; do
    # A folder is there with any of its files.
    exists[$file]=1
    while [[ "$file" == */* ]]; do
      file=${file%/*}
      exists[$file]=1
    done
  done < <(repository_files)
  for page in "${pages[@]}" CONTRIBUTING.md CHANGELOG.md; do
    [[ -e "$source/$page" ]] || continue
    while IFS=$'\t' read -r line target; do
      check_link "$page" "$line" "$target"
      count=$((count + 1))
    done < <(markdown links "$page")
  done
  check_citations
  for page in "${pages[@]}"; do
    [[ "$page" == README.md || -n "${linked[$page]-}" ]] || finding "no page leads to $page"
  done
  line=$(wc -l <"$source/README.md")
  ((line < readme_lines)) || finding "README.md has $line lines; allowed: below $readme_lines"
  ((count > 0)) || finding "there are no links at all"
  echo "$count links"
}

# mark <marks> <name>: what the mark of that name says.
mark() {
  local one
  while read -r one; do
    if [[ "$one" == "$2" ]]; then echo yes; elif [[ "$one" == "$2: "* ]]; then echo "${one#"$2: "}"; fi
  done < <(tr '|' '\n' <<<"$1")
}

# with_options <command> <options>: the command with these options in place of its own.
with_options() {
  local command=$1 options=$2 name
  while read -r name; do
    command=$(sed -E "s/ ${name}[ =][^ ]+//" <<<"$command")
  done < <(grep -oE -- '--[a-z_-]+' <<<"$options")
  sed -E "s#build/headroom(-bench|-kernels| [a-z]+)#& $options#" <<<"$command"
}

# runnable <command> <marks>: what to run in its place, or nothing if it cannot be run.
runnable() {
  local command=$1 options name
  if [[ "$command" == scripts/* ]]; then
    name=${command%% *} options=${command#"$name"}
    [[ -x "$source/$name" ]] || return
    case "$name" in
      scripts/sweep) echo "build/headroom sweep --dry-run${options:- --preset quick}" ;;
      # In a folder of its own, because even a listing overwrites the log of the tests that run.
      scripts/test)
        echo "mkdir -p listing && echo 'subdirs(\"$build\")' >listing/CTestTestfile.cmake &&" \
          "ctest --test-dir listing --show-only$options"
        ;;
    esac
    return
  fi
  grep -qE '^([A-Z_]+=[^ ]* +)*build/headroom(-bench|-kernels)?( |$)' <<<"$command" || return
  options=$(mark "$2" "run with")
  if [[ -n "$options" ]]; then
    with_options "$command" "$options"
  elif [[ -z "$(mark "$2" run)" ]]; then
    echo "${command/build\/headroom sweep/build/headroom sweep --dry-run}"
  else
    echo "$command"
  fi
}

run_command() {
  local page=$1 line=$2 marks=$3 command=$4 reason run allowed code=0
  reason=$(mark "$marks" "not run")
  if [[ -n "$reason" ]]; then
    echo "not run: $page:$line: $command ($reason)"
    skipped=$((skipped + 1))
    return
  fi
  run=$(runnable "$command" "$marks")
  if [[ -z "$run" ]]; then
    finding "$page:$line: cannot run '$command'; begin it with build/headroom, scripts/sweep or" \
      "scripts/test, or write <!-- not run: REASON --> above the block"
    return
  fi
  allowed=$(mark "$marks" exit)
  SECONDS=0
  # Only against hanging: tune takes minutes where an emulator multiplies and other tests run.
  timeout 600 bash -c "$run" >output 2>&1 </dev/null || code=$?
  echo "$page:$line: $run ($SECONDS s)"
  count=$((count + 1))
  [[ " ${allowed:-0} " == *" $code "* ]] ||
    finding "$page:$line: '$run' ended with $code instead of ${allowed:-0}: $(tail -n 3 output)"
}

# published <page>: the reports and models that a page names, as copies, because commands write
# beside them.
published() {
  local folder
  while read -r folder; do
    # A report, or a store of runs.
    if compgen -G "$source/$folder/results.jsonl" >/dev/null ||
      compgen -G "$source/$folder/*/*/results.jsonl" >/dev/null; then
      mkdir -p reports
      cp -r "$source/$folder" reports/
    fi
  done < <(grep -oE 'reports/[a-z0-9-]+' "$source/$1" | sort -u)
  local data
  for data in families weights models gguf; do
    if grep -q "tests/data/$data" "$source/$1"; then
      mkdir -p tests/data
      cp -r "$source/tests/data/$data" tests/data/
    fi
  done
}

check_commands() {
  local work=$1 build=$2 page line marks command program count=0 skipped=0
  shift 2
  unset HEADROOM_ISA HEADROOM_TUNING
  for page in "${pages[@]}"; do
    rm -rf "$work" && mkdir -p "$work/build" && cd "$work" || exit 1
    for program in "$@"; do ln -s "$program" build/; done
    published "$page"
    while IFS= read -r line; do
      # Cut by hand: `read` takes two tabs for one.
      command=${line#*$'\t'} marks=${command%%$'\t'*} command=${command#*$'\t'}
      run_command "$page" "${line%%$'\t'*}" "$marks" "$command"
    done < <(markdown commands "$page")
  done
  ((count > 0)) || finding "there are no commands at all"
  echo "$count commands run, $skipped not run"
}

cd "$source" || exit 1
shopt -s nullglob
pages=(README.md docs/*.md)
case "$mode" in
  links) check_links ;;
  commands)
    info=$("$3" info) || { echo "FAILED: $3 info" >&2; exit 1; }
    # The pages compare instruction sets and name every backend.
    if grep -qE '^  (naive|autovec|xsimd|onednn|tbb) +not ' <<<"$info" || ! grep -q 'isa .*avx2' <<<"$info"; then
      echo "skipped: a backend or AVX2 is not here"
      exit 77
    fi
    check_commands "$@"
    ;;
esac
if ((findings > 0)); then echo "$findings findings" >&2; exit 1; fi
