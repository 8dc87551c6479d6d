// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "instantiate.hpp"

template const upsweep::runtime::dtype_engine& upsweep::runtime::engine_of<std::int64_t>();
template const upsweep::runtime::dtype_engine& upsweep::runtime::engine_of<std::uint64_t>();
