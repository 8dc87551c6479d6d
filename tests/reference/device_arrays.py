#!/usr/bin/env python3
# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Arrays in memory of a GPU, through the C ABI: what libupsweep folds there has the bits of what it folds on the CPU.

On the CPU it is checked against the independent reference (bits.py, histograms.py). Device memory comes from CUDA's driver.
"""
import ctypes
import sys

import numpy as np

import samples
from checks import case, refused, require, run
from fold_order import OPS, STORAGE, convert, reduce_dtype, supported
from bits import same_bits
from library import (CPU, CUDA, DEVICE, DTYPES, INVALID_ARGUMENT, OK, OP_NUMBERS, OVERLAP, UNREACHABLE, Array, Guarded,
                     Outside, cpu, cuda)

SIZES = (1, 2, 1000, 4097, 100_003, 3_000_017)


class Driver:
    """Memory of device 0, in the context that CUDA's runtime uses as well."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.did(self.cuda.cuInit(0))
        self.did(self.cuda.cuDeviceGet(ctypes.byref(device), 0))
        self.did(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        self.did(self.cuda.cuCtxSetCurrent(context))

    @staticmethod
    def did(code):
        require(code == 0, f"CUDA's driver failed with {code}")


class DeviceArray:
    """Bytes on the GPU, `offset` of them before the first element, all of them 0xA5 at first."""

    def __init__(self, driver, dtype, count, offset=0):
        self.driver, self.kind, self.offset = driver, np.dtype(STORAGE[dtype]), offset * np.dtype(STORAGE[dtype]).itemsize
        self.bytes = count * self.kind.itemsize + self.offset + 64
        self.base = ctypes.c_uint64()
        driver.did(driver.cuda.cuMemAlloc_v2(ctypes.byref(self.base), ctypes.c_size_t(self.bytes)))
        driver.did(driver.cuda.cuMemsetD8_v2(self.base, ctypes.c_ubyte(0xA5), ctypes.c_size_t(self.bytes)))
        self.pointer, self.count, self.dtype = self.base.value + self.offset, count, dtype

    def __del__(self):
        self.driver.cuda.cuMemFree_v2(self.base)

    @classmethod
    def of(cls, driver, dtype, values, offset=0):
        self = cls(driver, dtype, len(values), offset)
        values = np.ascontiguousarray(values)
        if values.nbytes:
            driver.did(driver.cuda.cuMemcpyHtoD_v2(ctypes.c_uint64(self.pointer), ctypes.c_void_p(values.ctypes.data),
                                                   ctypes.c_size_t(values.nbytes)))
        return self

    def to_host(self):
        """The elements; and whether the bytes around them are as they were."""
        everything = np.empty(self.bytes, np.uint8)
        self.driver.did(self.driver.cuda.cuMemcpyDtoH_v2(ctypes.c_void_p(everything.ctypes.data), self.base,
                                                         ctypes.c_size_t(self.bytes)))
        end = self.offset + self.count * self.kind.itemsize
        require(np.all(everything[:self.offset] == 0xA5) and np.all(everything[end:] == 0xA5), "wrote beside the array")
        return everything[self.offset:end].view(self.kind)

    def array(self, shape=None, strides=None, first=0):
        return Array.of(self.pointer + first * self.kind.itemsize, DTYPES[self.dtype],
                        (self.count,) if shape is None else shape, strides, DEVICE, 0)


def host_array(values, dtype):
    return Array.of(values.ctypes.data, DTYPES[dtype], (len(values),))


def reduced_on_cpu(lib, op, dtype, values):
    kind = reduce_dtype(op, dtype)
    result = np.zeros(1, STORAGE[kind])
    status = lib.c.reduce(None, OP_NUMBERS[op], host_array(values, dtype), host_array(result, kind))
    require(status == OK, lib.message())
    return result, kind


def some(rng, dtype, n):
    return convert(samples.mixed(rng, dtype, n), dtype, dtype) if dtype in ("f16", "bf16", "f32", "f64") else samples.raw(rng, dtype, n)


@case()
def check_reduce(lib, driver, op, dtype, values, offset):
    what = f"{op} of {len(values)} {dtype} at {offset}"
    expected, kind = reduced_on_cpu(lib, op, dtype, values)
    status, gpu = lib.context(cuda(0))
    require(status == OK, lib.message())
    source = DeviceArray.of(driver, dtype, values, offset)
    on_host, on_gpu = Guarded(kind, 1), DeviceArray(driver, kind, 1)
    require(lib.c.reduce(gpu, OP_NUMBERS[op], source.array(), Array.of(on_host.pointer, DTYPES[kind], ())) == OK, lib.message())
    require(lib.c.reduce(gpu, OP_NUMBERS[op], source.array(), on_gpu.array()) == OK, lib.message())
    require(lib.c.context_wait(gpu) == OK, lib.message())
    same_bits(on_host.array, expected, kind, f"{what}, to the host")
    same_bits(on_gpu.to_host(), expected, kind, f"{what}, to the GPU")
    require(on_host.untouched_around(), f"{what}: wrote beside its result")


def reductions(libs, rng):
    """Every type and operator, aligned and not."""
    driver = Driver()
    for dtype in STORAGE:
        for op in OPS:
            for n in rng.choice(SIZES, 2, replace=False) if supported(op, dtype) else ():
                values = some(rng, dtype, int(n))
                for lib in libs:
                    check_reduce(lib, driver, op, dtype, values, int(rng.integers(3)))


@case()
def check_scan(lib, driver, rng, op, dtype, out_dtype, values, exclusive, with_init, in_place):
    n = len(values)
    what = (f"{'exclusive' if exclusive else 'inclusive'} scan by {op} of {n} {dtype} to {out_dtype}"
            f"{' with init' if with_init else ''}{' in place' if in_place else ''}")
    init = some(rng, out_dtype, 1)
    init_pointer = init.ctypes.data if with_init else None
    expected = np.zeros(n, STORAGE[out_dtype])
    status = lib.c.scan(None, OP_NUMBERS[op], exclusive, host_array(values, dtype), host_array(expected, out_dtype), init_pointer)
    require(status == OK, lib.message())
    status, gpu = lib.context(cuda(0))
    require(status == OK, lib.message())
    source = DeviceArray.of(driver, dtype, values, int(rng.integers(3)))
    out = source if in_place else DeviceArray(driver, out_dtype, n, int(rng.integers(3)))
    require(lib.c.scan(gpu, OP_NUMBERS[op], exclusive, source.array(), out.array(), init_pointer) == OK, f"{what}: {lib.message()}")
    require(lib.c.context_wait(gpu) == OK, lib.message())
    same_bits(out.to_host(), expected, out_dtype, what)


def scans(libs, rng):
    """Every type and operator; to other types now and then."""
    driver = Driver()
    for dtype in STORAGE:
        for op in OPS:
            if not supported(op, dtype):
                continue
            for exclusive in (False, True):
                n, in_place = int(rng.choice(SIZES)), bool(rng.integers(2))
                values = some(rng, dtype, n)
                for lib in libs:
                    check_scan(lib, driver, rng, op, dtype, dtype, values, exclusive, bool(rng.integers(2)), in_place)
                    check_scan(lib, driver, rng, op, dtype, "f64", values, exclusive, bool(rng.integers(2)), False) \
                        if supported(op, "f64") else None


def views(rng, n):
    """Shapes and strides, in elements, of views of n elements, and the place of the first one."""
    rows = int(rng.integers(2, 40))
    columns = n // rows
    yield "transposed", (columns, rows), (1, columns), 0
    yield "padded", (rows, columns - 1), (columns, 1), 1
    yield "reversed", (n,), (-1,), n - 1
    yield "every third", ((n + 2) // 3,), (3,), 0
    yield "broadcast", (3, rows, columns), (0, columns, 1), 0
    yield "of five dimensions", (2, 3, 2, 2, 2), (64, 1, 32, 4, 16), 0
    yield "permuted", (2, columns // 2, rows // 2 * 2), (columns // 2, 1, columns), 0


def strided(libs, rng):
    """What has gaps, or another order; results of scans, too."""
    driver = Driver()
    for dtype in ("f32", "u8", "i64", "f16", "bool"):
        n = int(rng.integers(2000, 400_000))
        values = some(rng, dtype, n)
        source = DeviceArray.of(driver, dtype, values)
        for name, shape, strides, first in views(rng, n):
            for op in ("plus", "maximum", "logical_or"):
                for lib in libs:
                    with case():
                        what = f"{op} of a {name} view {shape} of {dtype}"
                        size = values.itemsize
                        view = np.lib.stride_tricks.as_strided(values[first:], shape, [s * size for s in strides])
                        flat = np.ascontiguousarray(view).ravel()
                        expected, kind = reduced_on_cpu(lib, op, dtype, flat)
                        gpu = lib.context(cuda(0))[1]
                        result = Guarded(kind, 1)
                        status = lib.c.reduce(gpu, OP_NUMBERS[op], source.array(shape, strides, first),
                                              Array.of(result.pointer, DTYPES[kind], (1,)))
                        require(status == OK, f"{what}: {lib.message()}")
                        same_bits(result.array, expected, kind, what)
                        exclusive = bool(rng.integers(2))
                        scanned = np.zeros(len(flat), STORAGE[dtype])
                        lib.c.scan(None, OP_NUMBERS[op], exclusive, host_array(flat, dtype), host_array(scanned, dtype), None)
                        out = DeviceArray(driver, dtype, len(flat))
                        status = lib.c.scan(gpu, OP_NUMBERS[op], exclusive, source.array(shape, strides, first), out.array(shape),
                                            None)
                        require(status == OK, f"scan, {what}: {lib.message()}")
                        lib.c.context_wait(gpu)
                        same_bits(out.to_host(), scanned, dtype, f"scan, {what}")
                        if 0 in strides:
                            continue
                        in_place = DeviceArray.of(driver, dtype, values)
                        array = in_place.array(shape, strides, first)
                        require(lib.c.scan(gpu, OP_NUMBERS[op], exclusive, array, array, None) == OK, f"{what}: {lib.message()}")
                        lib.c.context_wait(gpu)
                        back = in_place.to_host().copy()
                        view = np.lib.stride_tricks.as_strided(back[first:], shape, [s * size for s in strides])
                        same_bits(np.ascontiguousarray(view).ravel(), scanned, dtype, f"scan in place, {what}")


def histograms(libs, rng):
    """Counts in memory of the GPU and of the host, added to what is there."""
    driver = Driver()
    for dtype in STORAGE:
        n, bins = int(rng.choice(SIZES)), int(rng.choice([1, 10, 256, 5000]))
        values = some(rng, dtype, n)
        edges = np.unique(rng.normal(0, 50, bins + 1))
        source = DeviceArray.of(driver, dtype, values, int(rng.integers(3)))
        for lib in libs:
            with case():
                gpu, what = lib.context(cuda(0))[1], f"histogram of {n} {dtype} in {bins} bins"
                before = rng.integers(0, 1000, bins, np.uint64)

                def count(context, samples_array, counts, outside, by_edges):
                    if by_edges:
                        return lib.c.histogram_edges(context, samples_array, edges.ctypes.data, len(edges), counts, outside)
                    return lib.c.histogram_even(context, samples_array, -20.0, 100.0, counts, outside)

                for by_edges in (False, True):
                    expected, beside = before.copy(), Outside(1, 2, 3)
                    require(count(None, host_array(values, dtype), host_array(expected, "u64"), ctypes.byref(beside), by_edges) == OK,
                            lib.message())
                    on_host, beside_host = before.copy(), Outside(1, 2, 3)
                    require(count(gpu, source.array(), host_array(on_host, "u64"), ctypes.byref(beside_host), by_edges) == OK,
                            lib.message())
                    on_gpu = DeviceArray.of(driver, "u64", before)
                    beside_gpu = DeviceArray.of(driver, "u64", np.array([1, 2, 3], np.uint64))
                    require(count(gpu, source.array(), on_gpu.array(), beside_gpu.pointer, by_edges) == OK, lib.message())
                    lib.c.context_wait(gpu)
                    numbers = [beside.below, beside.above, beside.nan]
                    require(np.array_equal(on_host, expected) and
                            [beside_host.below, beside_host.above, beside_host.nan] == numbers, f"{what}, to the host")
                    require(np.array_equal(on_gpu.to_host(), expected) and beside_gpu.to_host().tolist() == numbers,
                            f"{what}, to the GPU")


def pieces(libs, rng):
    """Reducers, scanners and partials, of pieces in both memories by turns."""
    driver = Driver()
    for dtype in ("f32", "i16", "bf16", "u64"):
        values = some(rng, dtype, 300_000)
        cuts = np.sort(rng.integers(0, len(values), 6)).tolist()
        borders = list(zip([0, *cuts], [*cuts, len(values)]))
        source = DeviceArray.of(driver, dtype, values)
        for lib in libs:
            with case():
                what = f"pieces of {dtype}: {borders}"
                expected, kind = reduced_on_cpu(lib, "plus", dtype, values)
                gpu = lib.context(cuda(0))[1]
                reducer, partial = ctypes.c_void_p(), ctypes.c_void_p()
                require(lib.c.reducer_create(gpu, 0, DTYPES[dtype], ctypes.byref(reducer)) == OK, lib.message())
                require(lib.c.partial_create(0, DTYPES[dtype], ctypes.byref(partial)) == OK, lib.message())
                scanner, out = ctypes.c_void_p(), DeviceArray(driver, dtype, len(values))
                scanned, on_host = np.zeros_like(values), np.zeros_like(values)
                lib.c.scan(None, 0, False, host_array(values, dtype), host_array(scanned, dtype), None)
                require(lib.c.scanner_create(gpu, 0, False, DTYPES[dtype], DTYPES[dtype], None, ctypes.byref(scanner)) == OK, lib.message())
                for k, (begin, end) in enumerate(borders):
                    on_gpu = source.array((end - begin,), None, begin)
                    piece = on_gpu if k % 2 else Array.of_numpy(values[begin:end], dtype)
                    require(lib.c.reducer_feed(reducer, piece) == OK, f"{what}: {lib.message()}")
                    require(lib.c.partial_feed(partial, gpu, piece, begin) == OK, f"{what}: {lib.message()}")
                    target = out.array((end - begin,), None, begin) if k % 2 else Array.of_numpy(on_host[begin:end], dtype)
                    require(lib.c.scanner_feed(scanner, piece, target) == OK, f"{what}: {lib.message()}")
                result = Guarded(kind, 1)
                require(lib.c.reducer_result(reducer, result.pointer) == OK, lib.message())
                same_bits(result.array, expected, kind, f"reducer, {what}")
                result.poison()
                require(lib.c.partial_result(partial, result.pointer) == OK, lib.message())
                same_bits(result.array, expected, kind, f"partial, {what}")
                lib.c.context_wait(gpu)
                everything = out.to_host().copy()
                for begin, end in borders[::2]:
                    everything[begin:end] = on_host[begin:end]
                same_bits(everything, scanned, dtype, f"scanner, {what}")
                lib.c.reducer_destroy(reducer)
                lib.c.scanner_destroy(scanner)
                lib.c.partial_destroy(partial)


def refusals(libs, rng):
    """Memory that is out of reach, or not what it is said to be."""
    driver = Driver()
    values = np.ones(100, np.float32)
    source, out = DeviceArray.of(driver, "f32", values), Guarded("f32", 100)
    one = Array.of(out.pointer, DTYPES["f32"], ())
    for lib in libs:
        gpu, host = lib.context(cuda(0))[1], lib.context(cpu(0))[1]
        refused(lib, "a GPU's array on the CPU", lib.c.reduce(host, 0, source.array(), one), UNREACHABLE, out, "GPU")
        lying = source.array()
        lying.memory = 0
        refused(lib, "device memory said to be the host's", lib.c.reduce(gpu, 0, lying, one), UNREACHABLE, out, "host")
        lying = Array.of(out.pointer, DTYPES["f32"], (100,), None, DEVICE)
        refused(lib, "host memory said to be the GPU's", lib.c.reduce(gpu, 0, lying, one), UNREACHABLE, out, "host")
        refused(lib, "two memories", lib.c.scan(gpu, 0, False, source.array(), Array.of(out.pointer, DTYPES["f32"], (100,)), None),
                INVALID_ARGUMENT, out, "different memories")
        refused(lib, "an overlap", lib.c.scan(gpu, 0, False, source.array((50,)), source.array((50,), None, 1), None), OVERLAP, out,
                "overlap")
        refused(lib, "an output that overlaps itself", lib.c.scan(gpu, 0, False, source.array((50,)), source.array((50,), (0,)), None),
                OVERLAP, out, "same place")
        with case():
            require(np.array_equal(source.to_host(), values), "a refused call wrote to the GPU")


if __name__ == "__main__":
    sys.exit(run(__doc__, (reductions, scans, strided, histograms, pieces, refusals)))
