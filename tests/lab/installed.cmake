# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#
# Installs to PREFIX, and runs the learner's programs and a kernel of the ladders with the command from there.
file(REMOVE_RECURSE ${PREFIX})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)

function(expect status text)
  list(TRANSFORM INSTALLED_COMMAND REPLACE "^bin/" "${PREFIX}/bin/")
  execute_process(COMMAND ${INSTALLED_COMMAND} ${ARGN} RESULT_VARIABLE got OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT got STREQUAL status OR NOT out MATCHES "${text}")
    message(FATAL_ERROR "${ARGN}: status ${got} in place of ${status}, or not '${text}':\n${out}")
  endif()
endfunction()

expect(0 "no findings" run ${PROGRAMS}/sum.cu)
expect(3 "no findings" run ${PROGRAMS}/exits_with_three.cu)
expect(1 "race" run ${PROGRAMS}/racing.cu)
expect(1 "does not compile" run ${PROGRAMS}/does_not_compile.cu)

# The installed headers, not those of the build: this one is nowhere else.
file(WRITE ${PREFIX}/${LAB_FOLDER}/include/only_installed.h "inline constexpr int status = 5;\n")
file(WRITE ${PREFIX}/uses_it.cu "#include <only_installed.h>\nint main() { return status; }\n")
expect(5 "no findings" run ${PREFIX}/uses_it.cu)

# The same for the sources of the kernels.
file(READ ${PREFIX}/${LAB_FOLDER}/kernels/reduce.cuh text)
string(REPLACE "// R4. " "// R4, as installed. " text "${text}")
file(WRITE ${PREFIX}/${LAB_FOLDER}/kernels/reduce.cuh "${text}")
expect(0 "// R4, as installed" explain R4)
