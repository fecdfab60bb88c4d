#!/usr/bin/env bash
# Runs peers_test.py if Python is available. Usage: peers_test.sh HEADROOM HEADROOM_PEER FOLDER FAKE_MKL
set -euo pipefail
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
  echo "skipped: no python3 of at least 3.9 on PATH"
  exit 77
fi
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/peers_test.py" "$@"
