# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Integral images from Python beside two running sums of PyTorch.

    python bench/gpu/python_images.py

A line tells the dtypes of the elements and of the sums, the shape, and the times on the GPU in microseconds, each the median of seven with cold caches: of both, and of a
copy of the sums. The last one tells the time of a call on the host for 1000 elements.
"""
import time

import torch
import upsweep as us

IMAGES = (
    ("float32", None, (16384, 16384)), ("float32", None, (256, 1024, 1024)), ("uint8", "int32", (16384, 16384)), ("uint8", "int32", (256, 1024, 1024)),
    ("uint8", None, (16384, 16384)), ("float16", None, (16384, 16384)), ("float16", "float16", (256, 1024, 1024)), ("float64", None, (16384, 8192)),
    ("float32", "float64", (16384, 8192)), ("float32", None, (300, 480, 640)), ("float32", None, (20000, 28, 28)), ("float32", None, (1024, 1024)),
    ("float32", None, (1080, 1920)), ("float32", None, (100, 16384 * 64)), ("float32", None, (16384 * 64, 100)),
)


def on_gpu(call, others):
    times = []
    for _ in range(7):
        others.fill_(1.0)
        begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    return sorted(times)[3]


def on_host(call, calls=2000):
    best = float("inf")
    for _ in range(5):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, (time.perf_counter() - begin) / calls * 1e6)
    return best


def main():
    others = torch.empty(1 << 26, device="cuda")  # what the caches have instead
    for dtype, sums, shape in IMAGES:
        of = getattr(torch, dtype)
        x = torch.randint(0, 9, shape, device="cuda", dtype=of) if dtype == "uint8" else torch.randn(shape, device="cuda", dtype=of)
        out = us.integral_image(x, dtype=sums)
        summed = torch.int64 if out.dtype == torch.uint64 else out.dtype
        print(f"{dtype:8} {str(out.dtype)[6:]:8} {' x '.join(map(str, shape)):20}  upsweep {on_gpu(lambda: us.integral_image(x, dtype=sums), others):8.1f}"
              f"  torch {on_gpu(lambda: torch.cumsum(torch.cumsum(x, -1, dtype=summed), -2), others):9.1f}"
              f"  copy {on_gpu(lambda: out.clone(), others):7.1f}", flush=True)
        del x, out
        torch.cuda.empty_cache()
    x = torch.randn(25, 40, device="cuda")
    print(f"1000 elements, host  upsweep {on_host(lambda: us.integral_image(x)):.1f}  torch {on_host(lambda: torch.cumsum(torch.cumsum(x, -1), -2)):.1f}")


if __name__ == "__main__":
    main()
