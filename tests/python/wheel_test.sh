#!/usr/bin/env bash
# wheel_test.sh <source> <work folder>
# The wheel as `pip install .` builds it: what auditwheel and twine say of it, whether it runs in a
# root that has Python, numpy and the C and C++ libraries and nothing else, and its tests.
# HEADROOM_PYTHON names another Python than python3.
set -euo pipefail
source=$1 work=$2
venv=$work/venv

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

pip_install() {
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: "$@"
}

# with_libraries <root> <files...>: copies what the dynamic linker finds for them.
with_libraries() {
  local root=$1
  shift
  ldd "$@" 2>/dev/null | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^\t\(\/[^ ]*\) (.*/\1/p' | sort -u |
    while read -r library; do
      mkdir -p "$root$(dirname "$library")"
      cp -L "$library" "$root$library"
    done
}

# A root with the interpreter, its modules, numpy and the wheel.
make_root() {
  local root=$1 python home
  rm -rf "$root"
  python=$("$venv/bin/python" -c 'import os, sys; print(os.path.realpath(sys.executable))')
  home=$("$venv/bin/python" -c 'import sys; print(sys.base_prefix)')
  mkdir -p "$root$(dirname "$python")" "$root"/{tmp,proc,sys,dev}
  cp "$python" "$root$python"
  "$python" -c 'import sysconfig; print(sysconfig.get_path("stdlib"))' | while read -r library; do
    mkdir -p "$root$library"
    (cd "$library" && tar -c --exclude=site-packages --exclude=test --exclude=__pycache__ .) |
      tar -x -C "$root$library"
  done
  with_libraries "$root" "$python" "$root$home"/lib/python3*/lib-dynload/*.so
  with_libraries "$root" "$(gcc -print-file-name=libstdc++.so.6)"
  cp -L "$(gcc -print-file-name=libstdc++.so.6)" "$root/lib/" 2>/dev/null ||
    fail "there is no libstdc++.so.6"
  cp -L "$(gcc -print-file-name=libgcc_s.so.1)" "$root/lib/"
  pip_install --target "$root/site" "$work"/wheel/*.whl
  find "$root/site/numpy" -name '*.so' -print0 | while IFS= read -r -d '' module; do
    with_libraries "$root" "$module"
  done
  echo "$python" >"$root/interpreter"
}

# The program in the package reads /proc and /sys, and Python opens /dev/null.
in_root() {
  local root=$1
  shift
  # shellcheck disable=SC2016  # expanded inside
  unshare --map-root-user --mount bash -c '
    root=$1; shift
    for folder in proc sys dev; do mount --rbind "/$folder" "$root/$folder"; done
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin PYTHONPATH=/site PYTHONDONTWRITEBYTECODE=1 chroot "$root" "$@"' - "$root" "$@"
}

mkdir -p "$work"
[[ -x "$venv/bin/python" ]] || "${HEADROOM_PYTHON:-python3}" -m venv "$venv"
pip_install --requirement "$source/python/tests/requirements.txt" auditwheel twine
pip_install "torch==2.13.0+cpu" transformers==5.24.0 || echo "skipped: PyTorch cannot be installed, and its tests are not run"

rm -rf "$work/wheel"
PATH="$venv/bin:$PATH" "$venv/bin/python" -m pip wheel --disable-pip-version-check --no-build-isolation \
  --no-deps --wheel-dir "$work/wheel" -C build-dir="$work/build" "$source"
wheel=$(echo "$work"/wheel/*.whl)

"$venv/bin/auditwheel" show "$wheel" | tee "$work/auditwheel.txt"
# Without a policy it would be for this distribution alone.
grep -q 'manylinux_2_' "$work/auditwheel.txt" || fail "auditwheel knows no policy that $wheel keeps"
"$venv/bin/twine" check --strict "$wheel"
"$venv/bin/python" -m zipfile --list "$wheel" | grep -E 'libgomp|libdnnl' && fail "the wheel has OpenMP"

make_root "$work/root"
[[ -z "$(find "$work/root" -name 'libtbb*' -not -path '*/headroom/_libs/*')" ]] || fail "the root has oneTBB"
in_root "$work/root" "$(cat "$work/root/interpreter")" -c '
import headroom, numpy
weights = numpy.eye(64, dtype=numpy.float32)
layer = headroom.Attention(weights, weights, weights, heads=4, tokens=64, backend="tbb")
assert numpy.isfinite(layer(numpy.ones((64, 64), numpy.float32))).all()
print("in a bare root:", layer, headroom.info()["isa"])'

pip_install --no-deps --force-reinstall "$wheel"
cd "$work"
"$venv/bin/python" -B -m pytest -q -p no:cacheprovider -c "$source/pyproject.toml" \
  --rootdir "$source/python/tests" -rs "$source/python/tests"
