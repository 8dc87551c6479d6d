// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "session.hpp"

namespace bench {

// Each in a file of its own, so that they are compiled side by side.
void measure_narrow_integers(session& run);
void measure_wide_integers(session& run);
void measure_half_floats(session& run);
void measure_floats(session& run);
void measure_max_plus(session& run);
void measure_affine(session& run);
void measure_matrices(session& run);
void measure_line_sums(session& run);
void measure_line_scans(session& run);
void measure_segments(session& run);
void measure_keys(session& run);
void measure_selections(session& run);
void measure_histograms_of_integers(session& run);
void measure_histograms_of_wide_integers(session& run);
void measure_histograms_of_floats(session& run);
void measure_histograms_by_edges(session& run);
void measure_weighted_histograms(session& run);
void measure_joint_histograms(session& run);
void measure_histograms_of_matrices(session& run);
void measure_histograms_of_lines(session& run);

// Of each element type in a file of its own.
template <class T>
void measure_scan_places(session& run, const std::string& type);
template <class T>
void measure_scans_by_arithmetic(session& run, const std::string& type);
template <class T>
void measure_scans_by_logic(session& run, const std::string& type);

} // namespace bench
