#!/usr/bin/env bash
# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#
# The command on a GPU: what --target cuda prints and writes is what --target cpu does, to the bit, of files of some GB,
# which may be larger than the memory that is allowed. Times are shown; those of scans are mostly the file system's.
#
#     tests/gpu/command.sh [COMMAND [GIBIBYTES]]
set -euo pipefail
command=$(realpath "${1:-build/bin/upsweep}")
gibibytes=${2:-4}
folder=$(mktemp -d "${TMPDIR:-/tmp}/upsweep-gpu-XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder"

failures=0
seconds_of() { grep -o '"seconds":[0-9.e-]*' "$1" | cut -d: -f2; }

# show NAME SAME: one line, with the times in cpu.json and cuda.json.
show() {
    local verdict=same
    "${@:2}" || { verdict=DIFFERENT; failures=$((failures + 1)); }
    printf '%-58s cpu %8.3f s  cuda %8.3f s  %s\n' "$1" "$(seconds_of cpu.json)" "$(seconds_of cuda.json)" "$verdict"
}

result_of() { sed 's/.*"result":\([^,}]*\).*/\1/' "$1"; }
same_result() { [[ $(result_of cpu.json) == "$(result_of cuda.json)" ]]; }
check_reduce() {
    "$command" reduce --json --target cpu "$@" >cpu.json
    "$command" reduce --json --target cuda "$@" >cuda.json
    show "reduce $*" same_result
}

counts_of() { grep -o '"counts":.*' "$1" | sed 's/,"seconds":.*//'; }
same_counts() { [[ $(counts_of cpu.json) == "$(counts_of cuda.json)" ]]; }
check_histogram() {
    "$command" histogram --json --target cpu "$@" >cpu.json
    "$command" histogram --json --target cuda "$@" >cuda.json
    show "histogram $*" same_counts
}

check_scan() {
    "$command" scan --json --target cpu "$@" -o cpu.raw >cpu.json
    "$command" scan --json --target cuda "$@" -o cuda.raw >cuda.json
    show "scan $*" cmp -s cpu.raw cuda.raw
}

"$command" info
# Random bytes, and floats whose sum depends on the order: running sums of the bytes, rounded.
head -c $((gibibytes << 28)) /dev/urandom >bytes.raw
"$command" scan --dtype u8 --out-dtype f32 bytes.raw -o floats.raw

for dtype in u8 i16 i64; do
    check_reduce --dtype $dtype bytes.raw
done
check_reduce --dtype f32 floats.raw
check_reduce --dtype f32 --op max floats.raw
check_reduce --dtype f32 --gpu-memory 1M floats.raw
check_reduce --dtype f32 --gpu-memory 1G floats.raw bytes.raw
check_scan --dtype f32 floats.raw
check_scan --dtype f32 --exclusive --gpu-memory 3M floats.raw
check_scan --dtype i16 bytes.raw
check_scan --dtype i16 --op min --out-dtype i16 bytes.raw
head -c 100000001 bytes.raw >odd.raw
check_scan --dtype u8 --out-dtype f16 odd.raw
check_histogram --dtype f32 --bins 1000 floats.raw
check_histogram --dtype f32 --bins 100000 --range 0:3e10 --gpu-memory 3M floats.raw
check_histogram --dtype i32 --edges=-2e9,-1000,0,5,2e9 bytes.raw
check_histogram --text --group 1 bytes.raw
((failures == 0)) || { echo "$failures differ" >&2; exit 1; }
