# One place for what every library and program of the project is compiled with.

# headroom_configure(<target>): language level, include root, warnings.
function(headroom_configure target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
  target_include_directories(${target}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
    $<$<BOOL:${HEADROOM_WERROR}>:-Werror>)
endfunction()

# headroom_add_library(<name> <sources...>): the library headroom_<name>, alias headroom::<name>.
function(headroom_add_library name)
  add_library(headroom_${name} STATIC ${ARGN})
  add_library(headroom::${name} ALIAS headroom_${name})
  set_target_properties(headroom_${name} PROPERTIES
    OUTPUT_NAME headroom-${name} EXPORT_NAME ${name})
  headroom_configure(headroom_${name})
endfunction()

# headroom_add_backend(<name> <sources...>): a library whose registry entry the linker must keep,
# although the registry refers to it only weakly.
function(headroom_add_backend name)
  headroom_add_library(${name} ${ARGN})
  target_link_libraries(headroom_${name} PUBLIC headroom::core)
  target_link_options(headroom_${name} INTERFACE "LINKER:-u,headroom_backend_${name}")
  set_property(GLOBAL APPEND PROPERTY HEADROOM_BACKENDS ${name})
endfunction()
