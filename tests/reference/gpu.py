# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Compares the bits of libupsweep's folds on a GPU, real or simulated, with those of fold_order.py, and its counts.

    python3 gpu.py libupsweep.so [--seed N] [--only REGEX]

So little of the GPU's memory is allowed that small arrays pass through it in many chunks.
"""
import ctypes
import re
import sys

import numpy as np

import histograms
import samples
from bits import EVERY_FOLD, ScanCase, check_reducer, check_scanner, cut, inputs_of, same_bits
from checks import case, refused, require, run
from fold_order import FLOATS, OPS, STORAGE, folds, reduce, reduce_dtype, supported
from library import DTYPES, INVALID_ARGUMENT, OK, OP_NUMBERS, OUT_OF_MEMORY, UNSUPPORTED, Guarded, Outside, cuda

LEAST = 1 << 10  # elements of a chunk
UNDER_WAY = 3    # chunks


def size_of(dtype):
    return np.dtype(STORAGE[dtype]).itemsize


def near_borders(rng, chunk):
    """Elements that fill some chunks of so many, or not quite, or a little more."""
    return max(1, int(rng.integers(0, 7)) * chunk + int(rng.choice([-1, 0, 1, *rng.integers(-chunk, chunk, 3)])))


def few(pieces):
    """Every fourth border between the pieces."""
    ends = [end for _, end in pieces][::-4][::-1]
    return list(zip([0, *ends[:-1]], ends))


def reducers(libs, rng):
    """Every type and operator: fed in pieces, with the fold of all elements so far after each."""
    for op, dtype in EVERY_FOLD:
        chunk = LEAST << int(rng.integers(3))
        for _, values in inputs_of(rng, op, dtype, near_borders(rng, chunk)):
            expected = reduce(values, op, dtype, folds)
            source, pieces = Guarded.of(dtype, values, rng.integers(64)), few(cut(rng, len(values)))
            for lib in libs:
                check_reducer(lib, op, dtype, source, expected, pieces,
                              cuda(2)._replace(gpu_memory=UNDER_WAY * size_of(dtype) * chunk))


def scanners(libs, rng):
    """Every type and operator, sums of floats often: inclusive or exclusive, with init or without, in place or not."""
    for op, dtype in EVERY_FOLD + 4 * [("plus", dtype) for dtype in FLOATS]:
        chunk = LEAST << int(rng.integers(3))
        name, values = next(inputs_of(rng, op, dtype, near_borders(rng, chunk)))
        scanned = ScanCase(rng, op, dtype, values, name, None, bool(rng.integers(2)), bool(rng.integers(2)))
        for lib in libs:
            check_scanner(lib, scanned, cut(rng, len(values)),
                          cuda(2)._replace(gpu_memory=UNDER_WAY * 2 * size_of(dtype) * chunk), bool(rng.integers(2)))


def converting_scanners(libs, rng):
    """From one type to another; but not from floats to integers."""
    pairs = [(op, source, target) for op in OPS for source in STORAGE for target in STORAGE
             if source != target and supported(op, source) and supported(op, target)
             and (source not in FLOATS or target in (*FLOATS, "bool"))]
    for i in rng.choice(len(pairs), 150, replace=False):
        op, source, target = pairs[i]
        name, values = next(inputs_of(rng, op, source, near_borders(rng, LEAST)))
        scanned = ScanCase(rng, op, source, values, name, target, bool(rng.integers(2)), bool(rng.integers(2)))
        for lib in libs:
            memory = UNDER_WAY * (size_of(source) + size_of(target)) * LEAST
            check_scanner(lib, scanned, [(0, len(values))], cuda(1)._replace(gpu_memory=memory), False)


@case()
def check_whole(lib, op, dtype, values, expected):
    result_dtype, what = reduce_dtype(op, dtype), f"{op} of {len(values)} {dtype} by the GPU"
    source, result = Guarded.of(dtype, values), Guarded(result_dtype, 1)
    status = lib.reduce(cuda(0), OP_NUMBERS[op], DTYPES[dtype], source.pointer, len(values), result.pointer)
    require(status == OK, f"{what}: {lib.message()}")
    same_bits(result.array, expected, result_dtype, what)


def whole_arrays(libs, rng):
    """As much memory as is allowed unasked."""
    for op, dtype in [("plus", "f32"), ("plus", "f16"), ("plus", "i8"), ("maximum", "f64")]:
        for n in (1, 300_000 + int(rng.integers(1000))):
            name, values = next(inputs_of(rng, op, dtype, n))
            for lib in libs:
                check_whole(lib, op, dtype, values, reduce(values, op, dtype))
                if n > 1:
                    ScanCase(rng, op, dtype, values, name).check(lib, n, cuda(0))


def histograms_of_few_samples(libs, rng):
    """Every type, in bins that try the arithmetic, by one call."""
    for dtype in STORAGE:
        some = list(histograms.ranges(rng, dtype))
        for k in rng.choice(len(some), 4, replace=False):
            lo, hi, bins = some[k]
            edges = histograms.even_edges(dtype, lo, hi, bins)
            x = histograms.adversarial(rng, dtype, edges, int(rng.choice([0, 1, 1000, 5000])))
            expected = histograms.count_between(edges, histograms.comparable(x, dtype, False))
            for lib in libs:
                histograms.check(lib, rng, x, dtype, 2, expected, f"even bins ({lo}, {hi}, {bins}) on the GPU",
                                 even=(lo, hi, bins), on=cuda)


def histograms_in_chunks(libs, rng):
    """Every type, in chunks and pieces whose borders differ, by even bins and by edges; letters, too."""
    edges = np.array([-3, -0.1, 0, 0.1, 2, 77])
    for dtype in STORAGE:
        chunk = LEAST << int(rng.integers(2))
        x = histograms.adversarial(rng, dtype, histograms.even_edges(dtype, -5, 250, 300), near_borders(rng, chunk))
        pieces, target = few(cut(rng, len(x))), cuda(2)._replace(gpu_memory=UNDER_WAY * size_of(dtype) * chunk)
        for lib in libs:
            histograms.check_counter(
                lib, target, x, dtype, pieces, lambda n: histograms.count_between(
                    histograms.even_edges(dtype, -5, 250, 300), histograms.comparable(x[:n], dtype, False)),
                "even bins on the GPU", even=(-5, 250, 300))
            histograms.check_counter(
                lib, target, x, dtype, pieces,
                lambda n: histograms.count_between(edges, histograms.comparable(x[:n], dtype, True)),
                "edges on the GPU", edges=edges)
    histograms.letters(libs, rng, on=cuda)


def refusals(libs, rng):
    """What has no answer gets a status and a message, and nothing is written."""
    f32, gpu, out = DTYPES["f32"], cuda(1), Guarded("f32", 100)
    some = Guarded.of("f32", samples.mixed(rng, "f32", 100))
    for lib in libs:
        require(lib.gpu_name(), "the GPU has no name")
        status = lib.reduce(gpu, OP_NUMBERS["minimum"], f32, None, 0, out.pointer)
        refused(lib, "minimum of nothing", status, INVALID_ARGUMENT, out, "no elements")
        status = lib.reduce(gpu, OP_NUMBERS["bit_or"], f32, some.pointer, 100, out.pointer)
        refused(lib, "bits of floats", status, UNSUPPORTED, out, "bit_or", "f32")
        counts, beside = Guarded("u64", 4), Guarded("u64", 3)
        status = lib.histogram_even(gpu, f32, some.pointer, 100, 1, 0, 4, counts.pointer, beside.pointer)
        refused(lib, "a histogram", status, INVALID_ARGUMENT, counts, "histogram", "range")
        counter, reducer = ctypes.c_void_p(), ctypes.c_void_p()
        require(lib.counter_create_even(gpu, f32, 0, 1, 4, ctypes.byref(counter)) == OK, lib.message())
        require(lib.reducer_create(gpu, 0, f32, ctypes.byref(reducer)) == OK, lib.message())
        for fed, feed in ((counter, lib.counter_feed), (reducer, lib.reducer_feed)):
            require(feed(fed, some.pointer, 100) == OK, lib.message())
        little = cuda(1)._replace(gpu_memory=1000)
        refused(lib, "too little memory", lib.context(little)[0], INVALID_ARGUMENT, out, "1000 bytes")
        little = cuda(1)._replace(gpu_memory=4000)
        refused(lib, "too little memory for f32", lib.reducer_create(little, 0, f32, ctypes.byref(ctypes.c_void_p())),
                INVALID_ARGUMENT, out, "4000 bytes", "at least")
        lib.counter_destroy(counter)
        lib.reducer_destroy(reducer)
    histograms.refusals_of_counters(libs, rng, on=cuda)


def too_many_bins(libs, rng):
    """More than the GPU counts are refused at once, with or without samples, before there is a table of them."""
    f32, gpu, out = DTYPES["f32"], cuda(1), Guarded("u64", 4)
    for lib in libs:
        counter, beside = ctypes.c_void_p(0xA5A5), Guarded("u64", 3)

        def create(bins):
            return lib.counter_create_even(gpu, f32, 0, 1, bins, ctypes.byref(counter))

        refused(lib, "too many bins", create(2_000_000_000), INVALID_ARGUMENT, out, "2000000000 bins", "fewer bins")
        most = int(re.search(r"at once, (\d+)", lib.message())[1])
        refused(lib, "one bin too many", create(most + 1), INVALID_ARGUMENT, out, f"{most + 1} bins")
        with case():
            require(counter.value == 0xA5A5, f"{lib.isa}: a failed call created a counter")
        edges = np.arange(most + 2, dtype=np.float64)
        status = lib.counter_create_edges(gpu, f32, edges.ctypes.data, len(edges), ctypes.byref(counter))
        refused(lib, "one edge too many", status, INVALID_ARGUMENT, out, f"{most + 1} bins")
        status = lib.histogram_even(gpu, f32, None, 0, 0, 1, most + 1, out.pointer, beside.pointer)
        refused(lib, "too many bins for no samples", status, INVALID_ARGUMENT, out, f"{most + 1} bins")
        with case():
            require(create(most) == OK, f"{lib.isa}: {most} bins: {lib.message()}")
            lib.counter_destroy(counter)


def too_much_memory(libs, rng):
    """A counter without memory for its first samples says so every time; one with less memory counts."""
    x = np.array([0.5, 0.7, 2], np.float32)
    for lib in libs:
        counter, counts, outside = ctypes.c_void_p(), Guarded("u64", 2), Outside()
        for memory in (1 << 60, 1 << 20):
            target = cuda(1)._replace(gpu_memory=memory)
            with case():
                status = lib.counter_create_even(target, DTYPES["f32"], 0, 1, 2, ctypes.byref(counter))
                require(status == OK, lib.message())
            for _ in range(2 if memory == 1 << 60 else 0):
                status = lib.counter_feed(counter, x.ctypes.data, 3)
                refused(lib, "too much memory", status, OUT_OF_MEMORY, counts, "bytes left")
            if memory == 1 << 60:
                lib.counter_destroy(counter)
        with case():
            require(lib.counter_feed(counter, x.ctypes.data, 3) == OK, lib.message())
            require(lib.counter_result(counter, counts.pointer, ctypes.byref(outside)) == OK, lib.message())
            require(counts.array.tolist() == [0, 2] and outside.above == 1, f"{lib.isa}: wrong counts after a failure")
        lib.counter_destroy(counter)


CHECKS = (reducers, scanners, converting_scanners, whole_arrays, histograms_of_few_samples, histograms_in_chunks,
          refusals, too_many_bins, too_much_memory)


if __name__ == "__main__":
    sys.exit(run(__doc__, CHECKS))
