# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
# find_package(upsweep) after install: upsweep::upsweep, and upsweep::runtime where it was built.
include(CMakePackageConfigHelpers)

set(UPSWEEP_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/upsweep)
install(TARGETS upsweep EXPORT upsweepTargets)
install(DIRECTORY include/upsweep DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT upsweepTargets NAMESPACE upsweep:: DESTINATION ${UPSWEEP_CMAKE_DIR})
configure_package_config_file(cmake/upsweepConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/upsweepConfig.cmake
                              INSTALL_DESTINATION ${UPSWEEP_CMAKE_DIR})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/upsweepConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/upsweepConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/upsweepConfigVersion.cmake
        DESTINATION ${UPSWEEP_CMAKE_DIR})
