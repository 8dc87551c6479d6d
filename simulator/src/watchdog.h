// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Ends a loop of a kernel that touches no memory and comes to no barrier, so that the scheduler never gets it back. A timer
// of the host thread's processor time interrupts it, and the interrupted thread of the kernel goes on in the simulator.
#pragma once

#include <cstdint>

#include "segments.h"

namespace upsweep::simulator {

// What the watchdog looks at, from a signal handler.
struct watched_launch {
    const volatile std::uint64_t* steps = nullptr; // changes as long as the scheduler runs
    segment code;                                  // the program's own, in which a thread may be interrupted
    double seconds = 0;                            // of processor time that a thread may take between two steps
};

// Watches the calling host thread for as long as it lives.
class watchdog {
public:
    explicit watchdog(const watched_launch& what);
    ~watchdog();
    watchdog(const watchdog&) = delete;
    watchdog& operator=(const watchdog&) = delete;
};

} // namespace upsweep::simulator
