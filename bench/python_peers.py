# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""The Python package beside NumPy: small calls, and large arrays, in interleaved rounds.

    python bench/python_peers.py [--elements 67108864] [--only REGEX]
    python bench/python_peers.py --gpu [--native libnative.so] [--json rows.jsonl]

Each row has the median time of both, and how many times as fast Upsweep is. With --gpu the arrays lie in memory of a GPU and the peers
are PyTorch and CuPy: small calls by the host's time for a call, large ones by the GPU's. --native names a library of bench/gpu/python_native.cu,
    nvcc -shared -Xcompiler -fPIC -O3 -std=c++20 -arch=native --fmad=false --expt-relaxed-constexpr -I include bench/gpu/python_native.cu -o libnative.so
which has a bare launch of a kernel and the C++ library.
"""
import argparse
import ctypes
import json
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
    ("sum u8, axis 0", lambda a: us.sum(a.bytes, axis=0), lambda a: np.sum(a.bytes, axis=0)),
    ("max u8, axis 0", lambda a: us.max(a.bytes, axis=0), lambda a: np.max(a.bytes, axis=0)),
    ("max u8, axis 1", lambda a: us.max(a.bytes, axis=1), lambda a: np.max(a.bytes, axis=1)),
    ("argmax u8, axis 1", lambda a: us.argmax(a.bytes, axis=1), lambda a: np.argmax(a.bytes, axis=1)),
    ("prod f32, axis 0", lambda a: us.prod(a.rows, axis=0), lambda a: np.prod(a.rows, axis=0)),
    ("prod f32, axis 1", lambda a: us.prod(a.rows, axis=1), lambda a: np.prod(a.rows, axis=1)),
    ("any f32, axis 1", lambda a: us.any(a.rows, axis=1), lambda a: np.any(a.rows, axis=1)),
    ("cummax u8, axis 0", lambda a: us.cummax(a.bytes, axis=0), lambda a: np.maximum.accumulate(a.bytes, axis=0)),
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
        self.bytes = (200 * self.rows).astype(np.uint8)
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


GPU_ROWS = (
    ("sum f32", lambda a: us.sum(a.f), lambda a: a.torch.sum(a.f), lambda a: a.cupy.sum(a.fc)),
    ("cumulative_sum f32", lambda a: us.cumulative_sum(a.f), lambda a: a.torch.cumsum(a.f, 0), lambda a: a.cupy.cumsum(a.fc)),
    ("cumulative_sum f32 into out", lambda a: us.cumulative_sum(a.f, out=a.out), lambda a: a.torch.cumsum(a.f, 0, out=a.out),
     lambda a: a.cupy.cumsum(a.fc, out=a.outc)),
    ("sum f32 of CuPy", lambda a: us.sum(a.fc), None, lambda a: a.cupy.sum(a.fc)),
    ("cumulative_sum f32 of CuPy", lambda a: us.cumulative_sum(a.fc), None, lambda a: a.cupy.cumsum(a.fc)),
    ("sum f64", lambda a: us.sum(a.d), lambda a: a.torch.sum(a.d), lambda a: a.cupy.sum(a.dc)),
    ("sum i32", lambda a: us.sum(a.i), lambda a: a.torch.sum(a.i), lambda a: a.cupy.sum(a.ic)),
    ("sum f16", lambda a: us.sum(a.h), lambda a: a.torch.sum(a.h), lambda a: a.cupy.sum(a.hc)),
    ("mean f32", lambda a: us.mean(a.f), lambda a: a.torch.mean(a.f), lambda a: a.cupy.mean(a.fc)),
    ("max f32", lambda a: us.max(a.f), lambda a: a.torch.max(a.f), lambda a: a.cupy.max(a.fc)),
    ("prod f32", lambda a: us.prod(a.f), lambda a: a.torch.prod(a.f), lambda a: a.cupy.prod(a.fc)),
    ("any bool, none", lambda a: us.any(a.none), lambda a: a.torch.any(a.none), lambda a: a.cupy.any(a.nonec)),
    ("prod f64", lambda a: us.prod(a.d), lambda a: a.torch.prod(a.d), lambda a: a.cupy.prod(a.dc)),
    ("all f32", lambda a: us.all(a.f), lambda a: a.torch.all(a.f), lambda a: a.cupy.all(a.fc)),
    ("max bool", lambda a: us.max(a.mask), lambda a: a.torch.max(a.mask), lambda a: a.cupy.max(a.maskc)),
    ("bit_or i32", lambda a: us.reduce(a.i, "bit_or"), None, None),
    ("cumulative_sum i64", lambda a: us.cumulative_sum(a.l), lambda a: a.torch.cumsum(a.l, 0), lambda a: a.cupy.cumsum(a.lc)),
    ("logcumsumexp f32", lambda a: us.logcumsumexp(a.f), lambda a: a.torch.logcumsumexp(a.f, 0), None),
    ("diff f32", lambda a: us.diff(a.f), lambda a: a.torch.diff(a.f), lambda a: a.cupy.diff(a.fc)),
    ("select f32", lambda a: us.select(a.f, a.mask), lambda a: a.torch.masked_select(a.f, a.mask), lambda a: a.fc[a.maskc]),
    ("segment_reduce f32, 1000 a segment", lambda a: us.segment_reduce(a.f, a.offsets, "plus"),
     lambda a: a.torch.segment_reduce(a.f, "sum", offsets=a.offsets), None),
    ("run_length_encode i32", lambda a: us.run_length_encode(a.keys), lambda a: a.torch.unique_consecutive(a.keys, return_counts=True), None),
    ("reduce_by_key i32, f32", lambda a: us.reduce_by_key(a.keys, a.f, "plus"), lambda a: by_key_of_torch(a), None),
    ("cummax f32", lambda a: us.cummax(a.f), lambda a: a.torch.cummax(a.f, 0), None),
    ("histogram f32, 256 bins in (0, 1)", lambda a: us.histogram(a.f, 256, (0, 1)), lambda a: a.torch.histc(a.f, 256, 0, 1),
     lambda a: a.cupy.histogram(a.fc, 256, (0, 1))),
    ("bincount i32", lambda a: us.bincount(a.i), lambda a: a.torch.bincount(a.i), lambda a: a.cupy.bincount(a.ic)),
    ("bincount i32, weights f32", lambda a: us.bincount(a.i, weights=a.f), lambda a: a.torch.bincount(a.i, weights=a.f),
     lambda a: a.cupy.bincount(a.ic, weights=a.fc)),
    ("histogram f32, 256 bins, weights f32", lambda a: us.histogram(a.f, 256, (0, 1), weights=a.f), None,
     lambda a: a.cupy.histogram(a.fc, 256, (0, 1), weights=a.fc)),
    ("argmax f32", lambda a: us.argmax(a.f), lambda a: a.torch.argmax(a.f), lambda a: a.cupy.argmax(a.fc)),
    ("sum f32 with a gradient", lambda a: us.sum(a.g), lambda a: a.torch.sum(a.g), None),
    ("cumulative_sum f32 with a gradient", lambda a: us.cumulative_sum(a.g), lambda a: a.torch.cumsum(a.g, 0), None),
)
GPU_ROWS_OF_AXES = (
    ("linear_recurrence f32, axis 1", lambda a: us.linear_recurrence(0.5, a.rows, axis=1), None, None),
    ("integral_image f32", lambda a: us.integral_image(a.rows), lambda a: a.torch.cumsum(a.torch.cumsum(a.rows, 1), 0),
     lambda a: a.cupy.cumsum(a.cupy.cumsum(a.rowsc, 1), 0)),
    ("sum f32, axis 0", lambda a: us.sum(a.rows, axis=0), lambda a: a.torch.sum(a.rows, 0), lambda a: a.cupy.sum(a.rowsc, 0)),
    ("sum f32, axis 1", lambda a: us.sum(a.rows, axis=1), lambda a: a.torch.sum(a.rows, 1), lambda a: a.cupy.sum(a.rowsc, 1)),
    ("cumulative_sum f32, axis 0", lambda a: us.cumulative_sum(a.rows, axis=0), lambda a: a.torch.cumsum(a.rows, 0),
     lambda a: a.cupy.cumsum(a.rowsc, 0)),
    ("cumulative_sum f32, axis 1", lambda a: us.cumulative_sum(a.rows, axis=1), lambda a: a.torch.cumsum(a.rows, 1),
     lambda a: a.cupy.cumsum(a.rowsc, 1)),
    ("argmax f32, axis 0", lambda a: us.argmax(a.rows, axis=0), lambda a: a.torch.argmax(a.rows, 0), lambda a: a.cupy.argmax(a.rowsc, 0)),
    ("argmax f32, axis 1", lambda a: us.argmax(a.rows, axis=1), lambda a: a.torch.argmax(a.rows, 1), lambda a: a.cupy.argmax(a.rowsc, 1)),
    ("max f32, axis 0", lambda a: us.max(a.rows, axis=0), lambda a: a.torch.amax(a.rows, 0), lambda a: a.cupy.max(a.rowsc, 0)),
    ("max f32, axis 1", lambda a: us.max(a.rows, axis=1), lambda a: a.torch.amax(a.rows, 1), lambda a: a.cupy.max(a.rowsc, 1)),
    ("prod f32, axis 1", lambda a: us.prod(a.rows, axis=1), lambda a: a.torch.prod(a.rows, 1), lambda a: a.cupy.prod(a.rowsc, 1)),
    ("sum f16, axis 0", lambda a: us.sum(a.halves, axis=0), lambda a: a.torch.sum(a.halves, 0), lambda a: a.cupy.sum(a.halvesc, 0)),
    ("sum f16, axis 1", lambda a: us.sum(a.halves, axis=1), lambda a: a.torch.sum(a.halves, 1), lambda a: a.cupy.sum(a.halvesc, 1)),
    ("sum bool, axis 1", lambda a: us.sum(a.truths, axis=1), lambda a: a.torch.sum(a.truths, 1), lambda a: a.cupy.sum(a.truthsc, 1)),
    ("any bool, axis 0", lambda a: us.any(a.truths, axis=0), lambda a: a.torch.any(a.truths, 0), lambda a: a.cupy.any(a.truthsc, 0)),
    ("cumulative_sum f16, axis 1", lambda a: us.cumulative_sum(a.halves, axis=1), lambda a: a.torch.cumsum(a.halves, 1), None),
    ("cummax f32, axis 1", lambda a: us.cummax(a.rows, axis=1), lambda a: a.torch.cummax(a.rows, 1), None),
    ("max f16, axis 0", lambda a: us.max(a.halves, axis=0), lambda a: a.torch.amax(a.halves, 0), lambda a: a.cupy.max(a.halvesc, 0)),
    ("max f16, axis 1", lambda a: us.max(a.halves, axis=1), lambda a: a.torch.amax(a.halves, 1), lambda a: a.cupy.max(a.halvesc, 1)),
    ("argmax f16, axis 1", lambda a: us.argmax(a.halves, axis=1), lambda a: a.torch.argmax(a.halves, 1), lambda a: a.cupy.argmax(a.halvesc, 1)),
    ("cummax f16, axis 1", lambda a: us.cummax(a.halves, axis=1), lambda a: a.torch.cummax(a.halves, 1), None),
    ("all f32, axis 1", lambda a: us.all(a.rows, axis=1), lambda a: a.torch.all(a.rows, 1), lambda a: a.cupy.all(a.rowsc, 1)),
    ("sum i8, axis 0", lambda a: us.sum(a.small, axis=0), lambda a: a.torch.sum(a.small, 0), lambda a: a.cupy.sum(a.smallc, 0)),
    ("max i8, axis 1", lambda a: us.max(a.small, axis=1), lambda a: a.torch.amax(a.small, 1), lambda a: a.cupy.max(a.smallc, 1)),
    ("prod i8, axis 1", lambda a: us.prod(a.small, axis=1), lambda a: a.torch.prod(a.small, 1), lambda a: a.cupy.prod(a.smallc, 1)),
    ("argmax i8, axis 0", lambda a: us.argmax(a.small, axis=0), lambda a: a.torch.argmax(a.small, 0), lambda a: a.cupy.argmax(a.smallc, 0)),
    ("segment_reduce f16, 1000 a segment", lambda a: us.segment_reduce(a.h, a.offsets, "plus"),
     lambda a: a.torch.segment_reduce(a.h, "sum", offsets=a.offsets), None),
    ("segment_scan f32, exclusive", lambda a: us.segment_scan(a.f, a.offsets, "plus", exclusive=True), None, None),
    ("scan_by_key f32, exclusive", lambda a: us.scan_by_key(a.keys, a.f, "plus", exclusive=True), None, None),
    ("run_length_encode i8", lambda a: us.run_length_encode(a.small_keys),
     lambda a: a.torch.unique_consecutive(a.small_keys, return_counts=True), None),
    ("var f32", lambda a: us.var(a.f), lambda a: a.torch.var(a.f, correction=0), lambda a: a.cupy.var(a.fc)),
    ("histogram f32, 64 bins, axis 1", lambda a: us.histogram(a.rows, 64, (0, 1), axis=1), None, None),
    ("segment_histogram f32, 64 bins", lambda a: us.segment_histogram(a.f, a.offsets, 64, (0, 1)), None, None),
)


class GpuArrays:
    """The same elements as tensors of PyTorch and as arrays of CuPy, whose names end in c."""

    def __init__(self, n):
        import cupy
        import torch

        self.torch, self.cupy = torch, cupy
        torch.manual_seed(1)
        self.f = torch.rand(n, device="cuda")
        self.g = self.f.clone().requires_grad_()
        self.d = self.f.double()
        self.h = self.f.half()
        self.i = torch.randint(0, 256, (n,), device="cuda", dtype=torch.int32)
        self.l = self.i.long()
        self.none = torch.zeros(n, dtype=torch.bool, device="cuda")
        self.mask = self.f < 0.5
        columns = max(n // 1024, 10)
        self.rows = self.f[:n // columns * columns].reshape(-1, columns)
        self.halves, self.truths = self.rows.half(), self.rows < 0.5
        self.small = (100 * self.rows).to(torch.int8)
        self.out = torch.empty_like(self.f)
        self.offsets = torch.arange(0, n + 1, 1000, device="cuda")
        self.keys = torch.arange(n, device="cuda", dtype=torch.int32) // 20
        self.small_keys = (self.keys % 100).to(torch.int8)
        for name in ("f", "d", "h", "i", "l", "none", "out", "rows", "mask", "halves", "truths", "small"):
            setattr(self, name + "c", cupy.from_dlpack(getattr(self, name)))


def parts_of(result):
    """The arrays of a result, which may be several: keys and lengths, say."""
    return [result] if hasattr(result, "__dlpack__") else list(result)


def agree(arrays, ours, peer):
    """Whether two results are the same but for rounding, as far as both have them."""
    torch = arrays.torch
    for pair in zip(parts_of(ours), parts_of(peer)):
        a, b = (torch.as_tensor(part, device="cuda").to(torch.float64).detach() for part in pair)
        if a.shape != b.shape or not torch.allclose(a, b, rtol=2e-3, atol=1e-30, equal_nan=True):
            return False
    return True


def by_key_of_torch(a):
    keys, lengths = a.torch.unique_consecutive(a.keys, return_counts=True)
    return keys, a.torch.segment_reduce(a.f, "sum", lengths=lengths)


def host_seconds(call, arrays, repeats=100):
    """The host's time for a call, of so few that the GPU's queue has room for all."""
    arrays.torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(repeats):
        call(arrays)
    taken = time.perf_counter() - begin
    arrays.torch.cuda.synchronize()
    return taken / repeats


def gpu_seconds(call, arrays, repeats=10):
    """The GPU's time for a call. One that takes long is not repeated, but that the first may have compiled a kernel."""
    for _ in range(2):
        begin = time.perf_counter()
        call(arrays)
        arrays.torch.cuda.synchronize()
        taken = time.perf_counter() - begin
    if taken > 0.1:
        return taken
    event = arrays.torch.cuda.Event
    begin, end = event(enable_timing=True), event(enable_timing=True)
    begin.record()
    for _ in range(repeats):
        call(arrays)
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / repeats / 1e3


def natives(path):
    """A bare launch, and the C++ library's calls, by the names of the rows."""
    library = ctypes.CDLL(path)
    arguments = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p)
    library.native_sum.argtypes = library.native_cumulative_sum.argtypes = arguments
    library.bare_launches.argtypes = (ctypes.c_int, ctypes.c_void_p)
    stream = None
    return {"bare": lambda count: library.bare_launches(count, stream),
            "sum f32": lambda a: library.native_sum(a.f.data_ptr(), a.f.numel(), a.out.data_ptr(), stream),
            "cumulative_sum f32": lambda a: library.native_cumulative_sum(a.f.data_ptr(), a.f.numel(), a.out.data_ptr(), stream)}


def measure_on_gpu(n, is_small, options, write):
    arrays = GpuArrays(n)
    native = natives(options.native) if options.native else {}
    seconds_of = host_seconds if is_small else gpu_seconds
    print(f"\n{n} elements, {'host' if is_small else 'GPU'} time in us{'':12s}Upsweep       C++    PyTorch       CuPy  times")
    if is_small and native:
        def bare(_):
            native["bare"](1)
        host_seconds(bare, arrays)
        together = []
        for _ in range(9):
            arrays.torch.cuda.synchronize()
            begin = time.perf_counter()
            native["bare"](100)
            together.append((time.perf_counter() - begin) / 100)
        seconds = statistics.median(together)
        print(f"{'a bare launch, in C':36s} {seconds * 1e6:11.2f}", flush=True)
        write({"row": "bare launch", "n": n, "host_us": {"cpp": seconds * 1e6}})
    for name, *calls in (*GPU_ROWS, *GPU_ROWS_OF_AXES):
        if not re.search(options.only, name):
            continue
        calls.insert(1, native.get(name))
        try:
            times = [[], [], [], []]
            for _ in range(10):  # the first one warms up
                for column, call in zip(times, calls):
                    if call is not None and not (column and column[-1] > 0.1):
                        column.append(seconds_of(call, arrays))
            ours, *peers = (statistics.median(column[1:] or column) if column else None for column in times)
        except TypeError as error:
            print(f"{name:36s} {error}")
            continue
        peer = next((call for call in calls[2:] if call is not None), None)
        if peer is not None and not name.startswith("arg") and not agree(arrays, calls[0](arrays), peer(arrays)):
            print(f"{name:36s} differs from its peer")
        show = "".join(f"{'-':>10s} " if t is None else f"{t * 1e6:10.2f} " for t in peers)
        best = min((t for t in peers[1:] if t is not None), default=float("nan"))
        print(f"{name:36s} {ours * 1e6:11.2f}{show} {best / ours:6.2f}", flush=True)
        names = ("cpp", "torch", "cupy")
        write({"row": name, "n": n, ("host_us" if is_small else "gpu_us"):
               {"upsweep": ours * 1e6, **{k: t * 1e6 for k, t in zip(names, peers) if t is not None}}})


def main_on_gpu(options):
    import cupy
    import torch

    rows = []
    about = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "cupy": cupy.__version__, "upsweep": us.__version__}
    measure_on_gpu(1000, True, options, rows.append)
    measure_on_gpu(options.elements, False, options, rows.append)
    if options.json:
        with open(options.json, "w") as to:
            for row in rows:
                print(json.dumps({**row, **about}), file=to)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--elements", type=int)
    arguments.add_argument("--only", default="")
    arguments.add_argument("--gpu", action="store_true")
    arguments.add_argument("--native")
    arguments.add_argument("--json")
    options = arguments.parse_args()
    options.elements = options.elements or (1 << 28 if options.gpu else 1 << 26)
    us.show_targets()
    if options.gpu:
        return main_on_gpu(options)
    for n in (1000, options.elements):
        measure(n, options.only)


if __name__ == "__main__":
    main()
