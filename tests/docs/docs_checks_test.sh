#!/usr/bin/env bash
# docs_checks_test.sh <work folder> <headroom>: docs_test.sh finds what it should. Each case
# is a small tree with one fault; the finding must name it.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$1 headroom=$2
tree=$work/tree
failures=0 cases=0

# Here, blocks of code stand between lines of '''.
code_blocks() { sed "s/^'''/\`\`\`/"; }

# page <file>: standard input becomes a page of the tree.
page() {
  mkdir -p "$(dirname "$tree/$1")"
  code_blocks >"$tree/$1"
}

fresh_tree() {
  rm -rf "$tree"
  page docs/sweep.md <<<$'# Sweep: `it`\n\n## Read the table\n\n[home](../README.md#it-measures)'
  page README.md <<'EOF'
# It measures

[table](docs/sweep.md#read-the-table), [title](docs/sweep.md#sweep-it), `[no](link)`

'''
$ build/headroom sweep --heads 2 \
    --tokens 4   # a comment
[not](a link)
'''
EOF
  # A repository of its own, because the build folder may be inside one.
  git init --quiet "$tree"
}

run() {
  [[ -d "$tree/.git" ]] && git -C "$tree" add --all
  case "$1" in
    links) bash "$here/docs_test.sh" links "$tree" 2>&1 ;;
    commands) bash "$here/docs_test.sh" commands "$tree" "$work/scratch" "$work" "$headroom" 2>&1 ;;
  esac
}

fails() {
  echo "FAILED: $*" >&2
  failures=$((failures + 1))
}

clean() {
  local answer code=0
  fresh_tree
  answer=$(run "$1") || code=$?
  if ((code == 77)); then echo "$answer"; exit 77; fi
  ((code == 0)) || fails "a tree without faults: $answer"
}

# found <links|commands> <what the finding says> <more of README.md>
found() {
  local answer
  cases=$((cases + 1))
  fresh_tree
  printf '\n%s\n' "$3" | code_blocks >>"$tree/README.md"
  if answer=$(run "$1"); then fails "not found: $3"; fi
  grep -qF -- "$2" <<<"$answer" || fails "'$2' is not in the answer to '$3': $answer"
}

rm -rf "$work" && mkdir -p "$work"
clean links
found links "leads to docs/no.md, which is not in the repository" '[a](docs/no.md)'
found links "leads to no heading of docs/sweep.md" '[a](docs/sweep.md#no-such-heading)'
found links "leads to no heading of README.md" '![a](#no-such-heading)'
found links "which is not in the repository" '[a](../outside.md)'
found links "README.md has 2" "$(printf 'line\n%.0s' {1..200})"
fresh_tree
page docs/lost.md <<<'# Lost'
answer=$(run links)
grep -qF "no page leads to docs/lost.md" <<<"$answer" || fails "a page without links to it: $answer"
# A page that a comment names.
fresh_tree
mkdir -p "$tree/src"
printf '%s\n' '// As docs/sweep.md says; see report.md.' >"$tree/src/good.cpp"
answer=$(run links) || fails "a comment that names a page: $answer"
printf '%s\n' '// As sweep.md says.' >"$tree/src/bad.cpp"
answer=$(run links)
grep -qF "src/bad.cpp:1: sweep.md is named" <<<"$answer" || fails "a comment that names no page: $answer"
cases=$((cases + 1))

clean commands
found commands "ended with 2 instead of 0" $'\'\'\'\nbuild/headroom sweep --no-such-option\n\'\'\''
found commands "ended with 2 instead of 1" \
  $'<!-- exit: 1 -->\n\'\'\'\nbuild/headroom sweep --heads none\n\'\'\''
found commands "ended with 0 instead of 3" $'<!-- exit: 3 -->\n\'\'\'\nbuild/headroom info\n\'\'\''
found commands "cannot run 'headroom info'" $'\'\'\'\nheadroom info\n\'\'\''
found commands "cannot run 'cmake --build build'" $'\'\'\'\ncmake --build build\n\'\'\''
found commands "cannot run 'scripts/none'" $'\'\'\'\nscripts/none\n\'\'\''
found commands "cannot run 'something else'" $'\'\'\'\n$ something else\n\'\'\''
found commands "--no-such-option" \
  $'<!-- run with: --no-such-option 1 -->\n\'\'\'\nbuild/headroom info\n\'\'\''

((failures == 0)) || exit 1
echo "$cases faults found"
