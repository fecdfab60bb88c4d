# What a shared library of headroom exports.

# headroom_write_exports(<name> <file>): writes the version script of a public library. What its
# public headers show is in the version HEADROOM_<major>.<minor>: the functions of C, and the symbols
# of C++ in cmake/abi/<name>.txt, which tests/package/abi_test.py holds to be those of the headers.
# What the libraries of one build share beside that is marked in the sources and has a version of its
# own, with which no other build can be linked by mistake. All else is hidden, such as the templates of
# the standard library. Mangled, because a demangled template function begins with the type that it
# returns, which may be ours.
function(headroom_write_exports name file)
  set(symbols "")
  set(list ${PROJECT_SOURCE_DIR}/cmake/abi/${name}.txt)
  if(EXISTS ${list})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
    file(STRINGS ${list} symbols)
  endif()
  string(JOIN ";\n    " lines ${symbols} "headroom_*")
  file(CONFIGURE OUTPUT ${file} @ONLY CONTENT "HEADROOM_@PROJECT_VERSION_MAJOR@.@PROJECT_VERSION_MINOR@ {
  global:
    @lines@;
};
HEADROOM_PRIVATE_@PROJECT_VERSION@ {
  global:
    _ZN8headroom*;
    _ZNK8headroom*;
    _ZTIN8headroom*;
    _ZTSN8headroom*;
    _ZTVN8headroom*;
  local:
    *;
};
")
endfunction()
