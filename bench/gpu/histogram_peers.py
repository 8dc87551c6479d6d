# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Measures the histograms of PyTorch and CuPy on a GPU, on the distributions of upsweep-bench-gpu.

    python3 bench/gpu/histogram_peers.py --out rows.jsonl     # less: --types i32 --bins 256,65536 --sizes 28:28

The rows have the form of upsweep-bench-gpu's but for the roof, which is measured there. Times are medians by the GPU's clock,
each after 256 MiB were written, so that the input is not in a cache. Where a result differs from a sort and a search, its row
says so.
"""
import argparse
import json
import statistics

import cupy
import torch

BINS = [2, 256, 2048, 16384, 65536, 1048576]
DISTRIBUTIONS = ["uniform", "constant", "two", "zipf", "normal", "sorted", "hot"]
TYPES = {"i32": torch.int32, "f32": torch.float32, "f64": torch.float64}
ROUNDS = 7


def places(distribution, n, bins):
    """Where the samples are, in bins: as place_of in bench/gpu/histograms.cuh."""
    u, v = (torch.rand(n, dtype=torch.float64, device="cuda") for _ in range(2))
    hot = float(bins // 3)
    if distribution == "uniform":
        return u * bins
    if distribution == "constant":
        return torch.full_like(u, hot)
    if distribution == "two":
        return torch.where(u < 0.5, hot, (hot + 32) % bins)
    if distribution == "zipf":
        return torch.exp(u * torch.log(torch.tensor(bins + 1.0))) - 1
    if distribution == "normal":
        return bins * (0.5 + 0.125 * torch.sqrt(-2 * torch.log(1 - u)) * torch.cos(2 * torch.pi * v))
    if distribution == "sorted":
        return torch.arange(n, dtype=torch.float64, device="cuda") / n * bins
    return torch.where(u < 0.5, hot, v * bins)


def samples_of(kind, distribution, n, bins):
    place = places(distribution, n, bins)
    if kind == "i32":
        return place.clamp(0, bins - 1).floor().to(torch.int32)
    return place.to(TYPES[kind])


def counts_of(samples, bins):
    """The counts of bins of width one, of which the last includes its end."""
    inside = samples[(samples >= 0) & (samples <= bins)].to(torch.float64).floor().clamp(max=bins - 1)
    ordered = inside.sort().values
    edges = torch.arange(bins + 1, dtype=torch.float64, device="cuda")
    return torch.searchsorted(ordered, edges, right=False).diff()


def contenders(kind, samples, bins):
    """(library, version, call, function) for those that take the type."""
    as_cupy = cupy.from_dlpack(samples)
    edges = cupy.arange(bins + 1, dtype=cupy.float64)
    if kind == "i32":
        yield "torch", torch.__version__, "bincount", lambda: torch.bincount(samples, minlength=bins)
        yield "cupy", cupy.__version__, "bincount", lambda: cupy.bincount(as_cupy, minlength=bins)
    else:
        yield "torch", torch.__version__, "histc", lambda: torch.histc(samples, bins, 0, bins)
    yield "cupy", cupy.__version__, "histogram", lambda: cupy.histogram(as_cupy, edges)[0]


def milliseconds(call, scratch):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    scratch.add_(1)
    start.record()
    call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)


def rows_of(kind, bins, distribution, n, machine, scratch):
    samples = samples_of(kind, distribution, n, bins)
    expected = counts_of(samples, bins)
    size = n * samples.element_size()
    for library, version, name, call in contenders(kind, samples, bins):
        right = bool((torch.from_dlpack(call()).to(torch.float64) == expected.to(torch.float64)).all())
        times = [milliseconds(call, scratch) for _ in range(ROUNDS)]
        quartiles = statistics.quantiles(times, n=4)
        yield {"machine": machine, "library": library, "version": version, "algorithm": "histogram", "kind": "even",
               "type": kind, "variant": f"{bins} {distribution}", "call": name, "promise": "", "n": n, "bytes": size,
               "ms_cold": quartiles[1], "ms_cold_quartiles": [quartiles[0], quartiles[2]],
               "gbps": size / quartiles[1] * 1e-6, "right": right}


def main():
    def names(words):
        return words.split(",")

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--types", type=names, default=list(TYPES))
    parser.add_argument("--bins", type=lambda words: [int(word) for word in words.split(",")], default=BINS)
    parser.add_argument("--distributions", type=names, default=DISTRIBUTIONS)
    parser.add_argument("--sizes", default="20:28", help="LO:HI, for 2^LO, 2^(LO+4), ... samples up to 2^HI")
    parser.add_argument("--machine", default=torch.cuda.get_device_name())
    parser.add_argument("--out", required=True)
    chosen = parser.parse_args()
    low, high = (int(exponent) for exponent in chosen.sizes.split(":"))

    scratch = torch.zeros(1 << 26, dtype=torch.int32, device="cuda")
    # CuPy works on PyTorch's stream, whose events measure both.
    stream = cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)
    with stream, open(chosen.out, "w", encoding="utf-8") as out:
        for kind in chosen.types:
            for bins in chosen.bins:
                for distribution in chosen.distributions:
                    for exponent in range(low, high + 1, 4):
                        for row in rows_of(kind, bins, distribution, 1 << exponent, chosen.machine, scratch):
                            print(json.dumps(row), file=out, flush=True)


if __name__ == "__main__":
    main()
