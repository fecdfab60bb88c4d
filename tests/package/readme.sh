# shellcheck shell=bash
# Takes examples out of README.md, so that what is tested is what is printed; sourced, never run.

# readme_example <README> <name>: the block of code under the line <!-- example: name -->
readme_example() {
  local text
  text=$(awk -v mark="<!-- example: $2 -->" '
    $0 == mark { marked = 1; next }
    marked && /^```/ { if (inside) exit; inside = 1; next }
    inside' "$1")
  [[ -n "$text" ]] || fail "README.md has no example '$2'"
  printf '%s\n' "$text"
}

# readme_project <README> <CMake example> <folder>: the program app.cpp with these CMake lines.
readme_project() {
  mkdir -p "$3"
  readme_example "$1" app.cpp >"$3/app.cpp"
  {
    printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(app LANGUAGES C CXX)' \
      'add_executable(app app.cpp)'
    readme_example "$1" "$2"
  } >"$3/CMakeLists.txt"
}
