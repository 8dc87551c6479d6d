// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

void increment_elsewhere(int* counter);
bool is_option(const char* argument);
