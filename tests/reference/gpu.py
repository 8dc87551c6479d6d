# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Compares the bits of libupsweep's folds on a GPU, real or simulated, with those of fold_order.py, and its counts.

    python3 gpu.py libupsweep.so [--seed N] [--only REGEX]

So little of the GPU's memory is allowed that small arrays pass through it in many chunks.
"""
import ctypes
import re
import sys

import numpy as np

import arrays
import histograms
import samples
from bits import ScanCase, check_reducer, check_scanner, cut, every_fold, inputs_of, same_bits
from checks import case, refused, require, run
from fold_order import FLOATS, OPS, STORAGE, folds, reduce, reduce_dtype, supported
from library import (DEVICE, DTYPES, HOST, INVALID_ARGUMENT, OK, OP_NUMBERS, OUT_OF_MEMORY, UNREACHABLE, UNSUPPORTED, Array,
                     Guarded, Outside, cuda, line)

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
    for op, dtype in every_fold():
        chunk = LEAST << int(rng.integers(3))
        for _, values in inputs_of(rng, op, dtype, near_borders(rng, chunk)):
            expected = reduce(values, op, dtype, folds)
            source, pieces = Guarded.of(dtype, values, rng.integers(64)), few(cut(rng, len(values)))
            for lib in libs:
                check_reducer(lib, op, dtype, source, expected, pieces,
                              cuda(2)._replace(gpu_memory=UNDER_WAY * size_of(dtype) * chunk))


def scanners(libs, rng):
    """Every type and operator, sums of floats often: inclusive or exclusive, with init or without, in place or not."""
    for op, dtype in every_fold() + 4 * [("plus", dtype) for dtype in FLOATS]:
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


def lines_and_runs(libs, rng):
    """Rows, columns, segments and runs in memory of the host are refused as long as GPUs do not fold them, and nothing is written."""
    f32, u64 = DTYPES["f32"], DTYPES["u64"]
    for lib in libs:
        context, c, out = lib.context(cuda(1))[1], lib.c, Guarded("f64", 64)
        some, numbers, runs = Guarded.of("f32", np.ones(24, np.float32)), Guarded.of("u64", np.arange(4)), ctypes.c_uint64(5)
        grid, whole, column = (Array.of(at.pointer, f32, shape) for at, shape in ((some, (4, 6)), (out, (4, 6)), (out, (4,))))
        four, bounds, totals = line(some.pointer, f32, 4), line(numbers.pointer, u64, 4), line(out.pointer, f32, 3)
        behind = line(out.pointer + 256, u64, 4)
        for name, status in (
                ("reduce_axis", c.reduce_axis(context, 0, grid, 1, column)), ("mean_axis", c.mean_axis(context, grid, 1, column)),
                ("variance_axis", c.variance_axis(context, grid, 1, 0.0, column)),
                ("variance_axes", c.variance_axes(context, grid, 2, 0.0, column)),
                ("scan_axis", c.scan_axis(context, 0, False, grid, 1, whole, None)), ("integral_image", c.integral_image(context, grid, whole)),
                ("segmented_reduce", c.segmented_reduce(context, 0, four, bounds, totals)),
                ("segmented_scan", c.segmented_scan(context, 0, False, four, bounds, column, None)),
                ("check_offsets", c.check_offsets(context, bounds, 4)),
                ("reduce_by_key", c.reduce_by_key(context, 0, bounds, four, behind, column, ctypes.byref(runs))),
                ("scan_by_key", c.scan_by_key(context, 0, False, bounds, four, column, None)),
                ("run_length_encode", c.run_length_encode(context, four, column, behind, ctypes.byref(runs))),
                ("run_length_decode", c.run_length_decode(context, four, bounds, column))):
            refused(lib, name, status, UNSUPPORTED, out, "GPU", "context of the CPU")
        require(runs.value == 5, "a refused call wrote the number of runs")


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


# --- arrays with strides --------------------------------------------------------------------------------------------

def on_the_gpu(lib, rng):
    """A context of the GPU through which host arrays pass in many chunks."""
    return lib.context(cuda(2)._replace(gpu_memory=UNDER_WAY * 16 * LEAST))[1], "the GPU"


def some_folds(rng):
    """Every type with some operator, and those that have kernels of their own in the simulator."""
    chosen = {dtype: [op for op, of in every_fold() if of == dtype] for dtype in STORAGE}
    return [(str(rng.choice(ops)), dtype) for dtype, ops in chosen.items() if ops] + [("plus", "f32"), ("minimum", "i16"), ("maximum", "f32")]


def arrays_of_the_host(libs, rng):
    """Arrays with strides in memory of the host, on a GPU."""
    for op, dtype in some_folds(rng):
        layouts = rng.choice(arrays.LAYOUTS, 1).tolist()
        for source in arrays.inputs(rng, op, dtype, int(rng.choice((9, 3000, 6000))), layouts):
            for lib in libs:
                arrays.check_reduce(lib, rng, op, source, on_the_gpu)
            arrays.scan_once(libs, rng, op, source, str(rng.choice(arrays.OF_OUTPUTS)), on_the_gpu)
    edges = np.array([-3, -0.1, 0, 0.1, 2, 77])
    for dtype in STORAGE:
        shape, layout = arrays.random_shape(rng, int(rng.integers(7)), 4000), str(rng.choice(arrays.LAYOUTS))
        x = histograms.adversarial(rng, dtype, histograms.even_edges(dtype, -5, 250, 60), int(np.prod(shape)))
        source = arrays.Laid(rng, dtype, shape, layout, values=x)
        for lib in libs:
            arrays.check_histogram(lib, rng, source, -5.0, 250.0, 60, None, bool(rng.integers(2)), on_the_gpu)
            arrays.check_histogram(lib, rng, source, -5.0, 250.0, 5, edges, bool(rng.integers(2)), on_the_gpu)


class Simulated:
    """The calls of the simulator for memory of its GPU. A library for a real one keeps CUDA's to itself."""

    def __init__(self, lib):
        handle = ctypes.CDLL(str(lib.path.resolve()))
        self.is_there = hasattr(handle, "_Z10cudaMallocPPvm")
        if self.is_there:
            self._malloc, self._free = handle["_Z10cudaMallocPPvm"], handle["_Z8cudaFreePv"]
            self._memcpy = handle["_Z10cudaMemcpyPvPKvm14cudaMemcpyKind"]
            self._malloc.argtypes, self._free.argtypes = [ctypes.c_void_p, ctypes.c_size_t], [ctypes.c_void_p]
            self._memcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

    def malloc(self, size):
        place = ctypes.c_void_p()
        require(self._malloc(ctypes.byref(place), size) == 0, "no memory of the GPU")
        return place.value

    def copy(self, to, source, size):
        require(self._memcpy(to, source, size, 4) == 0, "a copy failed")

    def free(self, place):
        self._free(place)


class There:
    """The bytes of an array, and those around it, in memory of the GPU."""

    def __init__(self, simulated, laid):
        self.simulated, self.laid, self._bytes = simulated, laid, laid.memory._bytes
        self._place = simulated.malloc(len(self._bytes))
        simulated.copy(self._place, self._bytes.ctypes.data, len(self._bytes))
        self.pointer = self._place + laid.pointer - self._bytes.ctypes.data

    def describe(self, memory=DEVICE):
        return Array.of(self.pointer, DTYPES[self.laid.dtype], self.laid.shape, self.laid.strides, memory)

    def fetch(self):
        """The array with the bytes that it has on the GPU."""
        self.simulated.copy(self._bytes.ctypes.data, self._place, len(self._bytes))
        self.simulated.free(self._place)
        return self.laid


@case()
def check_there(lib, rng, simulated, op, source, out_layout):
    """Reduce and scan where everything lies in memory of the GPU, and a reducer and a result on the host."""
    context, result_dtype, values = lib.context(cuda(1))[1], reduce_dtype(op, source.dtype), source.values()
    what, there = f"{lib.isa} {op} of {source.what} on the GPU", There(simulated, source)
    expected = reduce(values, op, source.dtype)
    if len(values) or op not in ("minimum", "maximum"):
        result = Guarded(result_dtype, 1)
        result_there = There(simulated, arrays.Laid(rng, result_dtype, (), "c", True))
        for to in (line(result.pointer, DTYPES[result_dtype], 1), ctypes.byref(result_there.describe())):
            status = lib.c.reduce(context, OP_NUMBERS[op], ctypes.byref(there.describe()), to)
            require(status == OK, f"{what}: {lib.message()}")
        require(lib.c.context_wait(context) == OK, f"{what}: {lib.message()}")
        same_bits(result.array, expected, result_dtype, f"{what}, the result on the host")
        same_bits(result_there.fetch().values(), expected, result_dtype, f"{what}, the result there")
        require(result.untouched_around() and result_there.laid.untouched_between(), f"{what}: wrote beside its result")
        reducer = ctypes.c_void_p()
        require(lib.c.reducer_create(context, OP_NUMBERS[op], DTYPES[source.dtype], ctypes.byref(reducer)) == OK, lib.message())
        require(lib.c.reducer_feed(reducer, ctypes.byref(there.describe())) == OK, f"{what}: {lib.message()}")
        require(lib.c.reducer_result(reducer, result.pointer) == OK, f"{what}: {lib.message()}")
        same_bits(result.array, expected, result_dtype, f"{what}, a reducer")
        lib.c.reducer_destroy(reducer)
    check_scan_there(lib, rng, simulated, op, source, arrays.converted(rng, op, source.dtype), out_layout)


@case()
def check_scan_there(lib, rng, simulated, op, source, out_dtype, out_layout):
    """A scan from where elements lie to where results do, which touches nothing else."""
    context, values = lib.context(cuda(1))[1], source.values()
    what, there = f"{lib.isa} {op} of {source.what} on the GPU", There(simulated, source)
    scanned = arrays.Scanned(rng, op, source.dtype, out_dtype)
    out = There(simulated, arrays.Laid(rng, scanned.out_dtype, source.shape, out_layout, True))
    status = scanned.call(lib, context, there.describe(), out.describe())
    if status == UNSUPPORTED and "the simulator has no kernel" in lib.message():
        return
    require(status == OK, f"{what}, {scanned.what}: {lib.message()}")
    require(lib.c.context_wait(context) == OK, f"{what}: {lib.message()}")
    same_bits(out.fetch().values(), scanned.of(values), scanned.out_dtype, f"{what}, {scanned.what} to {out.laid.what}")
    require(out.laid.untouched_between(), f"{what}: wrote between or beside the elements of {out.laid.what}")
    require(there.fetch().unchanged(), f"{what}: wrote to its input")


@case()
def check_histogram_there(lib, rng, simulated, source):
    """The samples, the counts and those in no bin in memory of the GPU."""
    context, what = lib.context(cuda(1))[1], f"{lib.isa} histogram of {source.what} on the GPU"
    counted, *outside = histograms.count_between(histograms.even_edges(source.dtype, -5, 250, 60),
                                                 histograms.comparable(source.values(), source.dtype, False))
    before = rng.integers(0, 1 << 40, 63).astype(np.uint64)
    # What is in no bin lies behind the counts.
    there, counts = There(simulated, source), There(simulated, arrays.Laid(rng, "u64", (63,), "c", True, before))
    described = Array.of(counts.pointer, DTYPES["u64"], (60,), None, DEVICE)
    status = lib.c.histogram_even(context, ctypes.byref(there.describe()), -5.0, 250.0, ctypes.byref(described),
                                  ctypes.cast(counts.pointer + 60 * 8, ctypes.c_void_p))
    require(status == OK, f"{what}: {lib.message()}")
    require(lib.c.context_wait(context) == OK, f"{what}: {lib.message()}")
    added = counts.fetch().values() - before
    require(np.array_equal(added, np.concatenate([counted, np.array(outside, np.uint64)])), f"{what}: wrong counts")
    require(counts.laid.untouched_between() and there.fetch().unchanged(), f"{what}: wrote beside its counts")


@case()
def check_lines_there(lib, rng, simulated, source, axis, out_layout):
    """Sums, means and scans along an axis where everything lies in memory of the GPU have the bits of the CPU."""
    context, rest = lib.context(cuda(1))[1], source.shape[:axis] + source.shape[axis + 1:]
    calls = (("reduce_axis", rest, lambda on, x, to: lib.c.reduce_axis(on, OP_NUMBERS["plus"], x, axis, to)),
             ("mean_axis", rest, lambda on, x, to: lib.c.mean_axis(on, x, axis, to)),
             ("variance_axis", rest, lambda on, x, to: lib.c.variance_axis(on, x, axis, 1.0, to)),
             ("variance", (), lambda on, x, to: lib.c.variance(on, x, 0.0, to)),
             ("scan_axis", source.shape, lambda on, x, to: lib.c.scan_axis(on, OP_NUMBERS["plus"], False, x, axis, to, None)))
    for name, shape, call in calls:
        what, there = f"{lib.isa} {name} {axis} of {source.what}", There(simulated, source)
        expected = arrays.Laid(rng, "f32", shape, "c", True)
        require(call(None, source.describe(), expected.describe()) == OK, f"{what}: {lib.message()}")
        out = There(simulated, arrays.Laid(rng, "f32", shape, out_layout, True))
        require(call(context, there.describe(), out.describe()) == OK, f"{what} on the GPU: {lib.message()}")
        require(lib.c.context_wait(context) == OK, f"{what} on the GPU: {lib.message()}")
        same_bits(out.fetch().values(), expected.values(), "f32", f"{what} on the GPU to {out.laid.what}")
        require(out.laid.untouched_between() and there.fetch().unchanged(), f"{what}: wrote beside its results")


@case()
def check_same_there(lib, rng, simulated, what, call, sources, out_dtype, shape, out_layout="c"):
    """A call with one output gives in memory of the GPU what it gives in the host's. The simulator has few kernels."""
    what = f"{lib.isa} {what} of {', '.join(source.what for source in sources)}"
    expected = arrays.Laid(rng, out_dtype, shape, "c", True)
    require(call(None, *(source.describe() for source in sources), expected.describe()) == OK, f"{what}: {lib.message()}")
    context, there = lib.context(cuda(1))[1], [There(simulated, source) for source in sources]
    out = There(simulated, arrays.Laid(rng, out_dtype, shape, out_layout, True))
    status = call(context, *(source.describe() for source in there), out.describe())
    if status == UNSUPPORTED and "the simulator has no kernel" in lib.message():
        return
    require(status == OK, f"{what} on the GPU: {lib.message()}")
    require(lib.c.context_wait(context) == OK, f"{what} on the GPU: {lib.message()}")
    same_bits(out.fetch().values(), expected.values(), out_dtype, f"{what} on the GPU to {out.laid.what}")
    require(out.laid.untouched_between(), f"{what} on the GPU: wrote beside its results")
    require(all(source.fetch().unchanged() for source in there), f"{what} on the GPU: wrote to its input")


def scans_of_arrays_on_the_gpu(libs, rng):
    """From either end, to the type of the elements and to wider ones, whose kernels read few bytes for many, and of the converted elements of many."""
    for lib in libs:
        simulated = Simulated(lib)
        if not simulated.is_there:
            continue
        for dtype, wide in (("u8", "u64"), ("bool", "i64"), ("i32", "i64"), ("i16", "i16"), ("f32", "f32"), ("i16", "f32")):
            for n in (1, 777, 9000, 66_000 if dtype == "i16" else 3):
                for op in ("plus", "multiplies", "minimum"):
                    for layout in ("c", "turned"):
                        values = samples.near(rng, dtype, n, -2, 2) if dtype == "f32" else rng.integers(0, 2 if dtype == "bool" else 120, n)
                        source = arrays.Laid(rng, dtype, (n,), layout, values=np.asarray(values, STORAGE[dtype]))
                        check_scan_there(lib, rng, simulated, op, source, wide, layout)


def any_folds_on_the_gpu(libs, rng):
    """Every operator and type along an axis and by segments, exclusively and with an initial value, in memory of the GPU."""
    for lib in libs:
        simulated, c = Simulated(lib), lib.c
        if not simulated.is_there:
            continue
        for op, dtype in every_fold():
            number, out_layout = OP_NUMBERS[op], str(rng.choice(arrays.OF_OUTPUTS))
            shape = [(5, 300), (300, 5), (33, 3, 17), (1, 70)][rng.integers(4)]
            _, values = next(inputs_of(rng, op, dtype, int(np.prod(shape))))
            layout = str(rng.choice([layout for layout in arrays.LAYOUTS if layout != "broadcast"]))
            source, axis = arrays.Laid(rng, dtype, shape, layout, values=values), int(rng.integers(len(shape)))
            rest, exclusive = shape[:axis] + shape[axis + 1:], bool(rng.integers(2))
            target = dtype if rng.integers(2) else str(rng.choice([to for to in STORAGE if supported(op, to) and (
                dtype not in FLOATS or to in FLOATS)]))
            first = Guarded.of(target, next(inputs_of(rng, op, target, 1))[1]) if rng.integers(2) else None
            init = None if first is None else first.pointer
            what, result = f"{op} along axis {axis}", arrays.some_result(rng, op, dtype)[0]
            check_same_there(lib, rng, simulated, what, lambda on, x, to: c.reduce_axis(on, number, x, axis, to), [source],
                             result, rest, out_layout)
            check_same_there(lib, rng, simulated, op, lambda on, x, to: c.reduce(on, number, x, to), [source], result, ())
            check_same_there(lib, rng, simulated, f"{'exclusive' * exclusive} scan by {what}", lambda on, x, to: c.scan_axis(
                on, number, exclusive, x, axis, to, init), [source], target, shape, out_layout)
            if op not in ("minimum", "maximum"):
                check_same_there(lib, rng, simulated, f"{op} of nothing", lambda on, x, to: c.reduce_axis(on, number, x, 1, to),
                                 [arrays.Laid(rng, dtype, (7, 0), "c", values=values[:0])], result, (7,))
            if op == "log_sum_exp":  # The simulator does not fold segments by it.
                continue
            ends = np.sort(rng.integers(0, len(values) + 1, 40))
            ends[0], ends[-1] = 0, len(values)
            line, offsets = arrays.Laid(rng, dtype, (len(values),), "c", values=values), arrays.Laid(rng, "i64", (40,), "c", values=ends)
            check_same_there(lib, rng, simulated, f"{op} of segments", lambda on, x, cuts, to: c.segmented_reduce(on, number, x, cuts, to),
                             [line, offsets], reduce_dtype(op, dtype), (39,))
            check_same_there(lib, rng, simulated, f"{'exclusive' * exclusive} scan of segments by {op}", lambda on, x, cuts, to: c.segmented_scan(
                on, number, exclusive, x, cuts, to, init), [line, offsets], target, (len(values),))


def lines_on_the_gpu(libs, rng):
    """Lines along an axis in memory of the GPU."""
    for lib in libs:
        simulated = Simulated(lib)
        if not simulated.is_there:
            continue
        for shape in ((9, 5), (3, 700), (70, 3, 7)):
            for layout in rng.choice([layout for layout in arrays.LAYOUTS if layout != "broadcast"], 2, replace=False):
                values = samples.mixed(rng, "f32", int(np.prod(shape)))
                source = arrays.Laid(rng, "f32", shape, str(layout), values=values)
                for axis in range(len(shape)):
                    check_lines_there(lib, rng, simulated, source, axis, str(rng.choice(arrays.OF_OUTPUTS)))
        # So many elements in rows from their ends are turned in copies.
        source = arrays.Laid(rng, "f32", (129, 1031), "turned", values=samples.mixed(rng, "f32", 129 * 1031))
        for op in ("plus", "maximum"):
            check_same_there(lib, rng, simulated, f"{op} from the ends of rows", lambda on, x, to: lib.c.scan_axis(
                on, OP_NUMBERS[op], op == "maximum", x, 1, to, None), [source], "f32", source.shape, "turned")
        # Blocks of axes that do not lie as one, some of them whole lines, and some too short to be folded first.
        for shape in ((6, 5, 64), (3, 48, 4, 32), (2, 300, 3, 32), (8, 3, 40, 2), (7, 9, 5), (256, 290), (700, 96)):
            for layout in rng.choice([layout for layout in arrays.LAYOUTS if layout != "broadcast"], 3, replace=False):
                source = arrays.Laid(rng, "f32", shape, str(layout), values=samples.mixed(rng, "f32", int(np.prod(shape))))
                for axes in {int(rng.integers(1 << len(shape))), (1 << len(shape)) - 1}:
                    rest = tuple(extent for k, extent in enumerate(shape) if not axes >> k & 1)
                    check_same_there(lib, rng, simulated, f"variance along axes {axes:#b}", lambda on, x, to: lib.c.variance_axes(
                        on, x, axes, 1.0, to), [source], "f32", rest, str(rng.choice(arrays.OF_OUTPUTS)))
        # So many that moments are brought into the order of lines.
        shape = (2, 1030, 4, 256)
        source = arrays.Laid(rng, "f32", shape, "c", values=samples.mixed(rng, "f32", int(np.prod(shape))))
        check_same_there(lib, rng, simulated, "variance along axes 1 and 3", lambda on, x, to: lib.c.variance_axes(on, x, 0b1010, 0.0, to),
                         [source], "f32", (2, 4), "padded")
        # What takes 8 dimensions to tell leaves none for the blocks of an axis.
        shape = (2, 3, 2, 3, 2, 3, 2, 32)
        source = arrays.Laid(rng, "f32", shape, "padded", values=samples.mixed(rng, "f32", int(np.prod(shape))))
        for axes in (0b10101010, 0b10000000, 0b11000001):
            rest = tuple(extent for k, extent in enumerate(shape) if not axes >> k & 1)
            check_same_there(lib, rng, simulated, f"variance along axes {axes:#b}", lambda on, x, to: lib.c.variance_axes(
                on, x, axes, 0.0, to), [source], "f32", rest)


@case()
def check_shape_there(lib, rng, simulated, what, call, inputs, outputs):
    """A call has the same results in both memories. call(context, *arrays) gives its status, and how many elements it has written."""
    context, what = lib.context(cuda(1))[1], f"{lib.isa} {what} of {', '.join(source.what for source in inputs)}"
    here = [arrays.Laid(rng, dtype, shape, "c", True) for dtype, shape in outputs]
    status, count = call(None, *(source.describe() for source in inputs), *(out.describe() for out in here))
    require(status == OK, f"{what}: {lib.message()}")
    sources = [There(simulated, source) for source in inputs]
    there = [There(simulated, arrays.Laid(rng, dtype, shape, "c", True)) for dtype, shape in outputs]
    status, found = call(context, *(source.describe() for source in sources), *(out.describe() for out in there))
    require(status == OK, f"{what} on the GPU: {lib.message()}")
    require(found == count, f"{what} on the GPU: {found} where there are {count}")
    require(lib.c.context_wait(context) == OK, f"{what} on the GPU: {lib.message()}")
    for out, want in zip(there, here):
        same_bits(out.fetch().values()[:count], want.values()[:count], want.dtype, f"{what} on the GPU")
        require(out.laid.untouched_between(), f"{what} on the GPU: wrote beside its results")
    for source in sources:
        require(source.fetch().unchanged(), f"{what} on the GPU: wrote to its input")


def shapes_on_the_gpu(libs, rng):
    """Segments, runs, selections, recurrences, images and histograms of shapes in memory of the GPU have the bits of the CPU."""
    def laid(dtype, values, layout="c", shape=None):
        return arrays.Laid(rng, dtype, shape or (len(values),), layout, values=np.asarray(values, STORAGE[dtype]))

    def counting(call):
        def counted(context, *described):
            number = ctypes.c_uint64()
            return call(context, *described, ctypes.byref(number)), number.value
        return counted

    for lib in libs:
        simulated, c, plus, lowest = Simulated(lib), lib.c, OP_NUMBERS["plus"], OP_NUMBERS["minimum"]
        if not simulated.is_there:
            continue
        for n in (1, 300, 5000):
            x, cuts = laid("f32", samples.mixed(rng, "f32", n), "padded"), np.sort(rng.integers(0, n + 1, 41))
            for dtype in ("u64", "i32"):
                offsets = laid(dtype, cuts)
                for op in (plus, lowest):
                    check_shape_there(lib, rng, simulated, "segments", lambda on, x, at, to: (c.segmented_reduce(on, op, x, at, to), 40),
                                      (x, offsets), [("f32", (40,))])
            check_shape_there(lib, rng, simulated, "offsets", lambda on, at: (c.check_offsets(on, at, n), 0), (offsets,), [])
            check_shape_there(lib, rng, simulated, "scans of segments", lambda on, x, at, to: (c.segmented_scan(
                on, plus, False, x, at, to, None), n), (x, laid("u64", [0, n // 3, n])), [("f32", (n,))])
            keys = laid("u32", np.cumsum(rng.random(n) < 0.3))
            check_shape_there(lib, rng, simulated, "runs", counting(c.run_length_encode), (keys,), [("u32", (n,)), ("u64", (n,))])
            lengths = rng.integers(0, 5, n)
            check_shape_there(lib, rng, simulated, "elements of runs", lambda on, *of: (c.run_length_decode(on, *of), int(lengths.sum())),
                              (keys, laid("u64", lengths)), [("u32", (4 * n,))])
            check_shape_there(lib, rng, simulated, "selected", counting(c.select), (keys, laid("bool", rng.random(n) < 0.5)), [("u32", (n,))])
        grid = (3, 700)
        a, b = (laid("f32", samples.mixed(rng, "f32", 2100), layout, grid) for layout in ("c", "padded"))
        for axis in (0, 1):
            first = laid("f32", samples.mixed(rng, "f32", grid[1 - axis]))
            check_shape_there(lib, rng, simulated, f"recurrences {axis}", lambda on, a, b, h, to: (c.linear_recurrence(
                on, a, b, h, axis, axis == 0, to), 2100), (a, b, first), [("f32", grid)])
        check_shape_there(lib, rng, simulated, "images", lambda on, x, to: (c.integral_image(on, x, to), 2100), (a,), [("f32", grid)])
        for shape, axis, layout in (((5, 700), 1, "c"), ((700, 3), 0, "padded"), ((30, 4, 50), 1, "transposed"), ((40,), 0, "c"), ((2, 3, 4, 5), 2, "mixed")):
            x = laid("f32", samples.mixed(rng, "f32", int(np.prod(shape))), layout, shape)
            for find in (c.argmin_axis, c.argmax_axis):
                check_shape_there(lib, rng, simulated, f"positions along {axis}", lambda on, x, to: (find(on, x, axis, to), None), (x,),
                                  [("i64", (*shape[:axis], *shape[axis + 1:]))])
        between = np.array([-20, -3.5, 0, 0.1, 7, 99])
        for shape, axis, layout in (((5, 700), 1, "c"), ((700, 3), 0, "padded"), ((700, 40), 0, "c"), ((30, 4, 50), 1, "transposed"), ((40,), 0, "c"),
                                    ((2, 3, 4, 5), 2, "mixed")):
            values = histograms.adversarial(rng, "f32", between, int(np.prod(shape)))
            x, lines = laid("f32", values, layout, shape), int(np.prod(shape)) // shape[axis]
            of_bins = lambda bins: [("u64", (*shape[:axis], bins, *shape[axis + 1:])), ("u64", (3 * lines,))]
            check_shape_there(lib, rng, simulated, f"histograms along {axis}", lambda on, x, to, beside: (c.histogram_axis_even(
                on, x, axis, -20, 99, to, beside.data, lines), None), (x,), of_bins(9))
            check_shape_there(lib, rng, simulated, f"histograms between edges along {axis}", lambda on, x, to, beside: (c.histogram_axis_edges(
                on, x, axis, between.ctypes.data, 6, to, beside.data, lines), None), (x,), of_bins(5))
        x, offsets = laid("f32", histograms.adversarial(rng, "f32", between, 3000), "padded"), laid("i32", [5, 5, 6, 900, 901, 3000])
        check_shape_there(lib, rng, simulated, "histograms of segments", lambda on, x, at, to, beside: (c.segmented_histogram_even(
            on, x, at, -20, 99, to, beside.data, 5), None), (x, offsets), [("u64", (45,)), ("u64", (15,))])
        check_shape_there(lib, rng, simulated, "histograms of segments between edges", lambda on, x, at, to, beside: (c.segmented_histogram_edges(
            on, x, at, between.ctypes.data, 6, to, beside.data, 5), None), (x, offsets), [("u64", (25,)), ("u64", (15,))])
        weights = laid("f32", rng.normal(size=3000), "padded")
        check_shape_there(lib, rng, simulated, "sums of weights", lambda on, x, w, to, beside: (c.weighted_histogram_even(
            on, x, w, -20, 99, to, beside), None), (x, weights), [("f32", (9,)), ("f32", (3,))])
        check_shape_there(lib, rng, simulated, "sums of weights between edges", lambda on, x, w, to, beside: (c.weighted_histogram_edges(
            on, x, w, between.ctypes.data, 6, to, beside), None), (x, weights), [("f32", (5,)), ("f32", (3,))])
        context = lib.context(cuda(1))[1]
        wrong = There(simulated, laid("u64", [0, 3, 2]))
        refused(lib, "offsets that descend", c.check_offsets(context, wrong.describe(), 9), INVALID_ARGUMENT, Guarded("f32", 1), "offset 2")


def arrays_on_the_gpu(libs, rng):
    """Arrays with strides in memory of the GPU."""
    for lib in libs:
        simulated = Simulated(lib)
        if not simulated.is_there:
            print(f"{lib.path}: memory of a GPU is skipped, which only the simulator gives to this script")
            continue
        for op, dtype in some_folds(rng):
            layouts = rng.choice(arrays.LAYOUTS, 1).tolist()
            for source in arrays.inputs(rng, op, dtype, int(rng.choice((9, 3000, 6000))), layouts, range(5)):
                check_there(lib, rng, simulated, op, source, str(rng.choice(arrays.OF_OUTPUTS)))
        for dtype in STORAGE:
            shape, layout = arrays.random_shape(rng, int(rng.integers(5)), 4000), str(rng.choice(arrays.LAYOUTS))
            x = histograms.adversarial(rng, dtype, histograms.even_edges(dtype, -5, 250, 60), int(np.prod(shape)))
            check_histogram_there(lib, rng, simulated, arrays.Laid(rng, dtype, shape, layout, values=x))
        context, out = lib.context(cuda(1))[1], Guarded("f32", 10)
        here = arrays.Laid(rng, "f32", (10,), "c", values=samples.mixed(rng, "f32", 10))
        there = There(simulated, here)
        for what, array in (("memory of the host", Array.of(here.pointer, DTYPES["f32"], (10,), None, DEVICE)),
                            ("memory of the GPU", there.describe(HOST))):
            status = lib.c.reduce(context, 0, ctypes.byref(array), line(out.pointer, DTYPES["f32"], 1))
            refused(lib, f"{what} that is said to be elsewhere", status, UNREACHABLE, out)
        status = lib.c.scan(context, 0, False, ctypes.byref(there.describe()), line(out.pointer, DTYPES["f32"], 10), None)
        refused(lib, "a scan from one memory to another", status, INVALID_ARGUMENT, out, "different memories")


CHECKS = (reducers, scanners, converting_scanners, whole_arrays, histograms_of_few_samples, histograms_in_chunks,
          refusals, lines_and_runs, too_many_bins, too_much_memory, arrays_of_the_host, arrays_on_the_gpu, scans_of_arrays_on_the_gpu, lines_on_the_gpu, any_folds_on_the_gpu,
          shapes_on_the_gpu)


if __name__ == "__main__":
    sys.exit(run(__doc__, CHECKS))
