// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "engine.hpp"

namespace upsweep::runtime::gpu {

// The reduction or scan whose elements are folded in type Acc by the operator `op`, which may be another than the
// request's. Null where Acc has none of that name. Each Acc is instantiated in a file of its own under folds/.
template <class Acc>
std::unique_ptr<any_reducer> make_reducer_in(upsweep_op op, const reduce_request& request);
template <class Acc>
std::unique_ptr<any_scanner> make_scanner_in(upsweep_op op, const scan_request& request);

// The histogram whose samples are compared with edges in type Sample.
template <class Sample, class Bins>
std::unique_ptr<any_counter> make_counter_of(const counter_request& request, const Bins& bins);

} // namespace upsweep::runtime::gpu
