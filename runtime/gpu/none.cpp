// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "engine.hpp"

namespace upsweep::runtime::gpu {

namespace {

[[noreturn]] void throw_none()
{
    throw error(error_kind::no_device, "upsweep", "this build has no GPU engine",
                "use the target cpu or auto, or build where CUDA's compiler, nvcc, is installed");
}

} // namespace

std::string device_name() { throw_none(); }
std::unique_ptr<any_reducer> make_reducer(const reduce_request&) { throw_none(); }
std::unique_ptr<any_scanner> make_scanner(const scan_request&) { throw_none(); }
std::unique_ptr<any_counter> make_counter(const counter_request&, const even_bins&) { throw_none(); }
std::unique_ptr<any_counter> make_counter(const counter_request&, const edges&) { throw_none(); }
std::unique_ptr<any_counter> make_byte_counter(cpu) { throw_none(); }

} // namespace upsweep::runtime::gpu
