# Run at every build; rewrites the revision header only if the revision changed.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND git describe --always --dirty --abbrev=12
  WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE revision RESULT_VARIABLE failed
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(failed)
  set(revision "unknown")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY
  CONTENT "#pragma once\n#define HEADROOM_GIT_REVISION \"@revision@\"\n")
