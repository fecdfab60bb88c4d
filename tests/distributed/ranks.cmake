# Programs that run under mpirun, once for each number of ranks.
include(${CMAKE_CURRENT_LIST_DIR}/launcher.cmake)

# For scripts/test --cluster.
add_custom_target(mpi-tests)

# headroom_add_rank_tests(<name>... RANKS <numbers...> LIBRARIES <targets...>): the test program
# distributed_<name>_test, and a test of it for each number of ranks.
function(headroom_add_rank_tests)
  cmake_parse_arguments(arg "" "" "RANKS;LIBRARIES" ${ARGN})
  foreach(name IN LISTS arg_UNPARSED_ARGUMENTS)
    set(test distributed_${name}_test)
    add_executable(${test} distributed/${name}_test.cpp support/ranks_main.cpp)
    headroom_configure(${test})
    target_include_directories(${test} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_link_libraries(${test} PRIVATE headroom_test_support headroom::mpi ${arg_LIBRARIES}
      GTest::gtest)
    add_dependencies(library-tests ${test})
    add_dependencies(mpi-tests ${test})
    foreach(ranks IN LISTS arg_RANKS)
      add_test(NAME ${test}.ranks_${ranks}
        COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} $<TARGET_FILE:${test}>)
      set_tests_properties(${test}.ranks_${ranks} PROPERTIES
        ENVIRONMENT "${headroom_ranks_environment}" LABELS "library;mpi;slow" PROCESSORS 3 TIMEOUT 600 COST 50)
    endforeach()
  endforeach()
endfunction()

headroom_add_rank_tests(ranks_layer ranks_faults RANKS 1 2 3 4 8)
# Every allocation in turn, so that more ranks than cores take minutes.
headroom_add_rank_tests(ranks_memory RANKS 2 3)

# The program itself.
if(TARGET headroom AND HEADROOM_BUILD_BENCHMARKS)
  headroom_add_tests(distributed ranks_cli LIBRARIES headroom::show PROPERTIES PROCESSORS 3 TIMEOUT 600)
  if(TARGET distributed_tests)
    target_compile_definitions(distributed_tests PRIVATE
      HEADROOM_PROGRAM="$<TARGET_FILE:headroom>" HEADROOM_BROKEN_PROGRAM=""
      HEADROOM_MPIEXEC="${MPIEXEC_EXECUTABLE}")
    add_dependencies(distributed_tests headroom)
    add_dependencies(mpi-tests distributed_tests)
  endif()
endif()
