# headroom-<library>.pc for every public library. Archives list all that they are linked with;
# shared libraries record it themselves.

# The prefix is relative to the file itself, so that an installed tree can be moved.
file(RELATIVE_PATH pc_prefix
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
set(pc_prefix "\${pcfiledir}/${pc_prefix}")

get_property(libraries GLOBAL PROPERTY HEADROOM_PUBLIC_LIBRARIES)
get_property(backends GLOBAL PROPERTY HEADROOM_BACKENDS)
foreach(library IN LISTS libraries)
  set(pc_requires "")
  set(pc_cflags "-I\${includedir}")
  set(pc_libs "-L\${libdir} -lheadroom-${library}")
  if(NOT library STREQUAL "core")
    set(pc_requires "headroom-core = ${PROJECT_VERSION}")
    # As in headroom_add_backend. One word, because pkg-config may drop repeated words.
    if(NOT library IN_LIST backends)
      # Compile with mpicxx, which knows its own header and libraries.
    elseif(BUILD_SHARED_LIBS)
      set(pc_libs "-L\${libdir} -Wl,--push-state,--no-as-needed,-lheadroom-${library},--pop-state")
    else()
      set(pc_libs "-L\${libdir} -Wl,-u,headroom_backend_${library} -lheadroom-${library}")
    endif()
  endif()
  if(NOT BUILD_SHARED_LIBS)
    if(library STREQUAL "core")
      set(archive_requires fmt)
      set(archive_libs "-lstdc++ -lm")
    else()
      get_property(archive_requires GLOBAL PROPERTY HEADROOM_${library}_PKG_CONFIG)
      get_property(archive_libs GLOBAL PROPERTY HEADROOM_${library}_ARCHIVE_LIBS)
    endif()
    string(APPEND pc_requires " ${archive_requires}")
    string(APPEND pc_libs " ${archive_libs}")
    string(APPEND pc_cflags " -DHEADROOM_STATIC")
  endif()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/headroom.pc.in
    ${PROJECT_BINARY_DIR}/pkgconfig/headroom-${library}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/pkgconfig/headroom-${library}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endforeach()
