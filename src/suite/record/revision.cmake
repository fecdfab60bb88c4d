# Run at every build; rewrites the revision header only if the revision changed.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND git describe --always --dirty --abbrev=12
  WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE revision RESULT_VARIABLE failed
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(failed)
  set(revision "unknown")
endif()
# In UTC, so that texts are in the order of time.
execute_process(COMMAND ${CMAKE_COMMAND} -E env TZ=UTC0
  git show --no-patch --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd HEAD
  WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE committed RESULT_VARIABLE failed
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(failed)
  set(committed "")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY
  CONTENT "#pragma once\n#define HEADROOM_GIT_REVISION \"@revision@\"\n#define HEADROOM_COMMITTED \"@committed@\"\n")
