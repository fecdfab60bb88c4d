# shellcheck shell=bash
# What a command has to answer; sourced by tests that have a function `fails`. Leaves the answer in $answer.

# expect <exit code> <texts...> -- <command...>
expect() {
  local wanted=$1 texts=() code=0 text
  shift
  while [[ "$1" != -- ]]; do texts+=("$1") && shift; done
  shift
  answer=$("$@" 2>&1) || code=$?
  ((code == wanted)) || fails "'$*' ended with $code instead of $wanted: $answer"
  for text in "${texts[@]}"; do
    [[ "$answer" == *"$text"* ]] || fails "'$text' is not in the answer of '$*': $answer"
  done
}
