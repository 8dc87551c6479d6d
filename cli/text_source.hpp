// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "source.hpp"

namespace upsweep::cli {

// Numbers written out: separated by white space, or one column of a CSV table (options.csv, for which `csv` is set).
[[nodiscard]] std::unique_ptr<source> open_text(std::unique_ptr<byte_input> input, const source_options& options,
                                                bool csv);

} // namespace upsweep::cli
