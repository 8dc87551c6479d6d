// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "source.hpp"

namespace upsweep::cli {

// Elements stored as bytes: .npy files, and raw ones, which are nothing but elements.
[[nodiscard]] std::unique_ptr<source> open_npy(std::unique_ptr<byte_input> input, const source_options& options);
[[nodiscard]] std::unique_ptr<source> open_raw(std::unique_ptr<byte_input> input, upsweep_dtype dtype, int threads);

} // namespace upsweep::cli
