# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#
# cmake -DSOURCE=FILE -DCOMPILER=... -DFLAGS=... -P compile_fail.cmake
# FILE must not compile, with a message that has the words of its line "// expect: WORDS | WORDS ..."; with -DFIXED it must
# compile, so that it fails for the reason that it means. -DOUTPUT=FILE compiles to the end, for what only that refuses.
file(STRINGS ${SOURCE} expected REGEX "^// expect: ")
string(REGEX REPLACE "^// expect: " "" expected "${expected}")
string(REPLACE " | " ";" expected "${expected}")

set(how -fsyntax-only)
if(DEFINED OUTPUT)
  set(how -c -o ${OUTPUT})
endif()
set(compile ${COMPILER} ${FLAGS} ${how} ${SOURCE})
execute_process(COMMAND ${compile} -DFIXED RESULT_VARIABLE status ERROR_VARIABLE message)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "does not compile with FIXED:\n${message}")
endif()
execute_process(COMMAND ${compile} RESULT_VARIABLE status ERROR_VARIABLE message)
if(status EQUAL 0)
  message(FATAL_ERROR "compiles")
endif()
foreach(words IN LISTS expected)
  string(FIND "${message}" "${words}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "\"${words}\" is missing in the compiler's message:\n${message}")
  endif()
endforeach()
