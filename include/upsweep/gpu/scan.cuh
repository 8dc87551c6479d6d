// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

// For files that need the GPU alone: without the CPU engine they compile in half of the time.
#include <upsweep/gpu/fold/scan.cuh>
#include <upsweep/verb/scan.hpp>
