#!/usr/bin/env bash
# Runs page_test.mjs if Node.js is available. Usage: page_test.sh HEADROOM FOLDER
set -euo pipefail
if ! command -v node >/dev/null; then
  echo "skipped: no node on PATH"
  exit 77
fi
exec node "$(dirname "${BASH_SOURCE[0]}")/page_test.mjs" "$@"
