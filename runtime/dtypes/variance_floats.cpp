// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "variance.hpp"

namespace upsweep::runtime {

template const variance_engine& variance_engine_of<float>();
template const variance_engine& variance_engine_of<double>();
template const variance_engine& variance_engine_of<f16>();
template const variance_engine& variance_engine_of<bf16>();

} // namespace upsweep::runtime
