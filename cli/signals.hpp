// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

namespace upsweep::cli {

// On a signal that ends the process, removes the temporary files of unfinished outputs first. A mapped file that
// shrinks while it is read (SIGBUS) is reported like any other error.
void install_signal_handlers();

} // namespace upsweep::cli
