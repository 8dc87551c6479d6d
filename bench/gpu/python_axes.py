# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Folds along an axis from Python beside PyTorch's, of all types and operators: times at full size, and whether the results agree.

    python bench/gpu/python_axes.py [--elements 268435456] [--columns 1,3,16,100,300,1024,2047,4096] [--apart 0] [--only REGEX] [--json rows.jsonl]

With --apart, so many elements lie between a row and the next, and rows begin with the second element: parts of a larger array, as x[:, 1:-2] is.
A row is printed where PyTorch is faster, or where results differ, and with --all each. Times are the GPU's, medians of rounds by turns.
"""
import argparse
import json
import re
import statistics

import torch
import upsweep as us

TYPES = ("bool", "int8", "uint8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
FOLDS = {
    "sum": (us.sum, torch.sum), "prod": (us.prod, torch.prod), "mean": (us.mean, torch.mean),
    "max": (us.max, torch.amax), "min": (us.min, torch.amin), "any": (us.any, torch.any), "all": (us.all, torch.all),
    "argmax": (us.argmax, torch.argmax), "argmin": (us.argmin, torch.argmin),
    "var": (us.var, lambda x, axis: torch.var(x, axis, correction=0)),
    "cumulative_sum": (us.cumulative_sum, torch.cumsum), "cumulative_prod": (us.cumulative_prod, torch.cumprod),
    "cummax": (us.cummax, lambda x, axis: torch.cummax(x, axis).values),
}
OF_FLOATS = ("mean", "var")


def elements(n, dtype, are_rare):
    """Odd numbers, and among them some zeros, or zeros and among them some numbers, so that all() and any() are decided in some lines. Zeros have signs."""
    numbers = 2 * torch.randint(0, 3, (n,), device="cuda", dtype=torch.int8) + 1
    few = torch.rand(n, device="cuda") < 1 / 300_007
    numbers = (few * numbers if are_rare else ~few * numbers).to(dtype)
    if dtype.is_floating_point:
        numbers *= (0.1 + 0.3 * torch.rand(n, device="cuda")).to(dtype)
        numbers[::7] *= -1
    return numbers


def microseconds(call):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda._sleep(200_000)  # cycles, during which the host gets ahead of the GPU
    begin.record()
    call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3


def agree(name, x, ours, peer, axis):
    if name in ("argmax", "argmin"):  # PyTorch promises no position among equals
        ours, peer = (torch.gather(x.to(torch.float64), axis, i.unsqueeze(axis)) for i in (ours, peer))
    if ours.is_floating_point():
        # Running sums in few bits are rounded at each step.
        is_half = torch.finfo(ours.dtype).bits == 16 or torch.finfo(peer.dtype).bits == 16
        relative, absolute = (0.05, 1e-6) if is_half else (1e-3, 1e-30)
        ours, peer = ours.to(torch.float64), peer.to(torch.float64)
        if name in ("sum", "mean", "cumulative_sum"):  # of numbers of both signs
            finite = peer[peer.isfinite()]
            absolute = max(absolute, 1e-6 * float(finite.abs().max()) if len(finite) else 0)
        return torch.allclose(ours, peer, rtol=relative, atol=absolute, equal_nan=True)
    return torch.equal(ours, peer.to(ours.dtype))


def has_peer(name, x, axis):
    """Of types for which it has no kernel, PyTorch throws."""
    try:
        FOLDS[name][1](x[:64], axis=axis)
    except (RuntimeError, NotImplementedError):
        return False
    return True


def measure(name, x, axis, rounds):
    ours, peer = (lambda f=f: f(x, axis=axis) for f in FOLDS[name])
    times = [], []
    for _ in range(rounds + 1):
        for column, call in zip(times, (ours, peer)):
            column.append(microseconds(call))
    return agree(name, x, ours(), peer(), axis), *(statistics.median(column[1:]) for column in times)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--elements", type=int, default=1 << 28)
    arguments.add_argument("--columns", default="1,3,16,100,300,1024,2047,4096")
    arguments.add_argument("--apart", type=int, default=0)
    arguments.add_argument("--only", default="")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--json")
    arguments.add_argument("--all", action="store_true")
    options = arguments.parse_args()
    torch.manual_seed(1)
    rows = []
    about = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "upsweep": us.__version__}
    for type_name in TYPES:
        dtype = getattr(torch, type_name)
        arrays = [elements(options.elements, dtype, are_rare) for are_rare in (False, True)]
        for columns in map(int, options.columns.split(",")):
            for name in FOLDS:
                pitch = columns + options.apart
                x = arrays[name == "any"][:options.elements // pitch * pitch].reshape(-1, pitch)[:, min(options.apart, 1):][:, :columns]
                for axis in (0, 1):
                    row = f"{name} {type_name} {columns} axis {axis}"
                    if not re.search(options.only, row) or (name in OF_FLOATS and not dtype.is_floating_point):
                        continue
                    if not has_peer(name, x, axis):
                        print(f"{row:42s} PyTorch has none", flush=True)
                        continue
                    same, ours, peer = measure(name, x, axis, options.rounds)
                    rows.append({"row": name, "dtype": type_name, "columns": columns, "apart": options.apart, "axis": axis, "same": same,
                                 "gpu_us": {"upsweep": ours, "torch": peer}})
                    if options.all or not same or peer < ours:
                        print(f"{row:42s} {ours:9.1f} {peer:9.1f} us {peer / ours:6.2f}{'' if same else '  DIFFERENT'}", flush=True)
        del arrays, x
    faster = [row["gpu_us"]["torch"] / row["gpu_us"]["upsweep"] for row in rows]
    print(f"{len(rows)} rows, {sum(not row['same'] for row in rows)} different, {sum(f < 1 for f in faster)} slower than PyTorch, "
          f"{sum(f < 0.95 for f in faster)} by more than 5 %; geometric mean {statistics.geometric_mean(faster):.2f}")
    if options.json:
        with open(options.json, "w") as to:
            for row in rows:
                print(json.dumps({**row, **about}), file=to)


if __name__ == "__main__":
    main()
