// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "variance.hpp"

namespace upsweep::runtime {

template const variance_engine& variance_engine_of<std::int8_t>();
template const variance_engine& variance_engine_of<std::uint8_t>();
template const variance_engine& variance_engine_of<std::int16_t>();
template const variance_engine& variance_engine_of<std::uint16_t>();
template const variance_engine& variance_engine_of<std::int32_t>();
template const variance_engine& variance_engine_of<std::uint32_t>();
template const variance_engine& variance_engine_of<std::int64_t>();
template const variance_engine& variance_engine_of<std::uint64_t>();

} // namespace upsweep::runtime
