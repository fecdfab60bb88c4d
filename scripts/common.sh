# shellcheck shell=bash
# Shared by the scripts; sourced, never run.

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
script_name="$(basename "$0")"

# Progress goes to standard error, so that standard output belongs to the program being run.
say() { printf '%s: %s\n' "$script_name" "$*" >&2; }

fail() {
  say "error: $*"
  exit 1
}

# wants_help <arguments...>: whether one of them asks for help.
wants_help() {
  local argument
  for argument in "$@"; do
    [[ "$argument" == --help || "$argument" == -h ]] && return 0
  done
  return 1
}

# The comment at the top of the script that runs is its help.
print_help() { sed -n '1d; /^#/!q; s/^# \{0,1\}//p' "$0"; }

# preset_folder <preset>: where CMakePresets.json has it built.
preset_folder() {
  case "$1" in
    release | native) echo build ;;
    *) echo "build-$1" ;;
  esac
}

# build_preset <preset> <targets...>: configures and builds a preset of CMakePresets.json.
build_preset() {
  local preset=$1
  local folder
  folder="$(preset_folder "$preset")/"
  shift
  say "configuring $preset in $folder"
  (cd "$root" && cmake --preset "$preset") >&2 ||
    fail "cmake could not configure $folder; the reason is above. If the checkout was moved" \
      "or copied, remove $folder and run this again."
  say "building (takes minutes the first time; later only what changed)"
  (cd "$root" && cmake --build --preset "$preset" --target "$@") >&2 ||
    fail "the build failed; the first error above says where. To start afresh, remove $folder."
}

# build_to_measure <targets...>: Release in build/. In a new checkout for this processor alone, which takes two thirds
# of the time; a folder that has code for every processor keeps it.
build_to_measure() {
  local preset=native
  if [[ -f "$root/build/CMakeCache.txt" ]] &&
    ! grep -q '^HEADROOM_LEVELS:[A-Z]*=native$' "$root/build/CMakeCache.txt"; then
    preset=release
  fi
  build_preset "$preset" "$@"
}
