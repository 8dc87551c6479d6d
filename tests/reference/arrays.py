# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Compares what libupsweep folds, scans and counts of arrays with strides with what it makes of their contiguous copies, and with
the independent references.

    python3 arrays.py build/lib/libupsweep.so [--seed N] [--only REGEX]

Shapes, strides and elements are new in every run. Outputs stand among bytes that must stay as they are, and so do the gaps
between their elements.
"""
import ctypes
import math
import sys
import threading
import time

import numpy as np

import histograms
from bits import cut, every_fold, inputs_of, same_bits
from checks import Mismatch, case, refused, require, run
from fold_order import FLOATS, STORAGE, convert, folds, reduce, reduce_dtype, scan, supported
from library import (BUSY, CPU, CUDA, DEVICE, DTYPES, HOST, INVALID_ARGUMENT, MANAGED, NO_DEVICE, OK, OP_NUMBERS, OVERLAP,
                     UNREACHABLE, UNSUPPORTED, Array, Guarded, Outside, cpu, line)

LAYOUTS = ("c", "fortran", "transposed", "padded", "reversed", "broadcast", "mixed")
OF_OUTPUTS = tuple(layout for layout in LAYOUTS if layout != "broadcast")
THREADS = (1, 2, 3, 8)
GATHERED = 1 << 17  # elements a thread that the library gathers at a time


# --- arrays ---------------------------------------------------------------------------------------------------------

def random_shape(rng, rank, most):
    """Numbers of elements whose product is at most `most`; now and then one of them is 0."""
    shape = []
    for left in range(rank, 0, -1):
        shape.append(max(1, int((most / math.prod(shape)) ** min(1, rng.choice((0, 0.7, 1, 1, 2)) / left))))
    shape = [int(extent) for extent in rng.permutation(shape)]
    if rank and rng.random() < 0.05:
        shape[rng.integers(rank)] = 0
    return tuple(shape)


def shape_of(rng, count):
    """A shape of so many elements, of any rank to 6."""
    shape = [count]
    for _ in range(rng.integers(6) if count else 0):
        k = rng.integers(len(shape))
        factors = [f for f in range(1, min(shape[k], 100) + 1) if shape[k] % f == 0]
        factor = int(rng.choice(factors))
        shape[k:k + 1] = [factor, shape[k] // factor]
    return tuple(shape) if count != 1 or rng.integers(2) else ()


def strides_of(rng, shape, layout, is_output):
    order = list(range(len(shape)))  # the dimension that runs slowest in memory comes first
    if layout == "fortran":
        order.reverse()
    elif layout in ("transposed", "mixed"):
        rng.shuffle(order)
    has_gaps = layout in ("padded", "mixed") or layout == "reversed" and rng.integers(2)
    strides, behind = [0] * len(shape), 1
    for k in reversed(order):
        strides[k] = behind * (int(rng.choice((1, 1, 2, 3))) if has_gaps else 1)
        behind = strides[k] * max(shape[k], 1) + (int(rng.integers(4)) if has_gaps else 0)
    for k in range(len(shape)):
        if layout in ("reversed", "mixed") and rng.random() < 0.7:
            strides[k] = -strides[k]
        if not is_output and (layout == "broadcast" or layout == "mixed") and rng.random() < 0.4:
            strides[k] = 0
    if layout == "turned" and strides:  # rows from their ends, without gaps
        strides[-1] = -strides[-1]
    return strides


class Laid:
    """An array of this shape, whose elements lie apart among bytes of 0xA5."""

    def __init__(self, rng, dtype, shape, layout, is_output=False, values=None):
        shape = tuple(int(extent) for extent in shape)
        self.dtype, self.shape, self.count = dtype, tuple(shape), math.prod(shape)
        self.strides = strides_of(rng, shape, layout, is_output)
        steps = [stride * (extent - 1) for stride, extent in zip(self.strides, shape)] if self.count else []
        self.first = -sum(step for step in steps if step < 0)  # element of the memory
        span = self.first + sum(step for step in steps if step > 0) + 1 if self.count else 0
        self.memory = Guarded(dtype, span, rng.integers(64))
        self.size = self.memory.array.itemsize
        self.pointer = self.memory.pointer + self.first * self.size
        self.has_strides = layout != "c" or bool(rng.integers(2))
        if values is not None and self.count:
            if 0 in self.strides:
                self.memory.array[:] = np.resize(values, span)
            else:
                self.view()[...] = values.reshape(shape)
        self.before = self.memory.array.tobytes()
        self.what = f"{dtype} {layout} {self.shape} at {self.strides}"

    def view(self):
        if not self.count:
            return np.empty(self.shape, STORAGE[self.dtype])
        return np.lib.stride_tricks.as_strided(self.memory.array[self.first:], self.shape,
                                               [stride * self.size for stride in self.strides])

    def values(self):
        return np.array(self.view(), order="C").reshape(-1)

    def describe(self):
        return Array.of(self.pointer, DTYPES[self.dtype], self.shape, self.strides if self.has_strides else None)

    def unchanged(self):
        return self.memory.array.tobytes() == self.before and self.memory.untouched_around()

    def untouched_between(self):
        gaps = np.ones(len(self.memory.array), bool)
        if self.count:
            np.lib.stride_tricks.as_strided(gaps[self.first:], self.shape, self.strides)[...] = False
        content = self.memory.array.view(np.uint8).reshape(-1, self.size)
        return np.all(content[gaps] == 0xA5) and self.memory.untouched_around()


def some_context(lib, rng):
    """NULL or one of some threads, and its name."""
    threads = int(rng.choice((0, *THREADS)))
    if threads == 0:
        return None, "no context"
    return lib.context(cpu(threads))[1], f"{threads} threads"


def inputs(rng, op, dtype, most, layouts=LAYOUTS, ranks=range(7)):
    """One array of each layout, of a rank at random."""
    for layout in layouts:
        shape = random_shape(rng, int(rng.choice(list(ranks))), most)
        name, values = next(inputs_of(rng, op, dtype, math.prod(shape)))
        yield Laid(rng, dtype, shape, layout, values=values)


# --- reduce and scan ------------------------------------------------------------------------------------------------

def some_result(rng, op, dtype):
    """The type of a reduction's results, and the type in which its elements are folded: sums and products may be of converted elements."""
    others = {"f32", "f64"} - {reduce_dtype(op, dtype)} if op in ("plus", "multiplies") else ()
    if others and rng.random() < 0.3:
        return (str(rng.choice(sorted(others))),) * 2
    return reduce_dtype(op, dtype), dtype


@case()
def check_reduce(lib, rng, op, source, on=some_context):
    context, name = on(lib, rng)
    (result_dtype, folded), values = some_result(rng, op, source.dtype), source.values()
    expected = reduce(convert(values, source.dtype, folded), op, folded) if source.count or op not in ("minimum", "maximum") else None
    what = f"{lib.isa} reduce {op} of {source.what} to {result_dtype}, {name}"
    for described in (source.describe(), Array.of(values.ctypes.data, DTYPES[source.dtype], (len(values),))):
        result = Guarded(result_dtype, 1)
        to = Array.of(result.pointer, DTYPES[result_dtype], (1,) * rng.integers(12))
        status = lib.c.reduce(context, OP_NUMBERS[op], ctypes.byref(described), ctypes.byref(to))
        if op in ("minimum", "maximum") and not source.count:
            refused(lib, what, status, INVALID_ARGUMENT, result, "no elements")
            continue
        require(status == OK, f"{what}: {lib.message()}")
        same_bits(result.array, expected, result_dtype, what)
        require(result.untouched_around() and source.unchanged(), f"{what}: wrote beside its result")


def reduces(libs, rng):
    """Every type and operator, every layout, ranks 0 to 6."""
    for op, dtype in every_fold():
        for most in (9, 300, 3000, 20_000):
            for source in inputs(rng, op, dtype, most):
                for lib in libs:
                    check_reduce(lib, rng, op, source)


class Scanned:
    """A way to scan an array, and what is expected."""

    def __init__(self, rng, op, dtype, out_dtype):
        self.op, self.dtype, self.out_dtype = op, dtype, out_dtype
        self.exclusive, with_init = bool(rng.integers(2)), bool(rng.integers(2))
        self.init = next(inputs_of(rng, op, out_dtype, 1))[1] if with_init else None
        self.what = f"{'exclusive' if self.exclusive else 'inclusive'} scan {op}{' with init' if with_init else ''}"

    def of(self, values):
        return scan(values, self.op, self.dtype, self.out_dtype, self.exclusive, self.init)

    def start(self):
        return None if self.init is None else self.init.ctypes.data

    def call(self, lib, context, source, out):
        return lib.c.scan(context, OP_NUMBERS[self.op], self.exclusive, ctypes.byref(source), ctypes.byref(out), self.start())


@case()
def check_scan(lib, rng, scanned, source, out, on=some_context):
    """`out` may be the source."""
    context, name = on(lib, rng)
    values = source.values()
    what = f"{lib.isa} {scanned.what} of {source.what} to {'itself' if out is source else out.what}, {name}"
    expected = scanned.of(values)
    require(scanned.call(lib, context, source.describe(), out.describe()) == OK, f"{what}: {lib.message()}")
    same_bits(out.values(), expected, scanned.out_dtype, what)
    require(out.untouched_between(), f"{what}: wrote between or beside its elements")
    require(out is source or source.unchanged(), f"{what}: wrote to its input")
    whole = Guarded(scanned.out_dtype, len(values))
    status = scanned.call(lib, context, Array.of(values.ctypes.data, DTYPES[source.dtype], (len(values),)),
                          Array.of(whole.pointer, DTYPES[scanned.out_dtype], (len(values),)))
    require(status == OK, f"{what}: {lib.message()}")
    same_bits(whole.array, expected, scanned.out_dtype, f"{what}, its contiguous copy")


def converted(rng, op, dtype):
    """A type for the results: most often that of the elements."""
    if rng.random() < 0.7:
        return dtype
    return rng.choice([to for to in STORAGE if supported(op, to) and (dtype not in FLOATS or to in (*FLOATS, "bool"))])


def scan_once(libs, rng, op, source, out_layout, on=some_context):
    """In place, to an array of the same shape, or to one of another shape."""
    in_place = 0 not in source.strides and rng.random() < 0.3
    scanned = Scanned(rng, op, source.dtype, source.dtype if in_place else converted(rng, op, source.dtype))
    values = source.values()
    for lib in libs:
        if in_place:
            out = Laid(rng, source.dtype, source.shape, out_layout, is_output=True, values=values)
            check_scan(lib, rng, scanned, out, out, on)
        else:
            shape = source.shape if rng.integers(2) else shape_of(rng, source.count)
            check_scan(lib, rng, scanned, source, Laid(rng, scanned.out_dtype, shape, out_layout, is_output=True), on)


def scans(libs, rng):
    """Every type and operator, every layout of the input and of the output, in place, too."""
    for op, dtype in every_fold():
        for most in (9, 300, 3000, 20_000):
            for source in inputs(rng, op, dtype, most):
                scan_once(libs, rng, op, source, str(rng.choice(OF_OUTPUTS)))


def large(libs, rng):
    """More elements than are gathered at a time, by several threads, too."""
    picked = [("plus", "f32"), ("plus", "f16"), ("plus", "f64")]
    picked += rng.permutation(every_fold())[:3].tolist()
    for op, dtype in picked:
        for layout in rng.choice(LAYOUTS, 3, replace=False):
            count = int(rng.integers(1, 4)) * GATHERED * int(rng.choice((1, 2, 3))) + int(rng.choice((-1, 0, 1, 12345)))
            rows = int(rng.choice((3, 17, 511, count // 100)))
            shape = (rows, count // rows) if rng.integers(2) else (rows, 5, count // rows // 5)
            _, values = next(inputs_of(rng, op, dtype, math.prod(shape)))
            source = Laid(rng, dtype, shape, str(layout), values=values)
            for lib in libs:
                check_reduce(lib, rng, op, source)
            scan_once(libs, rng, op, source, str(rng.choice(OF_OUTPUTS)))


def many_dimensions(libs, rng):
    """Dimensions without number where they can be told as fewer; 8 that cannot."""
    values = np.arange(1 << 8, dtype=np.int32)
    for lib in libs:
        with case():
            memory = Guarded("i32", 3 ** 8)
            apart = [2 * 3 ** k for k in range(7, -1, -1)][:8]
            sparse = Array.of(memory.pointer, DTYPES["i32"], (2,) * 8, [step // 2 for step in apart])
            view = np.lib.stride_tricks.as_strided(memory.array, (2,) * 8, [2 * step for step in apart])
            view[...] = values.reshape((2,) * 8)
            result = Guarded("i64", 1)
            status = lib.c.reduce(None, 0, ctypes.byref(sparse), line(result.pointer, DTYPES["i64"], 1))
            require(status == OK and result.array[0] == values.sum(), f"{lib.isa} 8 dimensions: {lib.message()}")
        for shape in ((2,) * 8, (2, 1) * 8, (1,) * 40 + (4, 1, 64) + (1,) * 20, (1,) * 64):
            with case():
                result, count = Guarded("i64", 1), math.prod(shape)
                some = Array.of(values.ctypes.data, DTYPES["i32"], shape)
                status = lib.c.reduce(None, 0, ctypes.byref(some), line(result.pointer, DTYPES["i64"], 1))
                require(status == OK and result.array[0] == values[:count].sum(), f"{lib.isa} {shape}: {lib.message()}")


# --- histograms -----------------------------------------------------------------------------------------------------

@case()
def check_histogram(lib, rng, source, lo, hi, bins, edges, counter, on=some_context):
    """By edges where there are any, or else by even bins; at once, or by a counter."""
    values, (context, name) = source.values(), on(lib, rng)
    what = f"{lib.isa} {'counter' if counter else 'histogram'} of {source.what}, {name}"
    between = histograms.even_edges(source.dtype, lo, hi, bins) if edges is None else edges
    counted, *outside = histograms.count_between(between, histograms.comparable(values, source.dtype, edges is not None))
    expected = np.concatenate([counted, np.array(outside, np.uint64)])
    kind = DTYPES[source.dtype]
    for described in (source.describe(), Array.of(values.ctypes.data, kind, (len(values),))):
        counts = histograms.Counters(rng, bins)
        beside = ctypes.byref(counts.outside)
        # The counts may have any shape that leaves no gaps.
        to = Array.of(counts.counts.pointer, DTYPES["u64"], shape_of(rng, bins))
        if counter:
            handle = ctypes.c_void_p()
            status = (lib.c.counter_create_even(context, kind, lo, hi, bins, ctypes.byref(handle)) if edges is None else
                      lib.c.counter_create_edges(context, kind, edges.ctypes.data, len(edges), ctypes.byref(handle)))
            require(status == OK, f"{what}: {lib.message()}")
            require(lib.c.counter_feed(handle, ctypes.byref(described)) == OK, f"{what}: {lib.message()}")
            status = lib.c.counter_result(handle, counts.counts.pointer, beside)
            lib.c.counter_destroy(handle)
            counts.before[:] = 0
        elif edges is None:
            status = lib.c.histogram_even(context, ctypes.byref(described), lo, hi, ctypes.byref(to), beside)
        else:
            status = lib.c.histogram_edges(context, ctypes.byref(described), edges.ctypes.data, len(edges), ctypes.byref(to),
                                           beside)
        require(status == OK, f"{what}: {lib.message()}")
        require(np.array_equal(counts.added(), expected), f"{what}: wrong counts")
        require(counts.counts.untouched_around() and source.unchanged(), f"{what}: wrote beside its counts")


def counts(libs, rng):
    """Every type and layout, even bins and edges, at once and by a counter; many samples of some types."""
    edges = np.array([-3, -0.1, 0, 0.1, 2, 77])
    for dtype in STORAGE:
        shapes = [(layout, random_shape(rng, int(rng.integers(7)), 3000)) for layout in LAYOUTS]
        if dtype in ("u8", "f32", "bf16", "i64"):
            shapes.append((str(rng.choice(LAYOUTS)), (int(rng.integers(1, 50)), 3 * GATHERED // 7, 2)))
        for layout, shape in shapes:
            lo, hi, bins = -5.0, 250.0, int(rng.choice((1, 60, 256)))
            x = histograms.adversarial(rng, dtype, histograms.even_edges(dtype, lo, hi, bins), math.prod(shape))
            source = Laid(rng, dtype, shape, layout, values=x)
            for lib in libs:
                check_histogram(lib, rng, source, lo, hi, bins, None, bool(rng.integers(2)))
                check_histogram(lib, rng, source, lo, hi, len(edges) - 1, edges, bool(rng.integers(2)))


def letters(libs, rng):
    """A text that is read backwards, and every other letter of it, has other letters in no order that counts."""
    text = np.frombuffer(rng.bytes(100_001), np.uint8)
    for lib in libs:
        for step in (-1, 2, -3):
            with case():
                part = text[::step]
                lower = part | 0x20
                expected = np.bincount((lower[(lower >= 97) & (lower <= 122)] - 97) // 4, minlength=7)
                counts_of_groups, outside = Guarded.of("u64", np.zeros(7, np.uint64)), Outside()
                described = Array.of(part.ctypes.data, DTYPES["u8"], part.shape, (step,))
                status = lib.c.histogram_letters(some_context(lib, rng)[0], ctypes.byref(described), 4,
                                                 line(counts_of_groups.pointer, DTYPES["u64"], 7), ctypes.byref(outside))
                require(status == OK, f"{lib.isa} letters: {lib.message()}")
                require(np.array_equal(counts_of_groups.array, expected) and counts_of_groups.untouched_around() and
                        outside.below == len(part) - expected.sum(), f"{lib.isa}: wrong letters at stride {step}")


# --- pieces ---------------------------------------------------------------------------------------------------------

def laid_pieces(rng, dtype, values, layouts=LAYOUTS, is_output=False):
    """The values in pieces, each of a shape and a layout of its own: (begin, end, array)."""
    for begin, end in cut(rng, len(values)):
        layout = str(rng.choice([layout for layout in layouts if layout not in ("broadcast", "mixed") or is_output]))
        yield begin, end, Laid(rng, dtype, shape_of(rng, end - begin), layout, is_output, None if is_output else
                               values[begin:end])


@case()
def check_reducer_and_partial(lib, rng, op, dtype, values):
    context, name = some_context(lib, rng)
    result_dtype, what = reduce_dtype(op, dtype), f"{lib.isa} pieces of {op} {dtype}, {len(values)} elements, {name}"
    expected = reduce(values, op, dtype, folds)
    pieces = list(laid_pieces(rng, dtype, values))
    reducer, partial, result = ctypes.c_void_p(), ctypes.c_void_p(), Guarded(result_dtype, 1)
    require(lib.c.reducer_create(context, OP_NUMBERS[op], DTYPES[dtype], ctypes.byref(reducer)) == OK, lib.message())
    for _, end, piece in pieces:
        status = lib.c.reducer_feed(reducer, ctypes.byref(piece.describe()))
        require(status == OK and piece.unchanged(), f"{what}: {piece.what}: {lib.message()}")
        if end:
            require(lib.c.reducer_result(reducer, result.pointer) == OK, f"{what}: {lib.message()}")
            same_bits(result.array, expected[end - 1:end], result_dtype, f"{what}: reducer after {piece.what}")
    lib.c.reducer_destroy(reducer)
    require(lib.c.partial_create(OP_NUMBERS[op], DTYPES[dtype], ctypes.byref(partial)) == OK, lib.message())
    for k in rng.permutation(len(pieces)):
        begin, _, piece = pieces[k]
        status = lib.c.partial_feed(partial, context, ctypes.byref(piece.describe()), begin)
        require(status == OK and piece.unchanged(), f"{what}: {piece.what}: {lib.message()}")
    require(lib.c.partial_result(partial, result.pointer) == OK, f"{what}: {lib.message()}")
    same_bits(result.array, expected[-1:], result_dtype, f"{what}: partial")
    require(result.untouched_around(), f"{what}: wrote beside its result")
    lib.c.partial_destroy(partial)


@case()
def check_scanner(lib, rng, scanned, values):
    context, name = some_context(lib, rng)
    what = f"{lib.isa} scanner, {scanned.what} of {len(values)} {scanned.dtype} to {scanned.out_dtype}, {name}"
    expected, scanner = scanned.of(values), ctypes.c_void_p()
    status = lib.c.scanner_create(context, OP_NUMBERS[scanned.op], scanned.exclusive, DTYPES[scanned.dtype],
                                  DTYPES[scanned.out_dtype], scanned.start(), ctypes.byref(scanner))
    require(status == OK, f"{what}: {lib.message()}")
    for begin, end, piece in laid_pieces(rng, scanned.dtype, values):
        in_place = scanned.dtype == scanned.out_dtype and rng.integers(3) == 0
        out = piece if in_place else Laid(rng, scanned.out_dtype, shape_of(rng, end - begin), str(rng.choice(OF_OUTPUTS)), True)
        status = lib.c.scanner_feed(scanner, ctypes.byref(piece.describe()), ctypes.byref(out.describe()))
        require(status == OK, f"{what}: {piece.what}: {lib.message()}")
        same_bits(out.values(), expected[begin:end], scanned.out_dtype, f"{what}: {piece.what} to {out.what}")
        require(out.untouched_between(), f"{what}: wrote between or beside the elements of {out.what}")
    lib.c.scanner_destroy(scanner)


def pieces_of_arrays(libs, rng):
    """Every type and operator: reducers, scanners and partials of pieces at strides."""
    for op, dtype in every_fold():
        _, values = next(inputs_of(rng, op, dtype, int(10 ** rng.uniform(0, 4.5))))
        for lib in libs:
            check_reducer_and_partial(lib, rng, op, dtype, values)
            check_scanner(lib, rng, Scanned(rng, op, dtype, converted(rng, op, dtype)), values)
    for op, dtype in (("plus", "f32"), ("maximum", "i16")):
        _, values = next(inputs_of(rng, op, dtype, 5 * GATHERED + 3))
        for lib in libs:
            check_reducer_and_partial(lib, rng, op, dtype, values)
            check_scanner(lib, rng, Scanned(rng, op, dtype, dtype), values)


# --- what is refused ------------------------------------------------------------------------------------------------

class Bad:
    """An array that is as it should be but for what is named."""

    def __init__(self, place, dtype="f32", shape=(4, 6), strides=None, **changes):
        self.array = Array.of(place.pointer, DTYPES.get(dtype, dtype), shape, strides)
        for name, value in changes.items():
            setattr(self.array, name, value)


def bad_inputs(some):
    """(what is wrong, the array or None, status, words of the message)"""
    yield "no array", None, INVALID_ARGUMENT, ("null pointer",)
    for number in (13, 99, -1):
        yield f"type {number}", Bad(some, number), UNSUPPORTED, (f"dtype {number} does not exist",)
    for kind in (3, 7, -1):
        yield f"memory {kind}", Bad(some, memory=kind), INVALID_ARGUMENT, (f"memory of kind {kind}",)
    for rank in (-1, 65, -2 ** 31, 2 ** 31 - 1):
        yield f"rank {rank}", Bad(some, rank=rank), INVALID_ARGUMENT, (f"{rank} dimensions",)
    yield "a negative shape", Bad(some, shape=(4, -3)), INVALID_ARGUMENT, ("-3 elements in dimension 1",)
    yield "a negative shape beside 0", Bad(some, shape=(0, -3)), INVALID_ARGUMENT, ("-3 elements in dimension 1",)
    yield "null data", Bad(some, data=None), INVALID_ARGUMENT, ("elements and a null pointer",)
    yield "misaligned data", Bad(some, data=some.pointer + 2), INVALID_ARGUMENT, ("not aligned",)
    yield "2^64 elements", Bad(some, shape=(1 << 32, 1 << 32)), INVALID_ARGUMENT, ("more than 2^63 - 1",)
    yield "2^62 elements", Bad(some, shape=(1 << 31, 1 << 31)), INVALID_ARGUMENT, ("too far apart",)
    for stride in (1 << 60, -(1 << 60), (1 << 63) - 1, -(1 << 63)):
        yield f"stride {stride}", Bad(some, strides=(stride, 1)), INVALID_ARGUMENT, ("too far apart",)
    # The product of the extent 4 and the stride 2^62 is 0 in 64 bits, and so is the stride of the first dimension.
    yield "strides that wrap", Bad(some, strides=(0, 1 << 62), shape=(4, 4)), INVALID_ARGUMENT, ("too far apart",)
    yield "9 dimensions", Bad(some, shape=(2,) * 9, strides=[3 ** k for k in range(9)]), UNSUPPORTED, ("more than 8 dimensions",)
    yield "memory of a GPU", Bad(some, memory=DEVICE, device=3), UNREACHABLE, ("memory of GPU 3",)
    yield "none in memory of a GPU", Bad(some, memory=DEVICE, shape=(0,)), UNREACHABLE, ("memory of GPU 0",)


def refusals(libs, rng):
    """Every array that is wrong has its status and message in every call that takes arrays, and nothing is written."""
    some = Guarded("f32", 1 << 14)
    good, f32 = Bad(some, shape=(24,)), DTYPES["f32"]
    for lib in libs:
        for context in (None, lib.context(cpu(2))[1]):
            handles = [ctypes.c_void_p() for _ in range(4)]
            reducer, scanner, counter, partial = handles
            with case():
                for status in (lib.c.reducer_create(context, 0, f32, ctypes.byref(reducer)),
                               lib.c.scanner_create(context, 0, False, f32, f32, None, ctypes.byref(scanner)),
                               lib.c.counter_create_even(context, f32, 0, 1, 4, ctypes.byref(counter)),
                               lib.c.partial_create(0, f32, ctypes.byref(partial))):
                    require(status == OK, lib.message())
            for what, bad, expected, words in bad_inputs(some):
                array = None if bad is None else ctypes.byref(bad.array)
                out, outside = Guarded("f32", 24), Outside(1, 2, 3)
                result, table = line(out.pointer, f32, 1), line(out.pointer, DTYPES["u64"], 4)
                whole, beside = line(out.pointer, f32, 24), ctypes.byref(outside)
                edges = np.arange(5.0)
                for name, status in (
                        ("reduce", lambda: lib.c.reduce(context, 0, array, result)),
                        ("reduce to it", lambda: lib.c.reduce(context, 0, ctypes.byref(good.array), array)),
                        ("scan", lambda: lib.c.scan(context, 0, False, array, whole, None)),
                        ("scan to it", lambda: lib.c.scan(context, 0, False, ctypes.byref(good.array), array, None)),
                        ("histogram_even", lambda: lib.c.histogram_even(context, array, 0, 1, table, beside)),
                        ("histogram_edges", lambda: lib.c.histogram_edges(context, array, edges.ctypes.data, 5, table, beside)),
                        ("counts", lambda: lib.c.histogram_even(context, ctypes.byref(good.array), 0, 1, array, beside)),
                        ("reducer_feed", lambda: lib.c.reducer_feed(reducer, array)),
                        ("scanner_feed", lambda: lib.c.scanner_feed(scanner, array, whole)),
                        ("scanner_feed to it", lambda: lib.c.scanner_feed(scanner, ctypes.byref(good.array), array)),
                        ("counter_feed", lambda: lib.c.counter_feed(counter, array)),
                        ("partial_feed", lambda: lib.c.partial_feed(partial, context, array, 0))):
                    got = status()
                    # What is wrong in more than one way is refused for what is found first.
                    also_wrong = {"memory of a GPU": ("reduce to it", "counts"),
                                  "none in memory of a GPU": ("reduce to it", "counts", "scan", "scan to it", "scanner_feed",
                                                              "scanner_feed to it")}
                    if name in also_wrong.get(what, ()):
                        refused(lib, f"{name}, {what}", got, INVALID_ARGUMENT, out)
                    else:
                        refused(lib, f"{name}, {what}", got, expected, out, *words)
                    with case():
                        require(some.untouched() and (outside.below, outside.above, outside.nan) == (1, 2, 3),
                                f"{lib.isa} {name}, {what}: wrote something")
            lib.c.reducer_destroy(reducer)
            lib.c.scanner_destroy(scanner)
            lib.c.counter_destroy(counter)
            lib.c.partial_destroy(partial)


def refusals_of_scans(libs, rng):
    """Elements of an output that share memory with one another or with the input's, other counts, null shapes."""
    i32 = DTYPES["i32"]
    for lib in libs:
        for context in (None, lib.context(cpu(1))[1]):
            both, out = Guarded("i32", 1000), Guarded("i32", 1000)

            def refuse(what, expected, source, to, *words):
                status = lib.c.scan(context, 0, False, ctypes.byref(source), ctypes.byref(to), None)
                refused(lib, what, status, expected, out, *words)
                with case():
                    require(both.untouched(), f"{lib.isa} {what}: wrote to the input")

            def at(memory, first, shape, strides=None, dtype=i32):
                return Array.of(memory.pointer + 4 * first, dtype, shape, strides)

            for shape, strides in (((10,), (0,)), ((10, 10), (0, 1)), ((10, 10), (9, 1)), ((10, 10), (1, 1)), ((3, 7), (4, 2)),
                                   ((2, 3, 4), (12, 4, 2)), ((5, 5), (-4, 1))):
                refuse(f"an output at {strides}", OVERLAP, at(both, 100, shape), at(out, 100, shape, strides), "same place")
            source = at(both, 400, (100,))
            for what, to in (("one behind", at(both, 401, (100,))), ("one before", at(both, 399, (100,))),
                             ("the end", at(both, 499, (100,))), ("backwards", at(both, 499, (100,), (-1,))),
                             ("transposed", at(both, 400, (10, 10), (1, 10))), ("apart", at(both, 400, (100,), (2,))),
                             ("another type", at(both, 400, (100,), None, DTYPES["f32"]))):
                refuse(f"an output that overlaps: {what}", OVERLAP, source, to, "overlap")
            refuse("a broadcast input in place", OVERLAP, at(both, 0, (5, 4), (0, 1)), at(both, 0, (5, 4)), "overlap")
            refuse("fewer results", INVALID_ARGUMENT, source, at(out, 0, (99,)), "99 elements", "100")
            refuse("no results", INVALID_ARGUMENT, source, at(out, 0, (0,)), "0 elements", "100")
            with case():  # the even elements to the odd ones
                pairs = Guarded.of("i32", np.arange(200))
                status = lib.c.scan(context, 0, False, ctypes.byref(at(pairs, 0, (100,), (2,))),
                                    ctypes.byref(at(pairs, 1, (100,), (2,))), None)
                require(status == OK, f"{lib.isa} a scan between: {lib.message()}")
                require(np.array_equal(pairs.array[1::2], np.cumsum(np.arange(0, 200, 2))) and
                        np.array_equal(pairs.array[::2], np.arange(0, 200, 2)), f"{lib.isa}: a scan between is wrong")


def refusals_of_results(libs, rng):
    """Results and counts of another type, number or layout, operators that are not defined, and pieces of another type."""
    f32, i32, i64, u64 = (DTYPES[name] for name in ("f32", "i32", "i64", "u64"))
    for lib in libs:
        for context in (None, lib.context(cpu(3))[1]):
            some, out, outside = Guarded("i32", 48), Guarded("i64", 100), Outside(1, 2, 3)
            numbers = ctypes.byref(Array.of(some.pointer, i32, (4, 6), (1, 4)))
            floats = ctypes.byref(Array.of(some.pointer, f32, (4, 6), (1, 4)))
            beside = ctypes.byref(outside)

            def array(dtype, shape, strides=None):
                return ctypes.byref(Array.of(out.pointer, dtype, shape, strides))

            nothing, no_shape = Array.of(some.pointer, i32, (0, 5)), Array.of(some.pointer, i32, (4,))
            no_shape.shape = None
            result_there, counts_there = Array.of(out.pointer, i64, ()), Array.of(out.pointer, u64, (4,))
            result_there.memory = counts_there.memory = DEVICE
            edges = np.arange(5.0)
            handle = ctypes.c_void_p(0xA5A5)
            place = ctypes.byref(handle)
            for what, call, status, words in (
                    ("a sum of i32 to i32", lambda: lib.c.reduce(context, 0, numbers, array(i32, (1,))), INVALID_ARGUMENT,
                     ("an array of i32 where one of i64",)),
                    ("a maximum to f64", lambda: lib.c.reduce(context, 3, numbers, array(DTYPES["f64"], ())), INVALID_ARGUMENT,
                     ("f64", "i32")),
                    ("a sum to f16", lambda: lib.c.reduce(context, 0, numbers, array(DTYPES["f16"], ())), INVALID_ARGUMENT,
                     ("f16", "i64")),
                    ("two results", lambda: lib.c.reduce(context, 0, numbers, array(i64, (2,))), INVALID_ARGUMENT,
                     ("not one element",)),
                    ("no result", lambda: lib.c.reduce(context, 0, numbers, array(i64, (1, 0))), INVALID_ARGUMENT,
                     ("not one element",)),
                    ("a result in memory of a GPU", lambda: lib.c.reduce(context, 0, numbers, ctypes.byref(result_there)),
                     UNREACHABLE, ("memory of GPU 0",)),
                    ("counts in memory of a GPU", lambda: lib.c.histogram_even(context, numbers, 0, 1, ctypes.byref(counts_there),
                                                                               beside), UNREACHABLE, ("memory of GPU 0",)),
                    ("bits of floats", lambda: lib.c.reduce(context, 4, floats, array(f32, ())), UNSUPPORTED,
                     ("bit_and", "f32")),
                    ("a scan of bits", lambda: lib.c.scan(context, 6, False, floats, array(f32, (24,)), None), UNSUPPORTED,
                     ("bit_xor", "f32")),
                    ("a scan to integers", lambda: lib.c.scan(context, 0, False, floats, array(i64, (24,)), None), UNSUPPORTED,
                     ("f32", "i64")),
                    ("operator 10", lambda: lib.c.reduce(context, 10, numbers, array(i64, ())), INVALID_ARGUMENT,
                     ("operator 10 does not exist",)),
                    ("operator -1", lambda: lib.c.scan(context, -1, False, numbers, array(i32, (24,)), None), INVALID_ARGUMENT,
                     ("operator -1 does not exist",)),
                    ("a minimum of nothing", lambda: lib.c.reduce(context, 2, ctypes.byref(nothing), array(i32, ())),
                     INVALID_ARGUMENT, ("no elements",)),
                    ("a null shape", lambda: lib.c.reduce(context, 0, ctypes.byref(no_shape), array(i64, ())),
                     INVALID_ARGUMENT, ("no shape",)),
                    ("counts with gaps", lambda: lib.c.histogram_even(context, numbers, 0, 1, array(u64, (4,), (2,)), beside),
                     INVALID_ARGUMENT, ("counts have gaps",)),
                    ("counts backwards", lambda: lib.c.histogram_even(context, numbers, 0, 1, array(u64, (4,), (-1,)), beside),
                     INVALID_ARGUMENT, ("counts have gaps",)),
                    ("counts at one place", lambda: lib.c.histogram_even(context, numbers, 0, 1, array(u64, (4,), (0,)), beside),
                     INVALID_ARGUMENT, ("counts have gaps",)),
                    ("counts of i64", lambda: lib.c.histogram_even(context, numbers, 0, 1, array(i64, (4,)), beside),
                     INVALID_ARGUMENT, ("an array of i64 where one of u64",)),
                    ("counts of edges of u32", lambda: lib.c.histogram_edges(
                        context, numbers, edges.ctypes.data, 5, array(DTYPES["u32"], (4,)), beside), INVALID_ARGUMENT,
                     ("u32", "u64")),
                    ("counts among the samples", lambda: lib.c.histogram_even(
                        context, array(i32, (10, 4), (4, 1)), 0, 1, array(u64, (8,)), beside), OVERLAP, ("overlap",)),
                    ("counts of themselves", lambda: lib.c.histogram_even(context, array(u64, (8,)), 0, 1, array(u64, (8,)),
                                                                          beside), OVERLAP, ("overlap",)),
                    ("more counts than bins", lambda: lib.c.histogram_edges(
                        context, numbers, edges.ctypes.data, 5, array(u64, (5,)), beside), INVALID_ARGUMENT, ("5",)),
                    ("no bins", lambda: lib.c.histogram_even(context, numbers, 0, 1, array(u64, (0,)), beside), INVALID_ARGUMENT,
                     ("no bins",)),
                    ("nothing beside", lambda: lib.c.histogram_even(context, numbers, 0, 1, array(u64, (4,)), None),
                     INVALID_ARGUMENT, ("null",)),
                    ("a text of i32", lambda: lib.c.histogram_letters(context, numbers, 4, array(u64, (7,)), beside),
                     INVALID_ARGUMENT, ("i32", "u8")),
                    ("a reducer of bits", lambda: lib.c.reducer_create(context, 5, f32, place), UNSUPPORTED, ("bit_or", "f32")),
                    ("a reducer of type 77", lambda: lib.c.reducer_create(context, 0, 77, place), UNSUPPORTED, ("dtype 77",)),
                    ("a scanner from type 77", lambda: lib.c.scanner_create(context, 0, False, 77, i32, None, place),
                     UNSUPPORTED, ("dtype 77",)),
                    ("a partial of bits", lambda: lib.c.partial_create(5, f32, place), UNSUPPORTED, ("bit_or", "f32"))):
                refused(lib, what, call(), status, out, *words)
                with case():
                    require(some.untouched() and handle.value == 0xA5A5 and
                            (outside.below, outside.above, outside.nan) == (1, 2, 3), f"{lib.isa} {what}: wrote something")
            for create, feed, destroy in (
                    (lambda to: lib.c.reducer_create(context, 0, i32, to), lambda to: lib.c.reducer_feed(to, floats),
                     lib.c.reducer_destroy),
                    (lambda to: lib.c.scanner_create(context, 0, False, i32, i32, None, to),
                     lambda to: lib.c.scanner_feed(to, floats, array(i32, (24,))), lib.c.scanner_destroy),
                    (lambda to: lib.c.scanner_create(context, 0, False, i32, i32, None, to),
                     lambda to: lib.c.scanner_feed(to, numbers, array(f32, (24,))), lib.c.scanner_destroy),
                    (lambda to: lib.c.counter_create_even(context, i32, 0, 1, 4, to), lambda to: lib.c.counter_feed(to, floats),
                     lib.c.counter_destroy),
                    (lambda to: lib.c.partial_create(0, i32, to), lambda to: lib.c.partial_feed(to, context, floats, 0),
                     lib.c.partial_destroy)):
                made = ctypes.c_void_p()
                with case():
                    require(create(ctypes.byref(made)) == OK, lib.message())
                refused(lib, "a piece of another type", feed(made), INVALID_ARGUMENT, out, "an array of f32 where one of i32")
                destroy(made)


def contexts(libs, rng):
    """What no context can be made of; what has been made with a context outlives it; without a GPU there is none."""
    values = np.arange(1000, dtype=np.int32)
    for lib in libs:
        context, out = ctypes.c_void_p(0xA5A5), Guarded("i64", 1)
        place = ctypes.byref(context)
        for what, call, words in (("place 3", lambda: lib.c.context_create(3, -1, place), ("no such place",)),
                                  ("place -1", lambda: lib.c.context_create(-1, -1, place), ("no such place",)),
                                  ("device -2", lambda: lib.c.context_create(CPU, -2, place), ("device is negative",)),
                                  ("no room", lambda: lib.c.context_create(CPU, -1, None), ("null pointer",)),
                                  ("no context", lambda: lib.c.context_set_threads(None, 1), ("null pointer",)),
                                  ("no context", lambda: lib.c.context_set_stream(None, None), ("null pointer",)),
                                  ("no context", lambda: lib.c.context_limit_gpu_memory(None, 1 << 20), ("null pointer",))):
            refused(lib, what, call(), INVALID_ARGUMENT, out, *words)
        with case():
            require(context.value == 0xA5A5, f"{lib.isa}: a failed call created a context")
        if lib.c.gpu_name() is None:
            refused(lib, "a GPU", lib.c.context_create(CUDA, -1, place), NO_DEVICE, out, "GPU")
            with case():
                require(context.value == 0xA5A5, f"{lib.isa}: a failed call created a context")
        for kind in (0, CPU):
            with case():
                require(lib.c.context_create(kind, -1, place) == OK, lib.message())
            refused(lib, "threads", lib.c.context_set_threads(context, -1), INVALID_ARGUMENT, out, "threads is negative")
            refused(lib, "a stream", lib.c.context_set_stream(context, None), INVALID_ARGUMENT, out, "no streams")
            refused(lib, "memory", lib.c.context_limit_gpu_memory(context, 3071), INVALID_ARGUMENT, out, "3071 bytes")
            with case():
                require(lib.c.context_limit_gpu_memory(context, 3072) == OK, lib.message())
                require(lib.c.context_wait(context) == OK and lib.c.context_wait(None) == OK, lib.message())
                reducer = ctypes.c_void_p()
                require(lib.c.context_set_threads(context, 2) == OK, lib.message())
                require(lib.c.reducer_create(context, 0, DTYPES["i32"], ctypes.byref(reducer)) == OK, lib.message())
                lib.c.context_destroy(context)
                backwards = Array.of(values[999:].ctypes.data, DTYPES["i32"], (1000,), (-1,))
                for memory in (HOST, MANAGED):  # the host reaches both
                    backwards.memory = memory
                    require(lib.c.reducer_feed(reducer, ctypes.byref(backwards)) == OK, lib.message())
                require(lib.c.reducer_result(reducer, out.pointer) == OK, lib.message())
                require(out.array[0] == 2 * values.sum(), f"{lib.isa}: a reducer is wrong without its context")
                lib.c.reducer_destroy(reducer)
                out.poison()
        lib.c.context_destroy(None)


# --- threads --------------------------------------------------------------------------------------------------------

class Thread(threading.Thread):
    """A thread whose mismatch is the caller's."""

    def __init__(self, work):
        super().__init__()
        self.work, self.mismatch = work, None
        self.start()

    def run(self):
        try:
            self.work()
        except Mismatch as mismatch:
            self.mismatch = mismatch

    def finish(self):
        self.join()
        if self.mismatch:
            raise self.mismatch


@case()
def check_busy(lib, rng):
    """One thread folds arrays of 10^8 elements in a context, another one tries to: it is told so, or has its result."""
    row = rng.integers(-100, 100, 100_000).astype(np.int32)
    long = Array.of(row.ctypes.data, DTYPES["i32"], (1000, len(row)), (0, 1))
    short = Array.of(row.ctypes.data, DTYPES["i32"], (100, 1000), (1, 100))
    context, reducer = ctypes.c_void_p(), ctypes.c_void_p()
    require(lib.c.context_create(CPU, -1, ctypes.byref(context)) == OK, lib.message())
    require(lib.c.reducer_create(context, 0, DTYPES["i32"], ctypes.byref(reducer)) == OK, lib.message())
    seen, is_done, deadline = {"busy": 0, "long": 0, "fed": 0}, threading.Event(), time.monotonic() + 20

    def attempt(call, out, expected):
        status = call()
        if status == BUSY:
            require("another thread" in lib.message(), f"{lib.isa} busy: {lib.message()}")
            require(out.untouched(), f"{lib.isa}: a call that found its context busy wrote something")
            return False
        require(status == OK, f"{lib.isa} busy: status {status}, {lib.message()}")
        require(expected is None or out.array[0] == expected, f"{lib.isa}: a wrong result in a context of two threads")
        return True

    def fold(array, expected):
        out = Guarded("i64", 1)
        return attempt(lambda: lib.c.reduce(context, 0, ctypes.byref(array), line(out.pointer, DTYPES["i64"], 1)), out,
                       expected)

    def folds_long_arrays():
        try:
            while time.monotonic() < deadline and not (seen["long"] >= 3 and seen["busy"] >= 10):
                seen["long"] += fold(long, 1000 * row.sum(dtype=np.int64))
        finally:
            is_done.set()

    other = Thread(folds_long_arrays)
    nowhere = Guarded("i64", 1)
    while not is_done.is_set():
        seen["busy"] += not fold(short, row.sum(dtype=np.int64))
        if not attempt(lambda: lib.c.reducer_feed(reducer, ctypes.byref(short)), nowhere, None):
            seen["busy"] += 1
        else:
            seen["fed"] += 1
        seen["busy"] += lib.c.context_set_threads(context, 2) == BUSY
        time.sleep(0.001)
    other.finish()
    require(seen["busy"] > 0 and seen["long"] > 0, f"{lib.isa}: {seen} while two threads used a context")
    out = Guarded("i64", 1)
    require(lib.c.reducer_result(reducer, out.pointer) == OK, lib.message())
    require(out.array[0] == seen["fed"] * row.sum(dtype=np.int64), f"{lib.isa}: a refused piece has been folded")
    require(fold(short, row.sum(dtype=np.int64)), f"{lib.isa}: a context stays busy")
    lib.c.reducer_destroy(reducer)
    lib.c.context_destroy(context)


@case()
def check_no_context(lib, rng):
    """Without a context any number of threads call at once."""
    sources = [Laid(rng, "f32", (301, 401), layout, values=next(inputs_of(rng, "plus", "f32", 301 * 401))[1])
               for layout in LAYOUTS]

    def work(source):
        values = source.values()
        total, sums = reduce(values, "plus", "f32"), scan(values, "plus", "f32")
        own = np.random.default_rng(len(values))
        for _ in range(10):
            result, out = Guarded("f32", 1), Laid(own, "f32", source.shape, "mixed", True)
            status = lib.c.reduce(None, 0, ctypes.byref(source.describe()), line(result.pointer, DTYPES["f32"], 1))
            require(status == OK, lib.message())
            same_bits(result.array, total, "f32", f"{lib.isa} reduce by one of many threads")
            status = lib.c.scan(None, 0, False, ctypes.byref(source.describe()), ctypes.byref(out.describe()), None)
            require(status == OK, lib.message())
            same_bits(out.values(), sums, "f32", f"{lib.isa} scan by one of many threads")
            require(out.untouched_between(), f"{lib.isa}: one of many threads wrote between its elements")
            status = lib.c.reduce(None, 99, ctypes.byref(source.describe()), line(result.pointer, DTYPES["f32"], 1))
            require(status == INVALID_ARGUMENT and "operator 99" in lib.message(), f"{lib.isa}: {lib.message()}")

    for thread in [Thread(lambda source=source: work(source)) for source in sources]:
        thread.finish()


def threads(libs, rng):
    """A context is one thread's at a time; no context is everyone's."""
    for lib in libs:
        check_busy(lib, rng)
        check_no_context(lib, rng)


CHECKS = (reduces, scans, large, many_dimensions, counts, letters, pieces_of_arrays, refusals, refusals_of_scans,
          refusals_of_results, contexts, threads)


if __name__ == "__main__":
    sys.exit(run(__doc__, CHECKS))
