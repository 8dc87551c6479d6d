#!/usr/bin/env bash
# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#
# usage: sanitize.sh GPU_TESTS
# Runs the tests of few elements under compute-sanitizer: accesses out of bounds, races in shared memory, memory that is
# read before it is written, wrong barriers.
set -euo pipefail

status=0
# Blocks that share a table have 128 barriers in shared memory, more than synccheck reckons with.
for tool in memcheck racecheck initcheck 'synccheck --num-cuda-barriers 4096'; do
    printf '\n=== compute-sanitizer %s\n' "$tool"
    # shellcheck disable=SC2086 # a tool and its options
    compute-sanitizer --tool $tool --error-exitcode 1 "$1" --gtest_filter='small.*' --gtest_brief=1 || status=1
done
exit "$status"
