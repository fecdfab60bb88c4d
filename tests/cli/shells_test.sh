#!/usr/bin/env bash
# Completion in a real shell, and the manual as `man` shows it.
# shells_test.sh <bash|zsh|fish|manual> <headroom> <folder of the scripts>
set -euo pipefail
what=$1 program=$2 scripts=$3
PATH="$(dirname "$program"):$PATH"

command -v "${what/manual/man}" >/dev/null || {
  echo "${what/manual/man} is not installed; scripts/setup --tests installs it"
  exit 77
}

# What an interactive shell makes of a line at whose end the tab key is pressed: one word a line.
# shellcheck disable=SC2016  # the inner shells expand these
complete_in() {
  case "$1" in
    bash) # Readline has cut the line at blanks and at equals signs.
      bash --norc -c 'source "$1/headroom.bash"; read -ra COMP_WORDS <<<"$2"
        [[ "$2" == *" " ]] && COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _headroom; printf "%s\n" "${COMPREPLY[@]}"' - "$scripts" "${2//=/ = }"
      ;;
    zsh) # On a terminal of its own, where the line is printed after the key. What is looked for is never what is typed,
      # which may be echoed.
      zsh -f -c 'zmodload zsh/zpty
        zpty shell zsh -f -i
        zpty -w shell "PROMPT=; stty -echo; fpath=($1 \$fpath); autoload -U compinit; compinit -u -D"
        zpty -w shell "widget() { print -r -- \"li\"\"ne<\$BUFFER>\"; exit }; zle -N widget; bindkey ^X widget"
        zpty -w shell "print rea\"\"dy"
        zpty -r -m shell seen "*ready*"
        zpty -n -w shell "$2"$'"'\\t\\x18'"'
        zpty -r -m shell seen "*line<*>*"
        print -r -- "$seen"' - "$scripts" "$2" | sed -n 's/.*line<\(.*\)>.*/\1/p' | tail -n 1 | sed 's/ $//; s/.* //'
      ;;
    fish)
      fish --no-config -c 'source $argv[1]/headroom.fish; complete -C $argv[2]' "$scripts" "$2" | cut -f 1
      ;;
  esac
}

failed=0
# expect <command line> <wanted word>, where the cursor is at its end; `-` if nothing but files can follow.
expect() {
  local found
  found="$(complete_in "$what" "$1")"
  if [[ "$2" == - ]]; then
    [[ -z "$found" ]] && return
  else
    grep -qxF -- "$2" <<<"$found" && return
  fi
  echo "'$1' in $what: expected '$2', found: $found"
  failed=1
}

if [[ "$what" == manual ]]; then
  cmp <("$program" manual) "$scripts/headroom.1" || {
    echo "the manual is not that of the options; write it anew: headroom manual >cmake/command/headroom.1"
    exit 1
  }
  page="$(MANWIDTH=100 man --warnings=all --local-file "$scripts/headroom.1" 2>&1 | col -b)"
  for word in "headroom sweep" "--backend NAMES" "EXIT STATUS" "NO_COLOR"; do
    grep -qF -- "$word" <<<"$page" || failed=1
  done
  if ((failed)) || grep -i "warning" <<<"$(man --warnings=all --local-file "$scripts/headroom.1" 2>&1 >/dev/null)"; then
    echo "$page" | head -n 40
    exit 1
  fi
  exit
fi

expect "headroom swe" sweep
expect "headroom sweep --formul" --formulation
expect "headroom sweep --formulation sp" split
expect "headroom sweep --backend naive,xs" naive,xsimd
expect "headroom sweep --cache c" cold
expect "headroom pick --emit cm" cmake
expect "headroom sweep --model gpt2-x" gpt2-xl
expect "headroom explain gem" gemma2
if [[ "$what" != zsh ]]; then expect "headroom sweep --out=" -; fi
if [[ "$what" == bash ]]; then expect "headroom sweep --backend=onedn" onednn; fi
exit "$failed"
