# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#
# cmake -D PROGRAM=... -D SOURCE=... -P check_output.cmake: the program prints what the comment at the end of its source says.
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
file(READ ${SOURCE} source)
string(FIND "${source}" "// Prints:\n" position)
if(position EQUAL -1)
  message(FATAL_ERROR "${SOURCE} does not say what it prints")
endif()
string(SUBSTRING "${source}" ${position} -1 expected)
string(REPLACE "// Prints:\n" "" expected "${expected}")
string(REGEX REPLACE "(^|\n)// ?" "\\1" expected "${expected}")
if(NOT printed STREQUAL expected)
  message(FATAL_ERROR "${PROGRAM} printed\n${printed}\nbut its source says\n${expected}")
endif()
