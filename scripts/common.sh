# shellcheck shell=bash
# What the scripts share; sourced, never run.

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
script_name="$(basename "$0")"

# Progress goes to standard error, so that standard output belongs to the program that is run.
say() { printf '%s: %s\n' "$script_name" "$*" >&2; }

fail() {
  say "error: $*"
  exit 1
}

# build_release <targets...>: configures and builds Release into build/
build_release() {
  say "configuring Release in build/"
  (cd "$root" && cmake --preset release) >&2 ||
    fail "cmake could not configure build/; its reason stands above. If the checkout was moved" \
      "or copied, remove build/ and run this again."
  say "building (the first time takes minutes, later ones build what changed)"
  (cd "$root" && cmake --build --preset release --target "$@") >&2 ||
    fail "the build failed; the first error above says where. To start afresh remove build/."
}
