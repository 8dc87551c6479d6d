# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Folds from Python beside NumPy's of arrays that begin anywhere, have gaps, run backwards or are transposed, along each axis and several, on the CPU.

    python bench/python_views.py [--elements 8388608] [--types float32,uint8]

A line tells the dtype, the array, the fold, the times of both in microseconds, each the second best of five, and how many times as long NumPy takes. Results
of both are new arrays.
"""
import argparse
import time
import warnings

import numpy as np
import upsweep as us

TYPES = ("bool", "int8", "uint8", "int16", "int32", "uint32", "int64", "float16", "float32", "float64")
REDUCTIONS = {
    "sum": (us.sum, np.sum), "prod": (us.prod, np.prod), "max": (us.max, np.max), "any": (us.any, np.any), "argmax": (us.argmax, np.argmax),
    "mean": (us.mean, np.mean), "var": (us.var, np.var),
}
SCANS = {"cumulative_sum": (us.cumulative_sum, np.cumsum), "cummax": (us.cummax, np.maximum.accumulate)}
OF_FLOATS = ("mean", "var")
SEVERAL_AXES = (
    ((64, 2048, 8, 8), (0, 2, 3)), ((16, 64, 56, 56), (0, 2, 3)), ((32, 56, 56, 83), (0, 1, 2)), ((2048, 64, 64), (0, 2)), ((64, 33, 33, 33), (1, 3)),
)


def elements(count, dtype):
    numbers = np.random.default_rng(count).random(count, np.float32)
    return numbers > 0.5 if dtype == bool else (200 * numbers).astype(dtype)


def views(n, dtype):
    one, two = elements(n + 16, dtype), elements(3 * n, dtype)
    yield "aligned", one[:n]
    yield "[1:]", one[1:n + 1]
    yield "[::2]", two[: 2 * n : 2]
    yield "[::3]", two[::3]
    yield "[::-1]", one[:n][::-1]
    yield "1024 of 2048 columns", two[: 2 * n].reshape(-1, 2048)[:, :1024]
    yield "[:, 1:] of 1024 columns", one[:n].reshape(-1, 1024)[:, 1:]
    yield "transposed", one[:n].reshape(-1, 2048).T
    yield "transposed, odd", one[:n].reshape(-1, 2048)[1:, 1:].T
    yield "2 rows", one[:n].reshape(2, -1)
    yield "3 rows", one[: n // 3 * 3].reshape(3, -1)
    yield "columns of 6", one[: n // 6 * 6].reshape(-1, 6)
    yield "rows of one element", one[:n].reshape(-1, 1)


def best_of_five(call):
    call()
    times = []
    for _ in range(5):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e6 * sorted(times)[1]


def show(x, what, name, ours, peer):
    if x.dtype.kind != "f" and name in OF_FLOATS:
        return
    of_ours, of_peer = best_of_five(ours), best_of_five(peer)
    print(f"{x.dtype.name:9} {what:36} {name:15} {of_ours:9.0f} {of_peer:9.0f} {of_peer / of_ours:7.2f}", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--elements", type=int, default=1 << 23)
    arguments.add_argument("--types", default=",".join(TYPES))
    given = arguments.parse_args()
    warnings.simplefilter("ignore", RuntimeWarning)  # of half floats that overflow
    for dtype in map(np.dtype, given.types.split(",")):
        for what, x in views(given.elements, dtype):
            for axis in (None,) if x.ndim == 1 else (None, 0, 1):
                where = what if axis is None else f"{what}, axis {axis}"
                for name, (ours, peer) in REDUCTIONS.items():
                    show(x, where, name, lambda: ours(x, axis=axis), lambda: peer(x, axis=axis))
                if axis is not None or x.ndim == 1:
                    for name, (ours, peer) in SCANS.items():
                        show(x, where, name, lambda: ours(x, axis=axis or 0), lambda: peer(x, axis=axis or 0))
        for shape, axes in SEVERAL_AXES:
            x = elements(int(np.prod(shape)), dtype).reshape(shape)
            for name, (ours, peer) in REDUCTIONS.items():
                if name != "argmax":
                    show(x, f"{shape}, axes {axes}", name, lambda: ours(x, axis=axes), lambda: peer(x, axis=axes))


if __name__ == "__main__":
    main()
