// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <upsweep/runtime.h>

#include "axis.hpp"
#include "inputs.hpp"
#include "options.hpp"
#include "report.hpp"
#include "sample_range.hpp"

namespace upsweep::cli {

struct histogram_options : common_options {
    std::string bins = "10";
    std::string range;
    std::string edges;
    std::string axis;
    bool text = false;
    std::string group = "4";
    std::string output;
};

// Bins of equal width over a range, or between edges where there are any.
struct sample_bins {
    std::uint64_t count = 0;
    sample_range range;
    std::vector<double> edges;
    bool single = false; // whether the edges of a range are computed in f32

    // Edge k: the lower bound of bin k, the upper bound of bin k - 1 (docs/histogram.md).
    double edge(std::uint64_t k) const;
};

// Has the edges of a range computed in f32, where they ascend. Returns them, or nothing where they are those of f64,
// rounded to f32: the library finds these bins faster.
[[nodiscard]] std::vector<double> take_single_edges(sample_bins& bins);

// LO:HI and A,B,...; these throw usage_error, as for bounds that are not ascending or not finite.
[[nodiscard]] sample_range range_option(std::string_view text);
[[nodiscard]] std::vector<double> edges_option(std::string_view text);

// Throws a failure where the counts of so many bins do not fit the memory of the machine.
void check_memory(std::uint64_t bins);

// How many letters share a bin.
[[nodiscard]] std::uint64_t group_option(const histogram_options& options);

// Prints the counts as the options say.
void report_samples(const histogram_options& options, const inputs& in, const sample_bins& bins,
                    const std::vector<std::uint64_t>& counts, const upsweep_outside& outside, const measurement& done);
// Writes the counts of an array along an axis to the output, or prints them, and what the options say of them.
void report_lines(const histogram_options& options, const inputs& in, const array_along_axis& array,
                  const sample_bins& bins, const array_values& counts, const upsweep_outside& outside);
void report_letters(const histogram_options& options, const inputs& in, const std::vector<std::uint64_t>& counts,
                    std::uint64_t others, const measurement& done);

} // namespace upsweep::cli
