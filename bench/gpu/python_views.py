# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Folds from Python beside PyTorch's of arrays that begin anywhere, have gaps or are transposed, along several axes, and of lines of one element.

    python bench/gpu/python_views.py [--elements 268435456]

A line tells the dtype, the array, the fold, the times of both on the GPU in microseconds, each the third best of seven, and how many times as long PyTorch takes.
"""
import argparse

import torch
import upsweep as us
from python_axes import OF_FLOATS, microseconds

TYPES = ("bool", "uint8", "int16", "int32", "float16", "bfloat16", "float32", "float64")
WHOLE = {
    "sum": (us.sum, torch.sum), "max": (us.max, torch.max), "any": (us.any, torch.any), "argmax": (us.argmax, torch.argmax),
    "var": (us.var, lambda x: torch.var(x, correction=0)),
    "cumulative_sum": (lambda x: us.cumulative_sum(x, axis=-1), lambda x: torch.cumsum(x, -1)),
}
ALONG = {
    "sum": (us.sum, torch.sum), "max": (us.max, torch.amax), "mean": (us.mean, torch.mean),
    "var": (us.var, lambda x, dim: torch.var(x, dim, correction=0)),
}
OF_ONE = {"sum": (us.sum, torch.sum), "max": (us.max, torch.amax), "any": (us.any, torch.any), "argmax": (us.argmax, torch.argmax)}
SEVERAL_AXES = (
    ((64, 64, 256, 256), (0, 2, 3)), ((256, 256, 56, 56), (0, 2, 3)), ((64, 1024, 4096), (0, 2)), ((4096, 64, 1024), (0, 2)),
    ((128, 128, 128, 128), (1, 3)),
)


def elements(count, dtype):
    numbers = torch.rand(count, device="cuda")
    return numbers > 0.5 if dtype == torch.bool else (200 * numbers).to(dtype)


def of_seven(call):
    call()
    return sorted(microseconds(call) for _ in range(7))[2]


def show(dtype, what, name, ours, peer):
    try:
        of_peer = of_seven(peer)
    except (RuntimeError, NotImplementedError):  # of types for which PyTorch has no kernel
        return
    of_ours = of_seven(ours)
    print(f"{str(dtype).removeprefix('torch.'):9} {what:36} {name:15} {of_ours:9.1f} {of_peer:9.1f} {of_peer / of_ours:6.2f}", flush=True)


def views(n, dtype):
    one, two = elements(n + 16, dtype), elements(2 * n, dtype)
    yield "aligned", one[:n]
    yield "[1:]", one[1:n + 1]
    yield "[3:]", one[3:n + 3]
    yield "[::2]", two[::2]
    yield "[::3]", two[::3]
    yield "1024 of 2048 columns", two.view(-1, 2048)[:, :1024]
    yield "[:, 1:] of 1024 columns", one[:n].view(-1, 1024)[:, 1:]
    yield "transposed", one[:n].view(-1, 16384).t()


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--elements", type=int, default=1 << 28)
    n = arguments.parse_args().elements
    for dtype in (getattr(torch, name) for name in TYPES):
        for what, x in views(n, dtype):
            for name, (ours, peer) in WHOLE.items():
                if dtype.is_floating_point or name not in OF_FLOATS:
                    show(dtype, what, name, lambda: ours(x), lambda: peer(x))
        for shape, axes in SEVERAL_AXES:
            x = elements(shape, dtype)
            for name, (ours, peer) in ALONG.items():
                if dtype.is_floating_point or name not in OF_FLOATS:
                    show(dtype, f"{shape}, axes {axes}", name, lambda: ours(x, axis=axes), lambda: peer(x, axes))
        x = elements((n, 1), dtype)
        for name, (ours, peer) in OF_ONE.items():
            show(dtype, "rows of one element", name, lambda: ours(x, axis=1), lambda: peer(x, 1))
        del x


if __name__ == "__main__":
    main()
