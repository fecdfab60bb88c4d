# Completion of headroom's command line in bash. The program itself says what can follow.

_headroom() {
  local word line last="${COMP_WORDS[COMP_CWORD]}" words=()
  # bash has cut --option=value at the equals sign.
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do [[ "$word" == = ]] || words+=("$word"); done
  [[ "$last" == = ]] && last=""
  COMPREPLY=()
  while IFS=$'\t' read -r line _; do COMPREPLY+=("$line"); done \
    < <("${COMP_WORDS[0]}" complete "${words[@]}" "$last" 2>/dev/null)
}

# Without an answer, files and folders are offered.
complete -o default -F _headroom headroom
