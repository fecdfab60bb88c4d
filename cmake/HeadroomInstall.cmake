# What `cmake --install` installs: the libraries that users link, their headers, the CMake package,
# pkg-config files and, where they are built, the programs. Rooms that only the programs need stay
# private.

include(CMakePackageConfigHelpers)

set(HEADROOM_INSTALL_CMAKEDIR ${CMAKE_INSTALL_LIBDIR}/cmake/headroom)
get_property(HEADROOM_INSTALLED_LIBRARIES GLOBAL PROPERTY HEADROOM_PUBLIC_LIBRARIES)
get_property(HEADROOM_INSTALLED_BACKENDS GLOBAL PROPERTY HEADROOM_BACKENDS)
if(HEADROOM_HAVE_XSIMD AND NOT BUILD_SHARED_LIBS)
  # Archives do not contain the libraries that they link.
  list(APPEND HEADROOM_INSTALLED_LIBRARIES simd simd_backend)
endif()

foreach(library IN LISTS HEADROOM_INSTALLED_LIBRARIES)
  get_property(package GLOBAL PROPERTY HEADROOM_${library}_PACKAGED_WITH)
  if(NOT package)
    set(package ${library})
  endif()
  install(TARGETS headroom_${library} EXPORT headroom-${library}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${package} NAMELINK_COMPONENT dev
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
  # Libraries find each other wherever the prefix is moved.
  set_target_properties(headroom_${library} PROPERTIES INSTALL_RPATH "$ORIGIN")
  install(EXPORT headroom-${library} DESTINATION ${HEADROOM_INSTALL_CMAKEDIR}
    NAMESPACE headroom:: FILE headroom-${library}.cmake COMPONENT dev)
endforeach()

set(left_out "")
if(NOT HEADROOM_HAVE_MPI)
  set(left_out PATTERN distributed.hpp EXCLUDE)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/headroom
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev ${left_out})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE
  DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/headroom COMPONENT core)
install(FILES ${PROJECT_SOURCE_DIR}/README.md
  DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/headroom COMPONENT dev)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs
  DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/headroom COMPONENT dev)

# What the package states about each backend: what to install to build it, and what its archives are
# linked with.
include(${PROJECT_SOURCE_DIR}/src/library/backends/backends.cmake)
set(headroom_backend_facts "set(headroom_known_components ${HEADROOM_KNOWN_BACKENDS})\n")
foreach(backend IN LISTS HEADROOM_KNOWN_BACKENDS)
  get_property(debian GLOBAL PROPERTY HEADROOM_${backend}_DEBIAN)
  get_property(packages GLOBAL PROPERTY HEADROOM_${backend}_CMAKE_PACKAGES)
  string(APPEND headroom_backend_facts "set(_headroom_${backend}_debian ${debian})\n"
    "set(_headroom_${backend}_archive_packages ${packages})\n")
endforeach()
get_property(other_components GLOBAL PROPERTY HEADROOM_OTHER_COMPONENTS)
string(APPEND headroom_backend_facts "set(headroom_other_components ${other_components})\n")
foreach(component IN LISTS other_components)
  get_property(debian GLOBAL PROPERTY HEADROOM_${component}_DEBIAN)
  get_property(packages GLOBAL PROPERTY HEADROOM_${component}_HEADER_PACKAGES)
  string(APPEND headroom_backend_facts "set(_headroom_${component}_debian ${debian})\n"
    "set(_headroom_${component}_header_packages ${packages})\n")
endforeach()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/headroomConfig.cmake.in
  ${PROJECT_BINARY_DIR}/headroomConfig.cmake
  INSTALL_DESTINATION ${HEADROOM_INSTALL_CMAKEDIR} PATH_VARS CMAKE_INSTALL_LIBDIR)
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/headroomConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/headroomConfig.cmake
  ${PROJECT_BINARY_DIR}/headroomConfigVersion.cmake
  DESTINATION ${HEADROOM_INSTALL_CMAKEDIR} COMPONENT dev)

if(HEADROOM_BUILD_BENCHMARKS)
  # scripts/sweep builds the first of these alone, and what is there can be installed. Packages, which
  # are made of shared libraries, lack nothing.
  foreach(program IN ITEMS headroom headroom-bench headroom-kernels)
    set(optional OPTIONAL)
    if(program STREQUAL "headroom" OR BUILD_SHARED_LIBS)
      set(optional "")
    endif()
    if(TARGET ${program})
      install(TARGETS ${program}
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools ${optional})
      file(RELATIVE_PATH libraries ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
      set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/${libraries}")
    endif()
  endforeach()
  # The manual, and what shells complete with, where Debian's shells look for it.
  set(command_files ${PROJECT_SOURCE_DIR}/cmake/command)
  install(FILES ${command_files}/headroom.1
    DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
  install(FILES ${command_files}/headroom.bash
    DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions RENAME headroom
    COMPONENT tools)
  install(FILES ${command_files}/_headroom
    DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/zsh/site-functions COMPONENT tools)
  install(FILES ${command_files}/headroom.fish
    DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/fish/vendor_completions.d COMPONENT tools)
endif()

include(HeadroomPkgConfig)
if(BUILD_SHARED_LIBS AND PROJECT_IS_TOP_LEVEL)
  include(HeadroomPackages)
endif()
