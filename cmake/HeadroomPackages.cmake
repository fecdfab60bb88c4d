# Debian packages, one a backend, so that nobody installs a library that he does not link:
#   cmake --preset deb && cmake --build --preset deb && cpack --config build-deb/CPackConfig.cmake

set(version "(= ${PROJECT_VERSION})")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME headroom)
set(CPACK_PACKAGE_CONTACT "headroom maintainers <maintainers@headroom.invalid>")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEBUGINFO_PACKAGE OFF)
# Depend on what the files really need; our own libraries are found in the build folder.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)

# headroom_add_package(<component> <package> <depends> <description>)
macro(headroom_add_package component package depends description)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${depends}")
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${description}")
  list(APPEND CPACK_COMPONENTS_ALL ${component})
endmacro()

set(summary "multi-head attention on CPUs")
headroom_add_package(core libheadroom-core "" "${summary}: the interface")
get_property(backends GLOBAL PROPERTY HEADROOM_BACKENDS)
list(REMOVE_ITEM backends autovec)  # comes with naive
foreach(backend IN LISTS backends)
  headroom_add_package(${backend} libheadroom-${backend} "libheadroom-core ${version}"
    "${summary}: backend ${backend}")
  list(APPEND all_libraries "libheadroom-${backend} ${version}")
endforeach()
list(JOIN all_libraries ", " all_libraries)
get_property(libraries GLOBAL PROPERTY HEADROOM_PUBLIC_LIBRARIES)
foreach(library IN LISTS libraries)
  get_target_property(folder headroom_${library} BINARY_DIR)
  list(APPEND CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${folder})
endforeach()
headroom_add_package(dev libheadroom-dev "libheadroom-core ${version}"
  "${summary}: headers, CMake package and pkg-config files")
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS "${all_libraries}")
if(HEADROOM_BUILD_BENCHMARKS)
  headroom_add_package(tools headroom "${all_libraries}" "${summary}: measure, compare, report")
  set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION science)
endif()

include(CPack)
