# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""The Python package beside NumPy: small calls, and large arrays, in interleaved rounds.

    python bench/python_peers.py [--elements 67108864] [--only REGEX]

Each row has the median time of both, and how many times as fast Upsweep is.
"""
import argparse
import re
import statistics
import time

import numpy as np
import upsweep as us

ROWS = (
    ("sum f32", lambda a: us.sum(a.f), lambda a: np.sum(a.f)),
    ("sum f64", lambda a: us.sum(a.d), lambda a: np.sum(a.d)),
    ("sum i32", lambda a: us.sum(a.i), lambda a: np.sum(a.i)),
    ("max f32", lambda a: us.max(a.f), lambda a: np.max(a.f)),
    ("mean f32", lambda a: us.mean(a.f), lambda a: np.mean(a.f)),
    ("any f32", lambda a: us.any(a.f), lambda a: np.any(a.f)),
    ("any bool, none", lambda a: us.any(a.none), lambda a: np.any(a.none)),
    ("sum bool", lambda a: us.sum(a.mask), lambda a: np.sum(a.mask)),
    ("argmax f32", lambda a: us.argmax(a.f), lambda a: np.argmax(a.f)),
    ("select f32", lambda a: us.select(a.f, a.mask), lambda a: a.f[a.mask]),
    ("sum f32, axis 0", lambda a: us.sum(a.rows, axis=0), lambda a: np.sum(a.rows, axis=0)),
    ("sum f32, axis 1", lambda a: us.sum(a.rows, axis=1), lambda a: np.sum(a.rows, axis=1)),
    ("cumulative_sum f32", lambda a: us.cumulative_sum(a.f), lambda a: np.cumsum(a.f)),
    ("cumulative_sum f32 into out", lambda a: us.cumulative_sum(a.f, out=a.out), lambda a: np.cumsum(a.f, out=a.out)),
    ("cumulative_sum i64", lambda a: us.cumulative_sum(a.l), lambda a: np.cumsum(a.l)),
    ("cumulative_sum f32, axis 0", lambda a: us.cumulative_sum(a.rows, axis=0), lambda a: np.cumsum(a.rows, axis=0)),
    ("cummax f32", lambda a: us.cummax(a.f), lambda a: np.maximum.accumulate(a.f)),
    ("histogram f32, 10 bins", lambda a: us.histogram(a.f), lambda a: np.histogram(a.f)),
    ("histogram f32, 256 bins in (0, 1)", lambda a: us.histogram(a.f, 256, (0, 1)), lambda a: np.histogram(a.f, 256, (0, 1))),
    ("histogramdd f32, 64 x 64 bins", lambda a: us.histogramdd([a.half, a.other], 64), lambda a: np.histogramdd([a.half, a.other], 64)),
    ("bincount i32", lambda a: us.bincount(a.i), lambda a: np.bincount(a.i)),
)


class Arrays:
    def __init__(self, n):
        rng = np.random.default_rng(1)
        columns = max(n // 1024, 10)
        self.f = rng.random(n, dtype=np.float32)
        self.d = rng.random(n)
        self.i = rng.integers(0, 256, n, np.int32)
        self.l = self.i.astype(np.int64)
        self.rows = self.f[:n // columns * columns].reshape(-1, columns)
        self.out = np.empty_like(self.f)
        self.mask = self.f < 0.5
        self.none = np.zeros(n, bool)
        self.half, self.other = self.f[:n // 2], self.f[n // 2:]


def seconds(call, arrays, repeats):
    begin = time.perf_counter()
    for _ in range(repeats):
        call(arrays)
    return (time.perf_counter() - begin) / repeats


def measure(n, only):
    arrays = Arrays(n)
    print(f"\n{n} elements{'':28s}Upsweep      NumPy    times")
    for name, ours, peer in ROWS:
        if not re.search(only, name):
            continue
        repeats = max(1, int(0.02 / max(seconds(peer, arrays, 3), 1e-6)))
        rounds = [(seconds(ours, arrays, repeats), seconds(peer, arrays, repeats)) for _ in range(9)]
        a, b = (statistics.median(column) for column in zip(*rounds))
        print(f"{name:36s} {a * 1e6:11.2f} {b * 1e6:10.2f} us {b / a:6.2f}", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--elements", type=int, default=1 << 26)
    arguments.add_argument("--only", default="")
    options = arguments.parse_args()
    us.show_targets()
    for n in (1000, options.elements):
        measure(n, options.only)


if __name__ == "__main__":
    main()
