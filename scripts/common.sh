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

# turn_of <n>: prints which of n things comes today, by the day of the last commit.
turn_of() { echo $(($(seconds_of_last_commit) / 86400 % $1)); }
seconds_of_last_commit() { git -C "$root" log -1 --format=%ct || date +%s; }

# preset_folder <preset>: where CMakePresets.json has it built.
preset_folder() {
  case "$1" in
    release | native) echo build ;;
    *) echo "build-$1" ;;
  esac
}

# build_preset <preset> <targets...>: configures and builds a preset of CMakePresets.json, with `configure_options`.
configure_options=()
build_preset() {
  local preset=$1
  local folder
  folder="$(preset_folder "$preset")/"
  shift
  say "configuring $preset in $folder"
  (cd "$root" && cmake --preset "$preset" "${configure_options[@]}") >&2 ||
    fail "cmake could not configure $folder; the reason is above. If the checkout was moved" \
      "or copied, remove $folder and run this again."
  say "building (takes minutes the first time; later only what changed)"
  (cd "$root" && cmake --build --preset "$preset" --target "$@") >&2 ||
    fail "the build failed; the first error above says where. To start afresh, remove $folder."
}

# preset_to_measure: prints which Release build/ has, or will have. In a new checkout that is for this processor alone,
# which takes two thirds of the time; a folder that has code for every processor keeps it.
preset_to_measure() {
  if [[ -f "$root/build/CMakeCache.txt" ]] &&
    ! grep -q '^HEADROOM_LEVELS:[A-Z]*=native$' "$root/build/CMakeCache.txt"; then
    echo release
  else
    echo native
  fi
}

# build_to_measure <targets...>
build_to_measure() { build_preset "$(preset_to_measure)" "$@"; }
