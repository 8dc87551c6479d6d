// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include <upsweep/files.hpp>

namespace upsweep::cli {

// The elements of a JSON array on standard output, without its brackets.
[[nodiscard]] std::unique_ptr<files::writer> write_json_elements(upsweep_dtype dtype);

// For a terminal: the first and the last values, and how many were left out between them.
[[nodiscard]] std::unique_ptr<files::writer> write_head_and_tail(upsweep_dtype dtype, std::size_t lines);

} // namespace upsweep::cli
