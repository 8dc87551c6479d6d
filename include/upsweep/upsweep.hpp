// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

// Reduce, scan and histogram: one associative operator with its identity, applied over many elements at once, with one
// answer to the bit (docs/fold-order.md).

#include <upsweep/argmin.hpp>
#include <upsweep/axis.hpp>
#include <upsweep/axis_histogram.hpp>
#include <upsweep/by_key.hpp>
#include <upsweep/error.hpp>
#include <upsweep/histogram.hpp>
#include <upsweep/image.hpp>
#include <upsweep/joint_histogram.hpp>
#include <upsweep/matrix_histogram.hpp>
#include <upsweep/monoids.hpp>
#include <upsweep/op.hpp>
#include <upsweep/partial.hpp>
#include <upsweep/recurrence.hpp>
#include <upsweep/reduce.hpp>
#include <upsweep/scan.hpp>
#include <upsweep/segmented.hpp>
#include <upsweep/segmented_histogram.hpp>
#include <upsweep/select.hpp>
#include <upsweep/target.hpp>
#include <upsweep/types.hpp>
#include <upsweep/view.hpp>
#include <upsweep/weighted_histogram.hpp>
