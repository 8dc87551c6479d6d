#!/usr/bin/env python3
# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Times nvcc on a file with one reduce and one scan of a type, with Upsweep and with CUB, by turns, each by the headers of
the two algorithms; and with Upsweep's one header for all, which brings the CPU engine and oneTBB, too: the seconds that
processors were busy with it, which other work on the machine changes less than the time that passes. The least of some
counts.

    python3 bench/gpu/compile_time.py [--types i32,f32] [--arch sm_90] [--cub INCLUDE_FOLDER...] [--out ROWS.jsonl]
"""
import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile

TYPES = {"i8": "signed char", "i16": "short", "i32": "int", "i64": "long long", "f32": "float", "f64": "double"}

UPSWEEP = """
%s
using element = %%s;
using total = upsweep::result_t<upsweep::plus, element>;

void fold(const upsweep::cuda& gpu, std::span<const element> in, total* sum, std::span<element> out)
{
    upsweep::reduce(gpu, in, sum, upsweep::plus{});
    upsweep::inclusive_scan(gpu, in, out, upsweep::plus{});
}
"""

ALGORITHMS = UPSWEEP % """#include <upsweep/gpu/reduce.cuh>
#include <upsweep/gpu/scan.cuh>
"""
UMBRELLA = UPSWEEP % """#include <upsweep/upsweep.hpp>
"""

CUB = """
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

using element = %s;

void fold(void* storage, size_t& bytes, const element* in, element* sum, element* out, size_t n, cudaStream_t stream)
{
    cub::DeviceReduce::Sum(storage, bytes, in, sum, n, stream);
    cub::DeviceScan::InclusiveSum(storage, bytes, in, out, n, stream);
}
"""


def seconds(nvcc, options, source):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([nvcc, "-O3", "-std=c++20", *options, "-c", "-o", f"{source}.o", source], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--types", default="i32,f32")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--cub", nargs="*", default=[], help="where its headers are, if they are not the toolkit's")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--machine", default="")
    parser.add_argument("--commit", default="")
    parser.add_argument("--out")
    chosen = parser.parse_args()
    types = chosen.types.split(",")
    if unknown := set(types) - set(TYPES):
        parser.error(f"unknown types: {' '.join(sorted(unknown))}")

    include = pathlib.Path(__file__).resolve().parents[2] / "include"
    arch = f"-arch={chosen.arch}"
    ours = [arch, "--fmad=false", "--expt-relaxed-constexpr", "-Xcompiler=-ffp-contract=off", f"-I{include}"]
    contenders = {
        "upsweep": (ALGORITHMS, ours),
        "upsweep.hpp": (UMBRELLA, ours),
        "cub": (CUB, [arch, *(f"-I{folder}" for folder in chosen.cub)]),
    }
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in types:
            times = {library: [] for library in contenders}
            for library, (source, _) in contenders.items():
                (pathlib.Path(folder) / f"{library}.cu").write_text(source % TYPES[name])
            for _ in range(chosen.rounds):
                for library, (_, options) in contenders.items():
                    times[library].append(seconds(chosen.nvcc, options, pathlib.Path(folder) / f"{library}.cu"))
            least = {library: min(all_times) for library, all_times in times.items()}
            print(f"{name:5} CUB {least['cub']:6.2f} s   Upsweep {least['upsweep']:6.2f} s, "
                  f"{least['upsweep'] / least['cub']:.2f} of CUB's; by upsweep.hpp {least['upsweep.hpp']:6.2f} s, "
                  f"{least['upsweep.hpp'] / least['cub']:.2f}", flush=True)
            for library, all_times in times.items():
                rows.append({"machine": chosen.machine, "commit": chosen.commit, "library": library,
                             "algorithm": "compile", "type": name, "variant": "one reduce, one scan",
                             "call": f"nvcc -c {arch}", "s": least[library], "s_all": all_times})
    if chosen.out:
        pathlib.Path(chosen.out).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
