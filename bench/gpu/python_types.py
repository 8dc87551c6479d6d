# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""All functions on a GPU from Python by the type of the elements and of the results, beside PyTorch where it has the function.

    python bench/gpu/python_types.py [--elements 134217728] [--only REGEX]

A line tells the function, the types, the GPU's time in microseconds (the third best of seven), the share that the time of a copy of as many bytes has in it, and
PyTorch's time. Bytes are those of all arrays that are read and written, once.
"""
import argparse
import re

import torch
import upsweep as us
from python_views import of_seven

TYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "float16", "bfloat16", "float32", "float64")
WIDER = {"int32": ("int64",), "float16": ("float32", "float64"), "bfloat16": ("float32",), "float32": ("float64",), "uint8": ("int32", "float32"), "int64": ("float64",)}
COLUMNS = 8192


def bytes_of(*arrays):
    return sum(a.numel() * a.element_size() for a in arrays)


def arrays_in(result):
    if torch.is_tensor(result):
        return (result,)
    return tuple(a for a in result if torch.is_tensor(a)) if isinstance(result, tuple) else ()


def elements(n, name):
    numbers = torch.rand(n, device="cuda")
    return numbers > 0.5 if name == "bool" else (100 * numbers).to(getattr(torch, name))


def calls(n, name):
    """Yields the name of a call, its arguments, the call, and PyTorch's or None."""
    x = elements(n, name)
    rows = x.view(-1, COLUMNS)
    is_float = x.dtype.is_floating_point
    for fold in ("sum", "prod", "max", "any", "argmax", "mean", "var"):
        of_torch = getattr(torch, {"max": "amax"}.get(fold, fold))
        yield fold, (x,), getattr(us, fold), getattr(torch, fold)
        for axis in (0, 1):
            yield f"{fold}, axis {axis}", (rows,), lambda x, f=getattr(us, fold), k=axis: f(x, axis=k), lambda x, f=of_torch, k=axis: f(x, k)
    yield "bit_or", (x,), lambda x: us.reduce(x, "bit_or"), None
    for wide in WIDER.get(name, ()):
        dtype = getattr(torch, wide)
        yield f"sum to {wide}", (x,), lambda x, d=dtype: us.sum(x, dtype=d), lambda x, d=dtype: torch.sum(x, dtype=d)
        yield f"sum to {wide}, axis 1", (rows,), lambda x, d=dtype: us.sum(x, axis=1, dtype=d), lambda x, d=dtype: torch.sum(x, 1, dtype=d)
        yield f"cumulative_sum to {wide}", (x,), lambda x, d=dtype: us.cumulative_sum(x, dtype=d), lambda x, d=dtype: torch.cumsum(x, 0, dtype=d)
        for axis in (0, 1):
            yield (f"cumulative_sum to {wide}, axis {axis}", (rows,), lambda x, d=dtype, k=axis: us.cumulative_sum(x, axis=k, dtype=d),
                   lambda x, d=dtype, k=axis: torch.cumsum(x, k, dtype=d))
    for scan, of_torch in (("cumulative_sum", torch.cumsum), ("cumulative_prod", torch.cumprod), ("cummax", None), ("logcumsumexp", torch.logcumsumexp)):
        if scan == "logcumsumexp" and not is_float:
            continue
        yield scan, (x,), getattr(us, scan), of_torch and (lambda x, f=of_torch: f(x, 0))
        for axis in (0, 1):
            yield f"{scan}, axis {axis}", (rows,), lambda x, f=getattr(us, scan), k=axis: f(x, axis=k), of_torch and (lambda x, f=of_torch, k=axis: f(x, k))
    yield "cumulative_sum with initial", (x,), lambda x: us.cumulative_sum(x, include_initial=True), None
    yield "exclusive sum", (x,), lambda x: us.scan(x, "plus", exclusive=True), None
    yield "sum from the end", (x,), lambda x: us.scan(x, "plus", reverse=True), None
    yield "sum from the end, axis 0", (rows,), lambda x: us.scan(x, "plus", reverse=True, axis=0), None
    yield "sum from the end, axis 1", (rows,), lambda x: us.scan(x, "plus", reverse=True, axis=1), None
    yield "cumulative_sum of [1:]", (x[1:],), us.cumulative_sum, lambda x: torch.cumsum(x, 0)
    yield "cumulative_sum of [::2]", (x[::2],), us.cumulative_sum, lambda x: torch.cumsum(x, 0)
    yield "cumulative_sum of [:, 1:], axis 1", (rows[:, 1:],), lambda x: us.cumulative_sum(x, axis=1), lambda x: torch.cumsum(x, 1)
    yield "exclusive sum, axis 1", (rows,), lambda x: us.scan(x, "plus", exclusive=True, axis=1), None
    yield "diff", (x,), us.diff, torch.diff
    yield "diff, axis 0", (rows,), lambda x: us.diff(x, axis=0), lambda x: torch.diff(x, dim=0)
    mask = elements(n, "bool")
    yield "select", (x, mask), us.select, lambda x, m: x[m]
    yield "partition", (x, mask), us.partition, None
    keys = torch.arange(n, device="cuda", dtype=torch.int32) // 8
    yield "reduce_by_key, runs of 8", (keys, x), lambda k, x: us.reduce_by_key(k, x, "plus"), None
    yield "scan_by_key, runs of 8", (keys, x), lambda k, x: us.scan_by_key(k, x, "plus"), None
    yield "run_length_encode", ((keys % 100).to(x.dtype),), us.run_length_encode, lambda x: torch.unique_consecutive(x, return_counts=True)
    del keys
    for length in (20, 1000):
        offsets = torch.arange(0, n + 1, length, device="cuda", dtype=torch.int64)
        offsets[-1] = n
        yield f"segment_reduce, {length}", (x, offsets), lambda x, o: us.segment_reduce(x, o, "plus"), None
        yield f"segment_scan, {length}", (x, offsets), lambda x, o: us.segment_scan(x, o, "plus"), None
    yield "histogram", (x,), lambda x: us.histogram(x, bins=64, range=(0, 100)), lambda x: torch.histc(x, 64, 0, 100)
    if not is_float:
        yield "bincount", (x,), us.bincount, torch.bincount
    yield "integral_image", (rows,), us.integral_image, None
    if is_float:
        yield "linear_recurrence", (x, x), us.linear_recurrence, None
        yield "linear_recurrence, axis 0", (rows, rows), lambda a, b: us.linear_recurrence(a, b, axis=0), None
        yield "linear_recurrence, axis 1", (rows, rows), lambda a, b: us.linear_recurrence(a, b, axis=1), None


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--elements", type=int, default=1 << 27)
    arguments.add_argument("--only", default="")
    given = arguments.parse_args()
    source = torch.empty(1 << 30, device="cuda", dtype=torch.uint8)
    copy = torch.empty_like(source)
    bytes_a_microsecond = 2 * source.numel() / of_seven(lambda: copy.copy_(source))
    del source, copy
    print(f"a copy: {bytes_a_microsecond / 1e6:.2f} TB/s")
    for name in TYPES:
        for what, arrays, ours, peer in calls(given.elements, name):
            if not re.search(given.only, f"{name} {what}"):
                continue
            try:
                results = arrays_in(ours(*arrays))
                of_ours = of_seven(lambda: ours(*arrays))
            except (RuntimeError, TypeError, ValueError, NotImplementedError) as refusal:
                print(f"{name:9} {what:34} {type(refusal).__name__}: {str(refusal)[:90]}", flush=True)
                continue
            try:
                of_peer = f"{of_seven(lambda: peer(*arrays)):9.1f}" if peer else ""
            except (RuntimeError, NotImplementedError):  # of types for which PyTorch has no kernel
                of_peer = ""
            floor = bytes_of(*arrays, *results) / bytes_a_microsecond
            to = str(results[0].dtype).removeprefix("torch.") if results else ""
            print(f"{name:9} {what:34} {to:9} {of_ours:9.1f} {floor / of_ours:6.2f} {of_peer}", flush=True)
            del results


if __name__ == "__main__":
    main()
