# shellcheck shell=bash
# Takes examples out of README.md and docs/, so that what is tested is what is printed; sourced,
# never run.

# readme_example <source> <name>: the block of code under the line <!-- example: name -->
readme_example() {
  local text pages=("$1"/README.md "$1"/docs/*.md)
  local mark="<!-- example: $2 -->"
  local marks
  marks=$(cat "${pages[@]}" | grep -cxF "$mark" || true)
  ((marks == 1)) || fail "README.md and docs/ have $marks examples '$2'; expected 1"
  # It reads to the end: a reader that stops early would fail whoever still writes.
  text=$(cat "${pages[@]}" | awk -v mark="$mark" '
    $0 == mark { marked = 1; next }
    marked && /^```/ { if (inside) { marked = inside = 0 } else { inside = 1 } next }
    inside')
  [[ -n "$text" ]] || fail "the example '$2' is empty"
  printf '%s\n' "$text"
}

# readme_project <source> <CMake example> <folder> [<example>]: a program with these CMake lines,
# app.cpp if none is named.
readme_project() {
  mkdir -p "$3"
  readme_example "$1" "${4:-app.cpp}" >"$3/app.cpp"
  {
    printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(app LANGUAGES C CXX)' \
      'add_executable(app app.cpp)'
    readme_example "$1" "$2"
  } >"$3/CMakeLists.txt"
}

# readme_programs <source>: the names, without .cpp, of examples that print something: what they
# print is the example <name>.txt.
readme_programs() {
  cat "$1"/README.md "$1"/docs/*.md | sed -n 's/^<!-- example: \(.*\)\.txt -->$/\1/p'
}
