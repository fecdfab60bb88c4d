# headroom-<library>.pc for every public library. Archives come with all that they are linked with;
# shared libraries know it themselves.

# The prefix is found from the file's own place, so that an installed tree can be moved.
file(RELATIVE_PATH pc_prefix
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
set(pc_prefix "\${pcfiledir}/${pc_prefix}")

# What archives of a library are linked with.
set(core_static_requires fmt)
set(core_static_libs "-lstdc++ -lm")
set(xsimd_static_libs "-lheadroom-simd_backend -lheadroom-simd")
set(tbb_static_libs "-lheadroom-simd_backend -lheadroom-simd")
set(tbb_static_requires tbb)
set(onednn_static_libs "-ldnnl")
if(OpenMP_CXX_FOUND)
  string(APPEND onednn_static_libs " ${OpenMP_CXX_FLAGS}")
endif()

get_property(libraries GLOBAL PROPERTY HEADROOM_PUBLIC_LIBRARIES)
foreach(library IN LISTS libraries)
  set(pc_requires "")
  set(pc_cflags "-I\${includedir}")
  set(pc_libs "-L\${libdir} -lheadroom-${library}")
  if(NOT library STREQUAL "core")
    set(pc_requires "headroom-core = ${PROJECT_VERSION}")
    # As in headroom_add_backend. One word, because pkg-config may drop words that come twice.
    if(BUILD_SHARED_LIBS)
      set(pc_libs "-L\${libdir} -Wl,--push-state,--no-as-needed,-lheadroom-${library},--pop-state")
    else()
      set(pc_libs "-L\${libdir} -Wl,-u,headroom_backend_${library} -lheadroom-${library}")
    endif()
  endif()
  if(NOT BUILD_SHARED_LIBS)
    string(APPEND pc_requires " ${${library}_static_requires}")
    string(APPEND pc_libs " ${${library}_static_libs}")
    string(APPEND pc_cflags " -DHEADROOM_STATIC")
  endif()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/headroom.pc.in
    ${PROJECT_BINARY_DIR}/pkgconfig/headroom-${library}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/pkgconfig/headroom-${library}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endforeach()
