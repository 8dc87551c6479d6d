# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#
# Configures, builds and runs the project in consumer/, which gets Upsweep by find_package or by add_subdirectory.
file(REMOVE_RECURSE ${FOLDER})

if(WAY STREQUAL "find_package")
  execute_process(COMMAND ${CMAKE_COMMAND} --install ${UPSWEEP_BUILD} --prefix ${FOLDER}/prefix
                  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  set(where -D CMAKE_PREFIX_PATH=${FOLDER}/prefix)
else()
  set(where -D UPSWEEP_SOURCE=${UPSWEEP_SOURCE})
endif()

execute_process(COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${FOLDER}/build -G ${GENERATOR} ${where}
                        -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${FOLDER}/build COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${FOLDER}/build/consumer COMMAND_ERROR_IS_FATAL ANY)
if(WAY STREQUAL "find_package")
  execute_process(COMMAND ${FOLDER}/build/c_consumer COMMAND_ERROR_IS_FATAL ANY)
endif()
