// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "engine.hpp"

namespace upsweep::runtime::gpu {

// Makes a reduction or scan that folds in type Acc by the operator `op`, which may be another one than the request's.
// Returns null where Acc has no such operator. Each Acc is instantiated in a file of its own under folds/.
template <class Acc>
std::unique_ptr<any_reducer> make_reducer_in(upsweep_op op, const reduce_request& request);
template <class Acc>
std::unique_ptr<any_scanner> make_scanner_in(upsweep_op op, const scan_request& request);

// Makes a histogram whose samples are compared with edges in type Sample.
template <class Sample, class Bins>
std::unique_ptr<any_counter> make_counter_of(const counter_request& request, const Bins& bins);

} // namespace upsweep::runtime::gpu
