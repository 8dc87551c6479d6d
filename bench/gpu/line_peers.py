# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Measures what PyTorch and CuPy have of upsweep-bench-gpu's lines, segments, runs and selections of floats.

    python3 bench/gpu/line_peers.py --out rows.jsonl     # less: --elements 1048576

The rows have the form of upsweep-bench-gpu's but for the roof, which is measured there. Times are medians by the GPU's clock, each
after 256 MiB were written, so that the input is not in a cache.
"""
import argparse
import json
import statistics

import cupy
import torch

from histogram_peers import milliseconds

ROUNDS = 5
LONG = 0.2  # seconds: what takes longer is measured once


def matrices(n):
    """Most of the rows and columns of upsweep-bench-gpu."""
    for rows, columns in ((n // 2, 2), (n // 3, 3), (n // 16, 16), (n // 100, 100), (n // 1000, 1000), (1000, n // 1000), (100, n // 100),
                          (16, n // 16), (3, n // 3), (2, n // 2)):
        yield rows, columns


def of_lines(x):
    """(library, what, call) for the sums and scans along both axes of arrays of floats."""
    n = x.numel()
    for rows, columns in matrices(n):
        there = x[:rows * columns].view(rows, columns)
        too = cupy.from_dlpack(there)
        for axis, name in ((1, "rows"), (0, "columns")):
            shape = f"{name} of {rows} x {columns}"
            yield "torch", f"sum of {shape}", lambda there=there, axis=axis: torch.sum(there, axis)
            yield "torch", f"scan of {shape}", lambda there=there, axis=axis: torch.cumsum(there, axis)
            yield "cupy", f"sum of {shape}", lambda too=too, axis=axis: cupy.sum(too, axis)
            yield "cupy", f"scan of {shape}", lambda too=too, axis=axis: cupy.cumsum(too, axis)


def of_segments(x):
    n = x.numel()
    for length in (1, 8, 64, 300, 4096, 1000000):
        offsets = torch.arange(0, n + length, length, device="cuda").clamp(max=n)
        yield "torch", f"sum of segments of {length}", lambda offsets=offsets: torch.segment_reduce(x, "sum", offsets=offsets)
        keys = (torch.arange(n, device="cuda") // length).to(torch.int32)
        yield "torch", f"run lengths, runs of {length}", lambda keys=keys: torch.unique_consecutive(keys, return_counts=True)


def of_selections(x):
    for share in (0, 0.01, 0.5, 1):
        flags = torch.rand(x.numel(), device="cuda") < share
        too, flags_too = cupy.from_dlpack(x), cupy.from_dlpack(flags)
        yield "torch", f"selection of {share:.0%} by flags", lambda flags=flags: torch.masked_select(x, flags)
        yield "cupy", f"selection of {share:.0%} by flags", lambda too=too, flags_too=flags_too: too[flags_too]
    yield "torch", "difference", lambda: torch.diff(x)
    yield "cupy", "difference", lambda: cupy.diff(cupy.from_dlpack(x))


def of_images(x):
    side = int(x.numel() ** 0.5)
    image = x[:side * side].view(side, side)
    yield "torch", f"integral image of {side} x {side}", lambda: torch.cumsum(torch.cumsum(image, 1), 0)
    images = x[:x.numel() >> 20 << 20].view(-1, 1024, 1024)
    yield "torch", f"integral images, {images.shape[0]} of 1024 x 1024", lambda: torch.cumsum(torch.cumsum(images, 2), 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--elements", type=int, default=1 << 28)
    parser.add_argument("--machine", default=torch.cuda.get_device_name())
    parser.add_argument("--out", required=True)
    chosen = parser.parse_args()

    scratch = torch.zeros(1 << 26, dtype=torch.int32, device="cuda")
    x = torch.rand(chosen.elements, device="cuda") - 0.5
    versions = {"torch": torch.__version__, "cupy": cupy.__version__}
    # CuPy works on PyTorch's stream, whose events measure both.
    stream = cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)
    with stream, open(chosen.out, "w", encoding="utf-8") as out:
        for subjects in (of_lines, of_segments, of_selections, of_images):
            for library, variant, call in subjects(x):
                try:
                    first = milliseconds(call, scratch)
                    times = [first] if first > 1000 * LONG else [milliseconds(call, scratch) for _ in range(ROUNDS)]
                except (RuntimeError, cupy.cuda.memory.OutOfMemoryError) as problem:
                    print(f"{library}, {variant}: {str(problem).splitlines()[0]}")
                    torch.cuda.empty_cache()
                    continue
                row = {"machine": chosen.machine, "library": library, "version": versions[library], "algorithm": "lines", "type": "f32",
                       "variant": variant, "n": x.numel(), "ms_cold": statistics.median(times), "rounds": len(times)}
                print(json.dumps(row), file=out, flush=True)
            cupy.get_default_memory_pool().free_all_blocks()
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
