# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#
# The tests that run in the simulator and on a GPU, and those of them that a second compiler is given.
set(gpu_tests reduce.cu reduce_operators.cu reduce_floats.cu scan.cu scan_operators.cu scan_conversions.cu monoids.cu moments.cu bulk_copies.cu
    argmin.cu axis.cu axis_scans.cu rows.cu staged_rows.cu lane_rows.cu short_rows.cu columns.cu few_columns.cu columns_of_words.cu columns_of_half_floats.cu axis_histogram.cu by_key.cu image.cu image_bands.cu partials.cu recurrence.cu segmented.cu segmented_histogram.cu select.cu streaming.cu view_reduce.cu view_scan.cu view_histogram.cu view_several.cu joint_histogram.cu
    histogram.cu histogram_bins.cu histogram_tables.cu histogram_of_bytes.cu histogram_of_words.cu
    histogram_of_half_floats.cu histogram_of_floats.cu
    matrix_histogram.cu matrix_histogram_of_narrow_integers.cu matrix_histogram_of_floats.cu
    weighted_histogram.cu weighted_histogram_bins.cu weighted_histogram_of_integers.cu
    weighted_histogram_of_narrow_floats.cu weighted_histogram_of_doubles.cu)
# On a GPU alone: in the simulator f32 and u16 stand for what is as wide and no less simple, and words of columns_of_words.cu for truths.
set(gpu_tests_of_more_types axis_of_more_types.cu matrix_histogram_of_i32_and_bf16.cu)
# In the simulator these come first (tests/CMakeLists.txt).
set(first_gpu_tests reduce.cu reduce_operators.cu reduce_floats.cu view_reduce.cu scan.cu scan_conversions.cu simulated.cu bulk_copies.cu
    argmin.cu by_key.cu segmented.cu axis.cu axis_scans.cu rows.cu short_rows.cu select.cu simulated_select.cu image.cu image_bands.cu simulated_runs.cu
    histogram_of_bytes.cu histogram_of_words.cu histogram_of_half_floats.cu histogram_of_floats.cu)
set(gpu_tests_of_compilers reduce.cu scan.cu view_reduce.cu bulk_copies.cu histogram_of_floats.cu)
# In the simulator those are compiled as one that share most: what each of two files instantiates is compiled once, and what both
# include is parsed once. Those that are named nowhere are compiled alone.
set(gpu_tests_compiled_together
    "reduce.cu reduce_operators.cu reduce_floats.cu view_reduce.cu"
    "argmin.cu by_key.cu segmented.cu"
    "rows.cu short_rows.cu"
    "staged_rows.cu lane_rows.cu"
    "select.cu simulated_select.cu"
    "image.cu image_bands.cu"
    "recurrence.cu monoids.cu"
    "histogram.cu histogram_bins.cu histogram_tables.cu"
    "histogram_of_bytes.cu histogram_of_words.cu histogram_of_half_floats.cu histogram_of_floats.cu"
    "matrix_histogram_of_floats.cu matrix_histogram_of_narrow_integers.cu"
    "joint_histogram.cu view_histogram.cu view_several.cu"
    "weighted_histogram.cu weighted_histogram_bins.cu weighted_histogram_of_integers.cu"
    "weighted_histogram_of_narrow_floats.cu weighted_histogram_of_doubles.cu simulated_weighted_histogram.cu"
    "axis_histogram.cu segmented_histogram.cu simulated_histogram_lines.cu"
    "simulated.cu bulk_copies.cu"
    "simulated_histogram.cu simulated_lines.cu simulated_shapes.cu")
