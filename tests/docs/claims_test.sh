#!/usr/bin/env bash
# claims_test.sh <source> <work folder> <headroom>: each sentence of the texts about what one wide
# matrix wins is what the program says of the published run that the same paragraph links.
set -uo pipefail
source=$(realpath "$1") work=$2 headroom=$3
failures=0 claims=0
rm -rf "$work"
mkdir -p "$work"

# report_of <folder>: its report, made from results.jsonl, on one line.
report_of() {
  local out="$work/${1//\//_}"
  [[ -e "$out/report.md" ]] || "$headroom" report "$source/$1" --out "$out" >/dev/null 2>"$work/errors" ||
    cat "$work/errors" >&2
  tr '\n' ' ' <"$out/report.md" | tr -s ' '
}

# claims_of <page>: each paragraph with such a sentence, on one line.
claims_of() {
  awk -v RS= '/One wide matrix in place of/ {gsub(/[ \n>]+/, " "); print}' "$source/$1"
}

while IFS= read -r page; do
  while IFS= read -r paragraph; do
    folder=$(grep -oE 'reports/[A-Za-z0-9._-]+/report\.md|\.\./[a-z0-9][A-Za-z0-9._-]*/report\.md' <<<"$paragraph" | head -n 1)
    folder=${folder%/report.md} folder=${folder#../}
    [[ -z "$folder" || "$folder" == reports/* ]] || folder=reports/$folder
    while IFS= read -r sentence; do
      claims=$((claims + 1))
      if [[ -z "$folder" ]]; then
        echo "FAILED: $page: '$sentence' links no published report" >&2
      elif [[ "$(report_of "$folder")" != *"$sentence"* ]]; then
        echo "FAILED: $page: '$sentence' is not what $folder says" >&2
      else
        continue
      fi
      failures=$((failures + 1))
    done < <(grep -oE 'One wide matrix in place of[^.]*(\.[0-9][^.]*)*\.' <<<"$paragraph")
  done < <(claims_of "$page")
done < <(cd "$source" && ls README.md docs/*.md reports/*.md reports/speed/README.md)

echo "$claims claims, $failures wrong"
((claims > 0 && failures == 0))
