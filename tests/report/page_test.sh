#!/usr/bin/env bash
# Runs a script of this folder if Node.js is available. Usage: page_test.sh HEADROOM FOLDER [SCRIPT]
set -euo pipefail
if ! command -v node >/dev/null; then
  echo "skipped: no node on PATH"
  exit 77
fi
exec node "$(dirname "${BASH_SOURCE[0]}")/${3:-page_test.mjs}" "$1" "$2"
