# Read by ctest whenever it starts, not by a build: a test for each file of tests, which runs as one process; with
# HEADROOM_EACH_CASE in the environment, a test for each case, so that -R finds one by its name. `folder` is where the
# programs are, `emulator` what runs them where they are for another processor.

# Tests run in parallel; OpenMP threads that spin while they wait would stall the others.
set(environment OMP_WAIT_POLICY=passive)

# headroom_tests_of_file(<test> <shards> <properties...>)
function(headroom_tests_of_file test shards)
  if(DEFINED ENV{HEADROOM_EACH_CASE})
    set(${test}_properties ENVIRONMENT ${environment} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  math(EXPR last "${shards} - 1")
  set(properties ${ARGN})
  foreach(shard RANGE ${last})
    set(name ${test})
    if(shards GREATER 1)
      string(APPEND name .part_${shard})
    endif()
    add_test(${name} ${emulator} ${folder}/${test} --gtest_brief=1)
    set_tests_properties(${name} PROPERTIES ${properties}
      ENVIRONMENT "${environment};GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard}")
    if(shard EQUAL 0)
      list(TRANSFORM properties REPLACE "^((library|machine)[a-z-]*)$" "\\1-slow")
    endif()
  endforeach()
endfunction()

# headroom_cases_of(<programs...>): after all files of them are known.
macro(headroom_cases_of)
  if(DEFINED ENV{HEADROOM_EACH_CASE})
    foreach(program ${ARGN})
      set(lines "add_test(${program}_is_not_built ${program}_is_not_built)")
      if(EXISTS ${folder}/${program})
        execute_process(COMMAND ${emulator} ${folder}/${program} --cases-for-ctest ${folder}
          OUTPUT_VARIABLE lines COMMAND_ERROR_IS_FATAL ANY)
      endif()
      cmake_language(EVAL CODE "${lines}")
    endforeach()
  endif()
endmacro()
