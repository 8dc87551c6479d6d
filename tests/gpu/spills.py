#!/usr/bin/env python3
# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Fails where ptxas spills registers in a kernel of the sum, the inclusive scan or the histograms of an element type.

usage: spills.py [--nvcc NVCC] [--arch ARCH] [--folder FOLDER] [--histograms] [TYPE...]
types: i8 i16 i32 i64 f16 bf16 f32 f64, all if none is given. NVCC may be "ccache nvcc", which finds what it compiled in the same
FOLDER of another clone of the repository.
"""

import argparse
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

TYPES = {
    "i8": "std::int8_t",
    "i16": "std::int16_t",
    "i32": "std::int32_t",
    "i64": "std::int64_t",
    "f16": "upsweep::f16",
    "bf16": "upsweep::bf16",
    "f32": "float",
    "f64": "double",
}

SOURCE = """
#include <upsweep/upsweep.hpp>

using element = %s;
using total = upsweep::result_t<upsweep::plus, element>;

void fold(const upsweep::cuda& gpu, std::span<const element> in, total* sum, std::span<element> out)
{
    upsweep::reduce(gpu, in, sum, upsweep::plus{});
    upsweep::inclusive_scan(gpu, in, out);
}
"""

HISTOGRAMS = """
#include <upsweep/upsweep.hpp>

using element = %s;

void count(const upsweep::cuda& gpu, std::span<const element> in, const upsweep::edges& edges,
           std::span<std::uint64_t> counts, upsweep::outside* out_of_range)
{
    upsweep::histogram(gpu, in, upsweep::even_bins{0, 1, counts.size()}, counts, out_of_range);
    upsweep::histogram(gpu, in, edges, counts, out_of_range);
}
"""

# Bytes that may be spilled, stores and loads together. These keep to the registers of a number of blocks a multiprocessor, which is
# worth more than the few words that they spill outside their loops, where bins are found by search or in f64.
ALLOWED = {"split_kernel": 208, "block_histogram_kernel": 32}

# Of a kernel in the output of `ptxas -v`.
RESOURCES = re.compile(
    r"Compiling entry function '(?P<kernel>\w+)'.*?"
    r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads.*?"
    r"Used (?P<registers>\d+) registers",
    re.DOTALL,
)


def kernel_name(mangled):
    """reduce, scan and the numbers of its shape, or the function of a histogram."""
    of_histogram = re.match(r"_ZN7upsweep3gpu\d+(\w*?_kernel)I?", mangled)
    if "reduce_kernel" in mangled:
        return "reduce few" if "small" in mangled else "reduce"
    numbers = re.search(r"scan_shape\w*?((?:Li\d+E)+)", mangled)
    if numbers:
        return "scan " + " ".join(re.findall(r"Li(\d+)E", numbers[1]))
    return of_histogram[1] if of_histogram else mangled


def kernels_of(name, nvcc, arch, folder, histograms):
    include = pathlib.Path(__file__).resolve().parents[2] / "include"
    source = pathlib.Path(folder) / f"{name}{'_histograms' if histograms else ''}.cu"
    source.write_text((HISTOGRAMS if histograms else SOURCE) % TYPES[name])
    command = [*shlex.split(nvcc), "-std=c++20", f"-arch={arch}", "--fmad=false", "--expt-relaxed-constexpr",
               "-Xcompiler=-ffp-contract=off", "-Xptxas=-v", f"-I{include}", "-c", "-o", f"{source}.o", str(source)]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False)
    if compiled.returncode != 0:
        sys.exit(compiled.stderr)
    kernels = list(RESOURCES.finditer(compiled.stderr))
    names = {kernel_name(kernel["kernel"]).split()[0] for kernel in kernels}
    wanted = {"block_histogram_kernel"} if histograms else {"reduce", "scan"}
    if not wanted <= names:
        sys.exit(f"ptxas reported no kernel of {' or of '.join(wanted - names)}:\n{compiled.stderr}")
    return kernels


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("types", nargs="*")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--folder", help="for the sources and objects")
    parser.add_argument("--histograms", action="store_true", help="and not reduce and scan")
    chosen = parser.parse_args()
    if unknown := set(chosen.types) - set(TYPES):
        parser.error(f"unknown types: {' '.join(sorted(unknown))}")

    spilling = 0
    print(f"{'type':6}{'kernel':14}{'registers':>10}{'stack':>8}{'spill stores':>14}{'spill loads':>13}   (bytes)")
    scratch = tempfile.TemporaryDirectory()
    for name in chosen.types or TYPES:
        for kernel in kernels_of(name, chosen.nvcc, chosen.arch, chosen.folder or scratch.name, chosen.histograms):
            allowed = ALLOWED.get(kernel_name(kernel["kernel"]), 0)
            spills = int(kernel["stores"]) + int(kernel["loads"]) > allowed
            spilling += spills
            print(f"{name:6}{kernel_name(kernel['kernel']):14}{kernel['registers']:>10}{kernel['stack']:>8}"
                  f"{kernel['stores']:>14}{kernel['loads']:>13}{'   spills' if spills else ''}", flush=True)
    return 1 if spilling else 0


if __name__ == "__main__":
    sys.exit(main())
