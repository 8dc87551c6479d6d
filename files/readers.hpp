// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <upsweep/files.hpp>

#include "byte_input.hpp"

namespace upsweep::files {

// Elements stored as bytes: .npy files, and raw ones, which are nothing but elements.
[[nodiscard]] std::unique_ptr<reader> read_npy(std::unique_ptr<byte_input> input, const read_options& options);
[[nodiscard]] std::unique_ptr<reader> read_raw(std::unique_ptr<byte_input> input, upsweep_dtype dtype, int threads);

// Numbers written out: separated by white space, or one column of a CSV table.
[[nodiscard]] std::unique_ptr<reader> read_text(std::unique_ptr<byte_input> input, const read_options& options);
[[nodiscard]] std::unique_ptr<reader> read_csv(std::unique_ptr<byte_input> input, const read_options& options);

} // namespace upsweep::files
