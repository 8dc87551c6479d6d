// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace upsweep::cli {

// On a signal that ends the process, removes the temporary file of an unfinished output first. A mapped file that
// shrinks while it is read (SIGBUS) is reported like any other error.
void install_signal_handlers();

// The file to remove; an empty path for none. A path too long to be kept is not removed.
void set_unfinished_output(const std::string& path);

} // namespace upsweep::cli
