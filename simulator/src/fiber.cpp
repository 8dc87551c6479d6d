// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "fiber.h"

asm(R"(
    .text
    .p2align 5
    .globl upsweep_simulator_switch
    .hidden upsweep_simulator_switch
    .type upsweep_simulator_switch, @function
upsweep_simulator_switch:
    .cfi_startproc
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .cfi_endproc
    .size upsweep_simulator_switch, . - upsweep_simulator_switch
)");
