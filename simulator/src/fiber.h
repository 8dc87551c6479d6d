// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The switch between the stacks of a host thread. A simulated access is a switch to the scheduler's stack and one back, so that
// its cost is most of the simulator's. Boost.Context's switch goes on by an indirect jump, after which the processor predicts
// no return of the callers; this one returns, and keeps only what the calling convention asks for, without the control words of
// the floating-point units.
#pragma once

#include <cstdint>

#ifndef __x86_64__
#error "The simulator runs on x86-64: its assembler stage and this switch are written for it."
#endif

namespace upsweep::simulator {

using fiber = void*; // the top of the stack of one that does not run

// Goes on with another fiber, and leaves the calling one in `from`.
extern "C" __attribute__((visibility("hidden"))) void upsweep_simulator_switch(fiber* from, fiber to);

// A fiber that begins with `entry`, which never returns. `top` is the end of its stack.
inline fiber new_fiber(std::uint8_t* top, void (*entry)())
{
    auto* place = reinterpret_cast<std::uintptr_t*>(reinterpret_cast<std::uintptr_t>(top) & ~std::uintptr_t{15});
    constexpr int saved_registers = 6;
    *--place = 0; // where `entry` would return to
    *--place = reinterpret_cast<std::uintptr_t>(entry);
    return place - saved_registers;
}

} // namespace upsweep::simulator
