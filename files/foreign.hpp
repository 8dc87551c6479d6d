// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "byte_input.hpp"

namespace upsweep::files {

// Throws a failure that names the format and a way to convert it where the input is a file of another program's that
// people have numbers in: Parquet, HDF5, a database, a workbook, an archive, ...
void refuse_foreign(byte_input& input);

} // namespace upsweep::files
