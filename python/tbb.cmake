# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#
# oneTBB as pip installs it for the build (tbb-devel). Without it CMake finds the machine's.
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(
  COMMAND ${Python_EXECUTABLE} -c "
import importlib.metadata
for file in importlib.metadata.files('tbb-devel'):
    if file.name == 'TBBConfig.cmake':
        print(file.locate().resolve().parent)
"
  OUTPUT_VARIABLE TBB_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
