# The compile settings of every library and program of the project.

# clang says what it sanitizes in its own way, and only from 22 on in gcc's as well.
foreach(sanitizer IN ITEMS address thread)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang AND CMAKE_CXX_FLAGS MATCHES "-fsanitize=[a-z,]*${sanitizer}")
    string(TOUPPER ${sanitizer} upper)
    add_compile_definitions(__SANITIZE_${upper}__=1)
  endif()
endforeach()

# headroom_configure(<target>): language level, warnings, and as include roots the buildings that HEADROOM_SEES names.
function(headroom_configure target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
  list(TRANSFORM HEADROOM_SEES PREPEND ${PROJECT_SOURCE_DIR}/src/ OUTPUT_VARIABLE roots)
  target_include_directories(${target}
    PUBLIC
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
      $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${roots})
  # gcc collects its garbage from half a gigabyte on: 8 % of its time for a fifth more memory.
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
    $<$<BOOL:${HEADROOM_WERROR}>:-Werror>
    $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=524288>)
endfunction()

# headroom_add_library(<name> <sources...>): a library of the house, headroom_<name>, alias
# headroom::<name>. Always an archive: a library that users do not link needs no ABI.
function(headroom_add_library name)
  add_library(headroom_${name} STATIC ${ARGN})
  headroom_name_library(${name})
endfunction()

# headroom_add_public_library(<name> <sources...>): likewise, but one that users link: an archive
# or, with BUILD_SHARED_LIBS, a shared library that exports only the public interface.
function(headroom_add_public_library name)
  add_library(headroom_${name} ${ARGN})
  headroom_name_library(${name})
  if(BUILD_SHARED_LIBS)
    set(exports ${CMAKE_CURRENT_BINARY_DIR}/${name}-exports.map)
    headroom_write_exports(${name} ${exports})
    set_target_properties(headroom_${name} PROPERTIES
      VERSION ${PROJECT_VERSION}
      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
      LINK_DEPENDS ${exports})
    target_link_options(headroom_${name} PRIVATE "LINKER:--version-script=${exports}")
  else()
    target_compile_definitions(headroom_${name} PUBLIC HEADROOM_STATIC)
  endif()
  set_property(GLOBAL APPEND PROPERTY HEADROOM_PUBLIC_LIBRARIES ${name})
endfunction()

function(headroom_name_library name)
  add_library(headroom::${name} ALIAS headroom_${name})
  set_target_properties(headroom_${name} PROPERTIES
    OUTPUT_NAME headroom-${name} EXPORT_NAME ${name})
  headroom_configure(headroom_${name})
endfunction()

# headroom_add_backend(<name> <sources...>): a public library whose registration must take place
# although no code refers to it, so the linker is told to keep it.
function(headroom_add_backend name)
  headroom_add_public_library(${name} ${ARGN})
  target_link_libraries(headroom_${name} PUBLIC headroom::core)
  if(BUILD_SHARED_LIBS)
    # By default many distributions let the linker drop libraries without a used symbol.
    set(library $<TARGET_FILE:$<TARGET_NAME:headroom_${name}>>)
    target_link_options(headroom_${name}
      INTERFACE "LINKER:--push-state,--no-as-needed,${library},--pop-state"
      PRIVATE LINKER:-z,nodelete)  # the registry keeps a pointer into it
  else()
    target_link_options(headroom_${name} INTERFACE "LINKER:-u,headroom_backend_${name}")
  endif()
  set_property(GLOBAL APPEND PROPERTY HEADROOM_BACKENDS ${name})
endfunction()

# headroom_describe_backend(<name> [DEBIAN <packages...>] [CMAKE_PACKAGES <packages...>]
#   [PKG_CONFIG <packages...>] [ARCHIVE_LIBS <flags>] [PACKAGED_WITH <backend>])
# What a backend needs, stated in its own folder whether it is built or not: the Debian packages that
# build it; what its archive is linked with, as CMake packages and for pkg-config; and the
# backend whose Debian package holds it too.
function(headroom_describe_backend name)
  cmake_parse_arguments(arg "" "ARCHIVE_LIBS;PACKAGED_WITH" "DEBIAN;CMAKE_PACKAGES;PKG_CONFIG"
    ${ARGN})
  if(NOT arg_PACKAGED_WITH)
    set(arg_PACKAGED_WITH ${name})
  endif()
  foreach(fact IN ITEMS DEBIAN CMAKE_PACKAGES PKG_CONFIG ARCHIVE_LIBS PACKAGED_WITH)
    set_property(GLOBAL PROPERTY HEADROOM_${name}_${fact} "${arg_${fact}}")
  endforeach()
endfunction()

# headroom_describe_component(<name> [DEBIAN <packages...>] [HEADER_PACKAGES <CMake packages...>])
# Likewise for a component that is no backend: what its public header includes has to be found by
# whoever links it, archive or not.
function(headroom_describe_component name)
  cmake_parse_arguments(arg "" "" "DEBIAN;HEADER_PACKAGES" ${ARGN})
  foreach(fact IN ITEMS DEBIAN HEADER_PACKAGES)
    set_property(GLOBAL PROPERTY HEADROOM_${name}_${fact} "${arg_${fact}}")
  endforeach()
  set_property(GLOBAL APPEND PROPERTY HEADROOM_OTHER_COMPONENTS ${name})
endfunction()
