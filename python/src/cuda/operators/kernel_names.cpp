// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Before main, code that nvcc has written tells CUDA's runtime of each kernel: the stub by which the host knows it, and its name. That of the
// folds by an operator is compiled to call these functions instead (CMakeLists.txt renames them). The kernels that lie beside it call an
// operator that does not exist, so CUDA shall not hear of them, and their names say what to load in their place.
#include <string>
#include <unordered_map>

#include "folds.hpp"

namespace upsweep::python {

namespace {

std::unordered_map<const void*, std::string>& names()
{
    static std::unordered_map<const void*, std::string> of_stubs;
    return of_stubs;
}

} // namespace

const char* name_of_kernel(const void* stub) { return names().at(stub).c_str(); }

} // namespace upsweep::python

// As in crt/host_runtime.h of CUDA.
extern "C" {

void** upsweep_python_register_kernels(void*) { return nullptr; }
void upsweep_python_registered_kernels(void**) {}
void upsweep_python_unregister_kernels(void**) {}
void upsweep_python_register_kernel(void**, const char* stub, char*, const char* name, int, uint3*, uint3*, dim3*,
                                    dim3*, int*)
{
    upsweep::python::names()[stub] = name;
}

} // extern "C"
