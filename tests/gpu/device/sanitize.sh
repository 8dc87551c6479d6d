#!/usr/bin/env bash
# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#
# usage: sanitize.sh GPU_TESTS
# Runs the tests of few elements under compute-sanitizer: accesses out of bounds, races in shared memory, memory that is
# read before it is written, wrong barriers.
set -euo pipefail

status=0
for tool in memcheck racecheck initcheck synccheck; do
    tests='small.*'
    # synccheck has no room for the barriers at which transfers between the blocks of a cluster count, and ends the
    # kernel.
    [[ $tool == synccheck ]] &&
        tests+='-small.histogram_in_two_halves:small.histogram_channels:small.histogram_of_a_part_of_an_image'
    printf '\n=== compute-sanitizer %s\n' "$tool"
    compute-sanitizer --tool "$tool" --error-exitcode 1 "$1" --gtest_filter="$tests" --gtest_brief=1 || status=1
done
exit "$status"
