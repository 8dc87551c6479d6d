#!/usr/bin/env python3
# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""What the kernels of libupsweep take of a GPU, as ptxas tells when it is asked to (-Xptxas=-v).

usage: resources.py keep COMMAND...      runs a compiler's command, and moves what ptxas tells into OBJECT.resources, if it makes machine code
       resources.py check FOLDER...      prints the kernels in the folders that spill; fails where one may not
"""

import pathlib
import re
import subprocess
import sys

# Bytes that kernels may spill, stores and loads together, by what their mangled names have: what was measured to be worth it, or not
# yet mended. A kernel of no line may not spill.
ALLOWED = (
    # These keep to the registers of a number of blocks a multiprocessor, which is worth more than what they spill outside their loops,
    # where bins are found by search or in f64.
    (r"\d(split|cluster_histogram)_kernel", 208),
    (r"\dblock_histogram_kernel", 416),
    (r"\d(lines|segments|rows_by_warps|rows_by_blocks)_kernel", 160),
    # Logarithms of sums, which in f64 are a call.
    (r"\d(small_)?(reduce|scan)_kernel.*log_sum_exp", 160),
    # Moments in the block that folds the totals of all others; these spill nothing.
    (r"\dreduce_kernel.*variance", 3200),
    # Moments of short rows, of which a lane has one, whatever its length. Not yet mended.
    (r"\dreduce_segments_kernel(?!.*strided_source).*moments", 160),
    # What a task of segments keeps beside its windows, in registers for five or six blocks of a multiprocessor.
    (r"\dreduce_segments_kernel(?!.*strided_source)", 64),
    # Elements that are converted where they are read.
    (r"\d((small_)?reduce|small_scan)_kernel.*(typed_input|truth_of_elements)", 40),
    # Scans of f64 by an operator that is chosen for each operation, which computes all that there are. Not yet mended.
    (r"\dscan_(heads|runs|tiled|columns|panels|walked|warp_rows)_kernel(?!.*strided_source).*any_opId", 768),
    (r"\dscan_segments_kernel(?!.*strided_source).*any_opId", 1040),
    (r"\dscan_parts_kernel.*any_opId", 800),
    # Columns of narrow elements, for eight blocks of a multiprocessor: seven spill nothing, and take up to 7 % longer.
    (r"\dscan_columns_kernelINS0_12column_shapeILi64ELi8ELi4", 32),
    # The binary counter of the blocks that a warp has walked past, of totals of 8 bytes; of segments, fewer warps or fewer rows a step spill nothing and
    # are slower.
    (r"\dscan_warp_rows_kernel", 128),
    (r"\dscan_parts_kernelIddd", 192),
    # Lines of pieces whose totals are in memory: a value that waits for loads.
    (r"\dreduce_lines_kernelId.*(minimum|maximum)", 32),
    # Views of f64, for four blocks of a multiprocessor: three spill nothing, and take up to a quarter longer.
    (r"\dreduce_kernel.*strided_sourceIKdLm4E.*(minimum|maximum)", 36),
    # Many columns of bytes.
    (r"\dreduce_columns_kernel.*Ehhh", 24),
    # Columns of f64, and of two half floats a word: three blocks of a multiprocessor leave 80 registers a thread. A scan has the folds before an element
    # and with it, of which it writes one.
    (r"\dreduce_columns_kernel.*Eddd", 16),
    (r"\dscan_columns_kernel.*Eddd", 40),
    (r"\dscan_columns_kernel.*adjacentIfLi2E", 16),
    (r"\dscan_walked_kernel.*Eddd", 16),
    (r"\dreduce_columns_kernel.*adjacentIjLi4E", 64),
    # Selections of bytes. Not yet mended.
    (r"\dselect_kernelIPKhS", 16),
    # Recurrences of f64, and the heads of runs of 2^32 keys and more, which have 16 bytes a value. Not yet mended.
    (r"\drecurrence_pieces_kernelI.*Idddd", 160),
    (r"\d(small_)?scan_kernel.*run_headsIm", 160),
    # Short rows of a view of any strides, whose places a lane finds from three extents; and integers along few columns. Not yet mended.
    (r"\d(reduce|scan)_segments_kernel.*strided_source", 3300),
    (r"\dreduce_tiled_kernel", 400),
)

# A kernel in the output of `ptxas -v`.
KERNEL = re.compile(
    r"ptxas info +: Compiling entry function '(?P<name>\w+)' for 'sm_\w+'\n"
    r"ptxas info +: Function properties for \w+\n"
    r" +(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads\n"
    r"ptxas info +: Used (?P<registers>\d+) registers.*\n"
)
OF_PTXAS = re.compile(r"ptxas info +:.*\n( +\d+ bytes stack frame.*\n)?")


def keep(command):
    compiled = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    if "-o" in command:
        resources = pathlib.Path(command[command.index("-o") + 1] + ".resources")
        if not any("sm_" in part for part in command):
            resources.unlink(missing_ok=True)
        else:
            resources.write_text(compiled.stderr)
    sys.stderr.write(OF_PTXAS.sub("", compiled.stderr))
    return compiled.returncode


def function_name(mangled):
    """The kernel's name without its namespaces and template arguments."""
    rest, name = mangled.removeprefix("_ZN").removeprefix("_Z"), mangled
    while length := re.match(r"\d+", rest):
        end = length.end() + int(length[0])
        name, rest = rest[length.end():end], rest[end:]
    return name


def check(folders):
    files = sorted(file for folder in folders for file in pathlib.Path(folder).rglob("*.resources"))
    kernels = {}
    for file in files:
        of_file = {kernel["name"]: kernel for kernel in KERNEL.finditer(file.read_text())}
        if not of_file and "/gpu/typed/" in str(file) and "table" not in file.name:
            sys.exit(f"{file}: ptxas reported no kernel")
        kernels |= of_file
    wrong = []
    print(f"{len(kernels)} kernels in {len(files)} files; of these spill, in bytes:")
    print(f"{'kernel':28}{'registers':>10}{'stack':>8}{'stores':>8}{'loads':>8}")
    for mangled, kernel in sorted(kernels.items()):
        name, spilled = function_name(mangled), int(kernel["stores"]) + int(kernel["loads"])
        if spilled == 0:
            continue
        too_many = spilled > next((most for pattern, most in ALLOWED if re.search(pattern, mangled)), 0)
        line = f"{name:28}{kernel['registers']:>10}{kernel['stack']:>8}{kernel['stores']:>8}{kernel['loads']:>8}   {mangled}"
        print(line)
        if too_many:
            wrong.append(line)
    # Once more and last, where a long output is read first.
    for line in wrong:
        print(f"may not spill as much: {line}")
    return 1 if wrong or not kernels else 0


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["keep", *command] if command:
            sys.exit(keep(command))
        case ["check", *folders] if folders:
            sys.exit(check(folders))
        case _:
            sys.exit(__doc__)
