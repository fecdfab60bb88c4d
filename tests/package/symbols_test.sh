#!/usr/bin/env bash
# symbols_test.sh <folder>: what the shared libraries of headroom in <folder> export.
set -euo pipefail
# shellcheck source=tests/package/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
shopt -s nullglob
libraries=("$1"/libheadroom-*.so)
((${#libraries[@]} > 1)) || fail "there are no shared libraries in $1"

# Mangled: what is demangled may begin with the type that it returns.
types='_ZT[ISV]N8headroom'
for library in "${libraries[@]}"; do
  symbols=$(nm --dynamic --defined-only "$library" | sed 's/^[0-9a-f]* [A-Za-z] //')
  strangers=$(grep -vE "^(headroom_|_ZNK?8headroom|$types)" <<<"$symbols" || true)
  [[ -z "$strangers" ]] || fail "$library exports what is not headroom's: $(c++filt <<<"$strangers")"
  name=$(basename "$library" .so)
  name=${name#libheadroom-}
  if [[ "$name" == core ]]; then
    grep -q '^headroom_create$' <<<"$symbols" || fail "$library does not export headroom_create"
  elif [[ "$name" == mpi ]]; then
    grep -q '^_ZN8headroom20DistributedAttention7forward' <<<"$symbols" ||
      fail "$library does not export DistributedAttention"
  else
    # A backend may have other symbols, but must export the errors that it throws.
    more=$(grep -vE "^(headroom_backend_$name$|$types)" <<<"$symbols" || true)
    [[ -z "$more" ]] || fail "$library exports more than its entry: $(c++filt <<<"$more")"
  fi
  echo "$name: $(wc -l <<<"$symbols") symbols"
done
