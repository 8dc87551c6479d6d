// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// What the host does with device memory: its own loads and stores, which a GPU's memory does not see or which come too early,
// and copies whose direction does not fit their pointers.
#pragma once

#include <cstdint>
#include <string>

#include "upsweep/simulator/cuda/runtime_api.h"

namespace upsweep::simulator {

// A load or store of the host's code to the range of device memory. Memory that only the device can reach is a finding, and so
// is what a launch uses for which the host has not waited. The access happens anyhow.
void host_access(std::uintptr_t address, bool writes, std::uintptr_t pc);
// Whether the direction of a copy fits its pointers. If it does not, this is a finding, and a GPU copies nothing.
bool check_direction(const void* to, const void* from, cudaMemcpyKind direction, std::uintptr_t caller);
// The host thread has waited for all that it launched.
void synchronised();
// A launch of this host thread has run. On a GPU it might still run when the host goes on.
void launched(const std::string& kernel, std::uint32_t number);

} // namespace upsweep::simulator
