# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Compares what libupsweep makes of rows, columns, segments and runs of keys with the independent reference, line by line.

    python3 shapes.py build/lib/libupsweep.so [--seed N] [--only REGEX]

Shapes, strides and elements are new in every run. Outputs stand among bytes that must stay as they are, and so do the gaps
between their elements.
"""
import ctypes
import math
import sys

import numpy as np

from arrays import LAYOUTS, OF_OUTPUTS, Laid, converted, random_shape, some_context, some_result
from bits import every_fold, inputs_of, same_bits
from checks import case, refused, require, run
from fold_order import FLOATS, STORAGE, convert, identity, reduce, reduce_dtype, scan
from verb_order import variances
from library import (CUDA, DEVICE, DTYPES, INVALID_ARGUMENT, OK, OP_NUMBERS, OVERLAP, UNREACHABLE, UNSUPPORTED, Array, Guarded,
                     cpu, line)

OFFSETS = ("i32", "u32", "i64", "u64")


# --- the reference: columns of an array of two dimensions, folded all at once -----------------------------------------

def reduced_columns(x, op, dtype):
    if len(x):
        return reduce(x, op, dtype)[0]
    return np.repeat(identity(op, reduce_dtype(op, dtype)), x.shape[1])


def scanned_columns(x, op, dtype, target, exclusive, init):
    if x.size == 0:
        return np.empty(x.shape, STORAGE[target])
    out = scan(x, op, dtype, target, False, init)
    if not exclusive:
        return out
    start = scan(x[:1, 0], op, dtype, target, True, init)
    return np.concatenate([np.repeat(start, x.shape[1])[None], out[:-1]])


def along(axis, f, x):
    """f of the columns that the lines of x along an axis are, and its result with the axis where it was, or without it."""
    lines = np.moveaxis(x, axis, 0)
    result = f(lines.reshape(len(lines), math.prod(lines.shape[1:])))
    if result.ndim == 1:
        return result.reshape(lines.shape[1:])
    return np.moveaxis(result.reshape(lines.shape), 0, axis)


# --- along an axis ------------------------------------------------------------------------------------------------------

def of_values(rng, op, dtype, shape, layout):
    return Laid(rng, dtype, shape, layout, values=next(inputs_of(rng, op, dtype, math.prod(shape)))[1])


def some_layout(rng, layouts=OF_OUTPUTS):
    return str(rng.choice(layouts))


def compare(out, expected, what):
    same_bits(out.values(), expected.reshape(-1), out.dtype, what)
    require(out.untouched_between(), f"{what}: wrote between or beside its elements")


@case()
def check_reduce(lib, rng, op, source, axis):
    context, name = some_context(lib, rng)
    keeps_axis = bool(rng.integers(2))
    shape = [*source.shape[:axis], *[1][:keeps_axis], *source.shape[axis + 1:]]
    result_dtype, folded = some_result(rng, op, source.dtype)
    out = Laid(rng, result_dtype, shape, some_layout(rng), is_output=True)
    what = f"{lib.isa} reduce_axis {op} of {source.what}, axis {axis}, to {out.what}, {name}"
    status = lib.c.reduce_axis(context, OP_NUMBERS[op], source.describe(), axis, out.describe())
    if source.shape[axis] == 0 and op in ("minimum", "maximum") and out.count:
        return refused(lib, what, status, INVALID_ARGUMENT, out.memory, "no elements")
    require(status == OK, f"{what}: {lib.message()}")
    elements = convert(source.view(), source.dtype, folded)
    compare(out, along(axis, lambda x: reduced_columns(x, op, folded), elements), what)
    require(source.unchanged(), f"{what}: wrote to its input")


@case()
def check_mean(lib, rng, source, axis):
    context, name = some_context(lib, rng)
    dtype = "f32" if source.dtype in FLOATS and source.dtype != "f64" else "f64"
    out = Laid(rng, dtype, [*source.shape[:axis], *source.shape[axis + 1:]], some_layout(rng), is_output=True)
    what = f"{lib.isa} mean_axis of {source.what}, axis {axis}, to {out.what}, {name}"
    require(lib.c.mean_axis(context, source.describe(), axis, out.describe()) == OK, f"{what}: {lib.message()}")
    with np.errstate(all="ignore"):
        sums = along(axis, lambda x: reduced_columns(x, "plus", source.dtype), source.view())
        kind = STORAGE[dtype]
        expected = sums.astype(kind) / kind(source.shape[axis])
        expected = np.where(np.isnan(expected), kind(np.nan), expected)
    compare(out, expected, what)


@case()
def check_variance(lib, rng, source, axis):
    context, name = some_context(lib, rng)
    dtype, correction = "f32" if source.dtype in FLOATS and source.dtype != "f64" else "f64", float(rng.choice([0, 1, 2.5, 1000]))
    kind, wide = STORAGE[dtype], np.array(convert(source.view(), source.dtype, "f64"))

    def expected(x):
        with np.errstate(all="ignore"):
            of_columns = variances(x, correction).astype(kind)
        return np.where(np.isnan(of_columns), kind(np.nan), of_columns)

    out = Laid(rng, dtype, [*source.shape[:axis], *source.shape[axis + 1:]], some_layout(rng), is_output=True)
    what = f"{lib.isa} variance_axis of {source.what}, axis {axis}, correction {correction}, to {out.what}, {name}"
    require(lib.c.variance_axis(context, source.describe(), axis, correction, out.describe()) == OK, f"{what}: {lib.message()}")
    compare(out, along(axis, expected, wide), what)

    # Some of the axes, or none, in place of that one.
    axes = [k for k in range(len(source.shape)) if rng.integers(2)]
    rest = [k for k in range(len(source.shape)) if k not in axes]
    lines = wide.transpose(*axes, *rest).reshape(math.prod(source.shape[k] for k in axes), math.prod(source.shape[k] for k in rest))
    keeps_axes = bool(rng.integers(2))
    shape = [1 if k in axes else extent for k, extent in enumerate(source.shape) if k in rest or keeps_axes]
    out = Laid(rng, dtype, shape, some_layout(rng), is_output=True)
    what = f"{lib.isa} variance_axes of {source.what}, axes {axes}, correction {correction}, to {out.what}, {name}"
    status = lib.c.variance_axes(context, source.describe(), sum(1 << k for k in axes), correction, out.describe())
    require(status == OK, f"{what}: {lib.message()}")
    compare(out, expected(lines) if out.count else np.empty(0, kind), what)

    # All elements, at once and in pieces.
    of_all, what = expected(wide.reshape(-1, 1)), f"{lib.isa} variance of {source.what}, correction {correction}, {name}"
    result = Laid(rng, dtype, (), "c", is_output=True)
    require(lib.c.variance(context, source.describe(), correction, result.describe()) == OK, f"{what}: {lib.message()}")
    compare(result, of_all, what)
    require(source.unchanged(), f"{what}: wrote to its input")
    reducer, values, total = ctypes.c_void_p(), source.values(), np.empty(1, kind)
    require(lib.c.reducer_create_variance(DTYPES[source.dtype], correction, ctypes.byref(reducer)) == OK, lib.message())
    for piece in np.split(values, np.sort(rng.integers(0, len(values) + 1, 3))):
        laid = Laid(rng, source.dtype, piece.shape, "c", values=piece)
        require(lib.c.reducer_feed(reducer, laid.describe()) == OK, f"{what} in pieces: {lib.message()}")
    require(lib.c.reducer_result(reducer, total.ctypes.data) == OK, f"{what} in pieces: {lib.message()}")
    same_bits(total, of_all, dtype, f"{what} in pieces")
    lib.c.reducer_destroy(reducer)


class Scanned:
    """A way to scan lines."""

    def __init__(self, rng, op, dtype, target):
        self.op, self.dtype, self.target = op, dtype, target
        self.exclusive = bool(rng.integers(2))
        self.init = next(inputs_of(rng, op, target, 1))[1] if rng.integers(2) else None
        self.what = f"{'exclusive' if self.exclusive else 'inclusive'} scan {op}{' with init' if self.init is not None else ''}"

    def columns(self, x):
        return scanned_columns(x, self.op, self.dtype, self.target, self.exclusive, self.init)

    def line(self, x):
        return self.columns(x[:, None])[:, 0]

    def start(self):
        return None if self.init is None else self.init.ctypes.data


@case()
def check_scan(lib, rng, op, source, axis):
    context, name = some_context(lib, rng)
    in_place = 0 not in source.strides and rng.random() < 0.3
    scanned = Scanned(rng, op, source.dtype, source.dtype if in_place else converted(rng, op, source.dtype))
    out = source if in_place else Laid(rng, scanned.target, source.shape, some_layout(rng), is_output=True)
    what = f"{lib.isa} {scanned.what} of {source.what}, axis {axis}, to {'itself' if in_place else out.what}, {name}"
    expected = along(axis, scanned.columns, source.view())
    status = lib.c.scan_axis(context, OP_NUMBERS[op], scanned.exclusive, source.describe(), axis, out.describe(), scanned.start())
    require(status == OK, f"{what}: {lib.message()}")
    compare(out, expected, what)
    if in_place:
        source.before = source.memory.array.tobytes()
    require(source.unchanged(), f"{what}: wrote to its input")


def axes(libs, rng):
    """Every type and operator, every axis of arrays of ranks 1 to 5, every layout; the lines are cut and transposed in some."""
    for op, dtype in every_fold():
        for most in (20, 700):
            shape = random_shape(rng, int(rng.integers(1, 6)), most)
            source = of_values(rng, op, dtype, shape, some_layout(rng, LAYOUTS))
            for axis in range(len(shape)):
                for lib in libs:
                    check_reduce(lib, rng, op, source, axis)
                    check_scan(lib, rng, op, source, axis)


def large_axes(libs, rng):
    """Few lines of many elements, and many of few, with any operator that is a way of its own to fold."""
    for op, dtype in (("plus", "f32"), ("plus", "i8"), ("plus", "bf16"), ("multiplies", "u16"), ("multiplies", "f16"), ("maximum", "f64"),
                      ("minimum", "f16"), ("logical_or", "f32"), ("multiplies", "f32"), ("bit_xor", "u8")):
        for shape in ((3, 40_001), (40_001, 3), (130, 257), (2, 70, 300)):
            layout = some_layout(rng, ("c", "fortran", "padded", "reversed"))
            source = of_values(rng, op, dtype, shape, layout)
            axis = int(rng.integers(len(shape)))
            for lib in libs:
                check_reduce(lib, rng, op, source, axis)
                check_scan(lib, rng, op, source, axis)


def converted_axes(libs, rng):
    """Lines of more elements than are converted at a time, whose lengths have one digit and many."""
    for op, dtype in (("plus", "i8"), ("plus", "f32"), ("plus", "f64"), ("plus", "bf16"), ("multiplies", "u16"), ("plus", "bool")):
        for shape in ((2, 131_072), (3, 150_001), (150_001, 3), (70_001, 2, 3), (2, 70_000, 3), (300_000,), (90, 2500)):
            source = of_values(rng, op, dtype, shape, some_layout(rng, ("c", "fortran", "padded", "reversed")))
            for lib in libs:
                check_reduce(lib, rng, op, source, int(rng.integers(len(shape))))


def empty_axes(libs, rng):
    """An axis without elements gives what no elements give; without lines there are no results."""
    for op, dtype in every_fold():
        for shape, axis in (((0, 3), 0), ((2, 0, 3), 1), ((0, 3), 1), ((0,), 0), ((0, 0), 0)):
            source = Laid(rng, dtype, shape, "c")
            for lib in libs:
                check_reduce(lib, rng, op, source, axis)
                check_scan(lib, rng, op, source, axis)


def means(libs, rng):
    """Of every type, also of sums that wrap, of no elements and of NaN."""
    for dtype in STORAGE:
        for shape in ((), (0, 3), random_shape(rng, 3, 2000), (2000,), (5, 999)):
            if shape == ():
                continue
            source = of_values(rng, "plus", dtype, shape, some_layout(rng, LAYOUTS))
            for axis in range(len(shape)):
                for lib in libs:
                    check_mean(lib, rng, source, axis)


def variances_of_lines(libs, rng):
    """Of every type, of rows and columns, few and many, of no elements, one, NaN and infinity."""
    for dtype in STORAGE:
        for shape in ((0, 3), (1, 4), random_shape(rng, 3, 2000), (2000,), (5, 999), (70, 40), (3, 5000), (3000, 6)):
            source = of_values(rng, "plus", dtype, shape, some_layout(rng, LAYOUTS))
            for axis in range(len(shape)):
                for lib in libs:
                    check_variance(lib, rng, source, axis)
    for lib in libs:
        number, out = Guarded.of("f32", np.float32([7])), Guarded("f32", 1)
        grid, to = (Array.of(at.pointer, DTYPES["f32"], (1,) * 64) for at in (number, out))
        require(lib.c.variance_axes(None, grid, 0, 0.0, to) == OK and out.array[0] == 0, f"{lib.isa} variance_axes of 64 dimensions")


@case()
def check_image(lib, rng, source, target):
    context, name = some_context(lib, rng)
    out = Laid(rng, target, source.shape, some_layout(rng), is_output=True)
    what = f"{lib.isa} integral_image of {source.what} to {out.what}, {name}"
    rows = along(len(source.shape) - 1, lambda x: scanned_columns(x, "plus", source.dtype, target, False, None), source.view())
    expected = along(len(source.shape) - 2, lambda x: scanned_columns(x, "plus", target, target, False, None), rows)
    require(lib.c.integral_image(context, source.describe(), out.describe()) == OK, f"{what}: {lib.message()}")
    compare(out, expected, what)


def images(libs, rng):
    """Bytes with sums of 32 bits, floats with sums of 64, half floats, batches; images of no pixels."""
    for dtype, target in (("u8", "u32"), ("f32", "f64"), ("f32", "f32"), ("f16", "f16"), ("f16", "f32"), ("f32", "bf16"), ("bool", "i64")):
        for shape in ((37, 53), (3, 20, 31), (2, 2, 8, 70), (1, 500), (0, 4)):
            source = of_values(rng, "plus", dtype, shape, some_layout(rng, LAYOUTS))
            for lib in libs:
                check_image(lib, rng, source, target)


# --- segments -----------------------------------------------------------------------------------------------------------

def random_bounds(rng, count):
    """Ascending offsets, with empty segments among them; now and then some elements are in none."""
    segments = int(rng.choice((0, 1, 5, 40)))
    bounds = np.sort(rng.integers(0, count + 1, segments + 1))
    if rng.integers(2):
        bounds[0], bounds[-1] = 0, count
    return bounds.astype(np.int64) if segments else bounds[:1]


def laid_bounds(rng, bounds):
    dtype = str(rng.choice(OFFSETS))
    return Laid(rng, dtype, (len(bounds),), some_layout(rng), is_output=True, values=bounds.astype(STORAGE[dtype]))


def totals_of(values, bounds, op, dtype):
    parts = [reduce(values[begin:end], op, dtype) for begin, end in zip(bounds, bounds[1:])]
    return np.concatenate(parts) if parts else np.empty(0, STORAGE[reduce_dtype(op, dtype)])


def expected_scan(scanned, values, before, bounds):
    """`before` is what the output holds, where segments do not lie."""
    expected = before.copy()
    for begin, end in zip(bounds, bounds[1:]):
        expected[begin:end] = scanned.line(values[begin:end])
    return expected


@case()
def check_segments(lib, rng, op, source, bounds):
    context, name = some_context(lib, rng)
    values, offsets = source.values(), laid_bounds(rng, bounds)
    out = Laid(rng, reduce_dtype(op, source.dtype), (len(bounds) - 1,), some_layout(rng), is_output=True)
    what = f"{lib.isa} segmented_reduce {op} of {source.what} at {offsets.what} to {out.what}, {name}"
    status = lib.c.segmented_reduce(context, OP_NUMBERS[op], source.describe(), offsets.describe(), out.describe())
    require(status == OK, f"{what}: {lib.message()}")
    compare(out, totals_of(values, bounds, op, source.dtype), what)

    in_place = 0 not in source.strides and rng.random() < 0.3
    scanned = Scanned(rng, op, source.dtype, source.dtype if in_place else converted(rng, op, source.dtype))
    out = source if in_place else Laid(rng, scanned.target, source.shape, some_layout(rng), is_output=True)
    what = f"{lib.isa} segmented {scanned.what} of {source.what} at {offsets.what} to {'itself' if in_place else out.what}, {name}"
    expected = expected_scan(scanned, values, out.values(), bounds)
    status = lib.c.segmented_scan(context, OP_NUMBERS[op], scanned.exclusive, source.describe(), offsets.describe(),
                                  out.describe(), scanned.start())
    require(status == OK, f"{what}: {lib.message()}")
    compare(out, expected, what)
    require(offsets.unchanged(), f"{what}: wrote to its offsets")


def segments(libs, rng):
    """Every type and operator, offsets of every type, empty segments, elements in none."""
    for op, dtype in every_fold():
        for count in (0, 13, 900):
            for lib in libs:
                source = of_values(rng, op, dtype, (count,) if rng.integers(3) else (1, count), some_layout(rng))
                check_segments(lib, rng, op, source, random_bounds(rng, count))
    for op, dtype in (("plus", "f32"), ("multiplies", "bf16"), ("maximum", "u8")):  # one too long for a thread
        for lib in libs:
            source = of_values(rng, op, dtype, (400_000,), "c")
            check_segments(lib, rng, op, source, np.array([3, 5, 390_001, 390_001, 399_990]))


def checks_of_offsets(libs, rng):
    """The first offset that is wrong is named."""
    for dtype in OFFSETS:
        for lib in libs:
            context = some_context(lib, rng)[0]
            good = np.sort(rng.integers(0, 1000, 50)).astype(STORAGE[dtype])
            offsets = Laid(rng, dtype, (50,), some_layout(rng), is_output=True, values=good)
            with case():
                require(lib.c.check_offsets(context, offsets.describe(), 1000) == OK, lib.message())
            for place, value in ((7, 1001), (20, -1 if dtype[0] == "i" else 5000), (31, 0)):
                bad = good + STORAGE[dtype](1)
                bad[place] = value
                offsets = Laid(rng, dtype, (50,), some_layout(rng), is_output=True, values=bad)
                refused(lib, f"offset {place} of {dtype}", lib.c.check_offsets(context, offsets.describe(), 1001 if place != 7 else 1000),
                        INVALID_ARGUMENT, Guarded("u8", 1), f"offset {place} of 50")


# --- runs of keys -------------------------------------------------------------------------------------------------------

def random_keys(rng, dtype, count, longest):
    """Keys in runs, of which some are equal to the run before but for the sign of zero, or NaN."""
    kinds = np.array([0, 1, 3, 1], STORAGE[dtype]) if dtype not in FLOATS else convert(
        np.array([0.0, -0.0, 2.5, np.nan], np.float32), "f32", dtype)
    runs = 4 * count // (longest + 1) + 4  # of which half would be enough
    return np.resize(np.repeat(kinds[rng.integers(0, 4, runs)], rng.integers(1, longest + 1, runs)), count)


def bounds_of(keys, dtype):
    """Where runs begin, and the end of the last."""
    numbers = convert(keys, dtype, "f32") if dtype == "bf16" else keys
    heads = np.flatnonzero(np.concatenate([np.ones(min(len(keys), 1), bool), numbers[1:] != numbers[:-1]]))
    return np.append(heads, len(keys))


@case()
def check_by_key(lib, rng, op, dtype, key_dtype, count, longest):
    context, name = some_context(lib, rng)
    keys = Laid(rng, key_dtype, (count,), some_layout(rng), values=random_keys(rng, key_dtype, count, longest))
    source = of_values(rng, op, dtype, (count,), some_layout(rng))
    bounds, values = bounds_of(keys.values(), key_dtype), source.values()
    found, room = len(bounds) - 1, len(bounds) - 1 + int(rng.integers(3))
    firsts = Laid(rng, key_dtype, (room,), some_layout(rng), is_output=True)
    totals = Laid(rng, reduce_dtype(op, dtype), (room,), some_layout(rng), is_output=True)
    behind, runs = [out.values()[found:].tobytes() for out in (firsts, totals)], ctypes.c_uint64(77)
    what = f"{lib.isa} reduce_by_key {op} of {source.what} by {keys.what}, {name}"
    status = lib.c.reduce_by_key(context, OP_NUMBERS[op], keys.describe(), source.describe(), firsts.describe(), totals.describe(),
                                 ctypes.byref(runs))
    require(status == OK, f"{what}: {lib.message()}")
    require(runs.value == found, f"{what}: {runs.value} runs, expected {found}")
    same_bits(firsts.values()[:found], keys.values()[bounds[:-1]], key_dtype, f"{what}, keys")
    same_bits(totals.values()[:found], totals_of(values, bounds, op, dtype), totals.dtype, what)
    require(firsts.untouched_between() and totals.untouched_between() and
            [out.values()[found:].tobytes() for out in (firsts, totals)] == behind, f"{what}: wrote beside its results")

    in_place = 0 not in source.strides and rng.random() < 0.3
    scanned = Scanned(rng, op, dtype, dtype if in_place else converted(rng, op, dtype))
    out = source if in_place else Laid(rng, scanned.target, (count,), some_layout(rng), is_output=True)
    what = f"{lib.isa} {scanned.what} of {source.what} by {keys.what} to {'itself' if in_place else out.what}, {name}"
    expected = expected_scan(scanned, values, out.values(), bounds)
    status = lib.c.scan_by_key(context, OP_NUMBERS[op], scanned.exclusive, keys.describe(), source.describe(), out.describe(),
                               scanned.start())
    require(status == OK, f"{what}: {lib.message()}")
    compare(out, expected, what)
    require(keys.unchanged(), f"{what}: wrote to its keys")


def by_key(libs, rng):
    """Every type and operator of values, keys of any type."""
    for op, dtype in every_fold():
        for lib in libs:
            check_by_key(lib, rng, op, dtype, str(rng.choice(list(STORAGE))), int(rng.integers(0, 60)), int(rng.choice((1, 4, 50))))
    for key_dtype in STORAGE:
        for lib in libs:
            check_by_key(lib, rng, "plus", "f32", key_dtype, 40_000, 3000)
    for lib in libs: # runs that all threads fold together
        check_by_key(lib, rng, "plus", "f64", "i32", 900_000, 500_000)


@case()
def check_run_lengths(lib, rng, dtype, count, longest):
    context, name = some_context(lib, rng)
    source = Laid(rng, dtype, (count,), some_layout(rng), values=random_keys(rng, dtype, count, longest))
    bounds = bounds_of(source.values(), dtype)
    found, room = len(bounds) - 1, int(rng.choice((len(bounds) - 1, count + 2)))
    kind = str(rng.choice(("i64", "u64")))
    values = Laid(rng, dtype, (room,), some_layout(rng), is_output=True)
    lengths = Laid(rng, kind, (room,), some_layout(rng), is_output=True)
    behind, runs = lengths.values()[found:].tobytes(), ctypes.c_uint64(77)
    what = f"{lib.isa} run_length_encode of {source.what}, {name}"
    status = lib.c.run_length_encode(context, source.describe(), values.describe(), lengths.describe(), ctypes.byref(runs))
    require(status == OK, f"{what}: {lib.message()}")
    require(runs.value == found, f"{what}: {runs.value} runs, expected {found}")
    same_bits(values.values()[:found], source.values()[bounds[:-1]], dtype, what)
    require(np.array_equal(lengths.values()[:found], np.diff(bounds)), f"{what}: wrong lengths")
    require(values.untouched_between() and lengths.untouched_between() and lengths.values()[found:].tobytes() == behind,
            f"{what}: wrote beside its results")
    if room and found != room:
        return

    out = Laid(rng, dtype, (count + int(rng.integers(3)),), some_layout(rng), is_output=True)
    behind = out.values()[count:].tobytes()
    what = f"{lib.isa} run_length_decode to {out.what}, {name}"
    require(lib.c.run_length_decode(context, values.describe(), lengths.describe(), out.describe()) == OK, f"{what}: {lib.message()}")
    same_bits(out.values()[:count], np.repeat(values.values(), lengths.values().astype(np.int64)), dtype, what)
    require(out.untouched_between() and out.values()[count:].tobytes() == behind, f"{what}: wrote beside its results")


def run_lengths(libs, rng):
    """Every type, there and back."""
    for dtype in STORAGE:
        for count, longest in ((0, 1), (1, 1), (300, 1), (2000, 9), (70_000, 20_000)):
            for lib in libs:
                check_run_lengths(lib, rng, dtype, count, longest)


# --- what is refused ------------------------------------------------------------------------------------------------------

def refusals(libs, rng):
    """Wrong axes, shapes, types, offsets, lengths, room and overlaps: a status, a message, and nothing written."""
    f32, i64, u64 = (DTYPES[name] for name in ("f32", "i64", "u64"))
    for lib in libs:
        c = lib.c
        for context in (None, lib.context(cpu(2))[1]):
            some, numbers, out = Guarded("f32", 64), Guarded.of("i64", np.arange(64)), Guarded("f64", 64)
            runs = ctypes.c_uint64(0xA5A5)
            place = ctypes.byref(runs)

            def at(memory, dtype, shape, strides=None, first=0):
                return Array.of(memory.pointer + first * memory.array.itemsize, dtype, shape, strides)

            grid, column, row = at(some, f32, (4, 6)), at(out, f32, (4,)), at(out, f32, (6,))
            whole, ten = at(out, f32, (4, 6)), at(some, f32, (10,))
            offsets, there = at(numbers, i64, (4,), (3,)), Array.of(out.pointer, f32, (4,), memory=DEVICE)
            far, sums = Guarded("f32", 3 ** 9), Guarded("f32", 128)
            ranks = Array.of(far.pointer, f32, (2,) * 9, [3 ** k for k in range(9)])
            wide = Array.of(far.pointer, f32, (2,) * 8, [3 ** k for k in range(8)])
            backwards = Guarded.of("i64", np.array([5, 3, 70, -1]))
            calls = {
                "axis 2 of 2": (lambda: c.reduce_axis(context, 0, grid, 2, column), INVALID_ARGUMENT, ("axis 2 of an array of 2",)),
                "axis -1": (lambda: c.reduce_axis(context, 0, grid, -1, column), INVALID_ARGUMENT, ("axis -1",)),
                "axis 0 of nothing": (lambda: c.scan_axis(context, 0, False, at(some, f32, ()), 0, at(out, f32, ()), None),
                                      INVALID_ARGUMENT, ("of 0 dimensions",)),
                "axis 5 of a mean": (lambda: c.mean_axis(context, grid, 5, column), INVALID_ARGUMENT, ("axis 5",)),
                "sums of rows for columns": (lambda: c.reduce_axis(context, 0, grid, 1, row), INVALID_ARGUMENT, ("extents",)),
                "two sums a row": (lambda: c.reduce_axis(context, 0, grid, 1, at(out, f32, (4, 2))), INVALID_ARGUMENT, ("extents",)),
                "sums of too few dimensions": (lambda: c.reduce_axis(context, 0, at(some, f32, (2, 2, 2)), 1, at(out, f32, (4,))),
                                               INVALID_ARGUMENT, ("extents",)),
                "variances of another type": (lambda: c.variance_axis(context, grid, 1, 0.0, at(out, DTYPES["f64"], (4,))),
                                              INVALID_ARGUMENT, ("f64", "f32")),
                "variances elsewhere": (lambda: c.variance_axis(context, grid, 1, 0.0, row), INVALID_ARGUMENT, ("extents",)),
                "variances along axis 3": (lambda: c.variance_axes(context, grid, 0b1010, 0.0, column), INVALID_ARGUMENT, ("axis 3",)),
                "variances along both axes": (lambda: c.variance_axes(context, grid, 0b11, 0.0, column), INVALID_ARGUMENT, ("extents",)),
                "two variances": (lambda: c.variance(context, grid, 0.0, at(out, f32, (2,))), INVALID_ARGUMENT, ("one element",)),
                "means elsewhere": (lambda: c.mean_axis(context, grid, 1, row), INVALID_ARGUMENT, ("extents",)),
                "a scan transposed": (lambda: c.scan_axis(context, 0, False, grid, 0, at(out, f32, (6, 4)), None), INVALID_ARGUMENT,
                                      ("extents",)),
                "a scan of one dimension less": (lambda: c.scan_axis(context, 0, False, grid, 0, at(out, f32, (24,)), None),
                                                 INVALID_ARGUMENT, ("extents",)),
                "maxima of f32 in f64": (lambda: c.reduce_axis(context, 3, grid, 1, at(out, DTYPES["f64"], (4,))), INVALID_ARGUMENT,
                                         ("an array of f64 where one of f32",)),
                "sums of f32 in i64": (lambda: c.reduce_axis(context, 0, grid, 1, at(out, i64, (4,))), INVALID_ARGUMENT,
                                       ("an array of i64 where one of f32",)),
                "means of f32 in f64": (lambda: c.mean_axis(context, grid, 1, at(out, DTYPES["f64"], (4,))), INVALID_ARGUMENT, ("f64",)),
                "means of i64 in f32": (lambda: c.mean_axis(context, at(numbers, i64, (4, 6)), 1, column), INVALID_ARGUMENT, ("f32",)),
                "bits of floats": (lambda: c.reduce_axis(context, 4, grid, 1, column), UNSUPPORTED, ("bit_and", "f32")),
                "operator 10": (lambda: c.reduce_axis(context, 10, grid, 1, column), INVALID_ARGUMENT, ("operator 10",)),
                "a scan to integers": (lambda: c.scan_axis(context, 0, False, grid, 1, at(out, i64, (4, 6)), None), UNSUPPORTED,
                                       ("f32", "i64")),
                "a minimum of nothing": (lambda: c.reduce_axis(context, 2, at(some, f32, (0, 6)), 0, row), INVALID_ARGUMENT, ("no elements",)),
                "sums at one place": (lambda: c.reduce_axis(context, 0, grid, 1, at(out, f32, (4,), (0,))), OVERLAP, ("same place",)),
                "means at one place": (lambda: c.mean_axis(context, grid, 1, at(out, f32, (4,), (0,))), OVERLAP, ("same place",)),
                "sums among the elements": (lambda: c.reduce_axis(context, 0, whole, 1, at(out, f32, (4,), (3,))), OVERLAP, ("overlap",)),
                "sums of one element in place": (lambda: c.reduce_axis(context, 0, at(out, f32, (4, 1)), 1, at(out, f32, (4, 1))), OVERLAP,
                                                 ("overlap",)),
                "a scan half in place": (lambda: c.scan_axis(context, 0, False, at(out, f32, (4, 6)), 1, at(out, f32, (4, 6), None, 1), None),
                                         OVERLAP, ("overlap",)),
                "a scan at one place": (lambda: c.scan_axis(context, 0, False, grid, 1, at(out, f32, (4, 6), (0, 1)), None), OVERLAP,
                                        ("same place",)),
                "9 dimensions": (lambda: c.reduce_axis(context, 0, ranks, 1, at(out, f32, (2,) * 8)), UNSUPPORTED, ("more than 8 dimensions",)),
                "8 and others": (lambda: c.scan_axis(context, 0, False, at(far, f32, (2,) * 8 + (1,), [3 ** k for k in range(9)]), 8,
                                                     at(out, f32, (2,) * 8 + (1,)), None), UNSUPPORTED, ("more than 8 dimensions",)),
                "a row as an image": (lambda: c.integral_image(context, ten, at(out, f32, (10,))), INVALID_ARGUMENT, ("two dimensions",)),
                "an image of another size": (lambda: c.integral_image(context, grid, at(out, f32, (4, 5))), INVALID_ARGUMENT, ("extents",)),
                "results on a GPU": (lambda: c.reduce_axis(context, 0, grid, 1, there), UNREACHABLE, ("memory of GPU 0",)),
                "no array": (lambda: c.reduce_axis(context, 0, None, 1, column), INVALID_ARGUMENT, ("null pointer",)),
                "no output": (lambda: c.scan_axis(context, 0, False, grid, 1, None, None), INVALID_ARGUMENT, ("null pointer",)),
                "no offsets": (lambda: c.segmented_reduce(context, 0, ten, at(numbers, i64, (0,)), at(out, f32, (0,))), INVALID_ARGUMENT,
                               ("no offsets",)),
                "offsets of f32": (lambda: c.segmented_reduce(context, 0, ten, at(some, f32, (4,)), at(out, f32, (3,))), INVALID_ARGUMENT,
                                   ("offsets are of type f32",)),
                "offsets of i16": (lambda: c.check_offsets(context, at(numbers, DTYPES["i16"], (4,)), 10), INVALID_ARGUMENT, ("i16",)),
                "too few results": (lambda: c.segmented_reduce(context, 0, ten, offsets, at(out, f32, (2,))), INVALID_ARGUMENT,
                                    ("2 elements", "3 segments")),
                "segments beyond": (lambda: c.segmented_reduce(context, 0, ten, at(numbers, i64, (4,), (4,)), at(out, f32, (3,))),
                                    INVALID_ARGUMENT, ("0 and 12 of 10",)),
                "segments backwards": (lambda: c.segmented_scan(context, 0, False, ten, at(backwards, i64, (2,)), at(out, f32, (10,)), None),
                                       INVALID_ARGUMENT, ("5 and 3 of 10",)),
                "segments before": (lambda: c.segmented_reduce(context, 0, ten, at(backwards, i64, (2,), (1,), 2), column), INVALID_ARGUMENT,
                                    ("4 elements", "1 segments")),
                "a negative end": (lambda: c.segmented_reduce(context, 0, ten, at(backwards, i64, (2,), (2,), 1), at(out, f32, (1,))),
                                   INVALID_ARGUMENT, ("3 and -1",)),
                "segments in i32": (lambda: c.segmented_reduce(context, 0, at(numbers, DTYPES["i32"], (10,)), offsets,
                                                               at(out, DTYPES["i32"], (3,))), INVALID_ARGUMENT, ("i32", "i64")),
                "totals among the elements": (lambda: c.segmented_reduce(context, 0, at(out, f32, (10,)), offsets, at(out, f32, (3,), None, 2)),
                                              OVERLAP, ("overlap",)),
                "totals among the offsets": (lambda: c.segmented_reduce(context, 0, at(some, i64, (10,)), at(out, i64, (4,)),
                                                                        at(out, i64, (3,))), INVALID_ARGUMENT, ("segments lie",)),
                "fewer results than elements": (lambda: c.segmented_scan(context, 0, False, ten, offsets, at(out, f32, (9,)), None),
                                                INVALID_ARGUMENT, ("9 elements", "10")),
                "keys without values": (lambda: c.reduce_by_key(context, 0, at(numbers, i64, (9,)), ten, at(out, i64, (9,)),
                                                                at(out, f32, (9,), None, 20), place), INVALID_ARGUMENT, ("9 keys", "10 values")),
                "keys of another type": (lambda: c.reduce_by_key(context, 0, at(numbers, i64, (10,)), ten, at(out, u64, (10,)),
                                                                 at(out, f32, (10,), None, 20), place), INVALID_ARGUMENT, ("u64", "i64")),
                "totals of another type": (lambda: c.reduce_by_key(context, 0, at(numbers, i64, (10,)), ten, at(out, i64, (10,)),
                                                                   at(out, i64, (10,), None, 20), place), INVALID_ARGUMENT, ("i64", "f32")),
                "too little room": (lambda: c.reduce_by_key(context, 0, at(numbers, i64, (10,)), ten, at(out, i64, (9,)),
                                                            at(out, f32, (10,), None, 20), place), INVALID_ARGUMENT,
                                    ("10 runs", "room for 9")),
                "keys among totals": (lambda: c.reduce_by_key(context, 0, at(numbers, i64, (10,)), ten, at(out, i64, (10,)),
                                                              at(out, f32, (10,), None, 9), place), OVERLAP, ("overlap",)),
                "no number of runs": (lambda: c.reduce_by_key(context, 0, at(numbers, i64, (10,)), ten, at(out, i64, (10,)),
                                                              at(out, f32, (10,), None, 20), None), INVALID_ARGUMENT, ("null pointer",)),
                "a scan onto its keys": (lambda: c.scan_by_key(context, 0, False, at(out, i64, (10,)), ten, at(out, f32, (10,)), None),
                                         OVERLAP, ("overlap",)),
                "a scan of fewer values": (lambda: c.scan_by_key(context, 0, False, at(numbers, i64, (9,)), ten, at(out, f32, (10,)), None),
                                           INVALID_ARGUMENT, ("9 keys", "10 values")),
                "a scan of other keys": (lambda: c.scan_by_key(context, 0, False, at(numbers, i64, (10,)), ten, at(out, f32, (11,)), None),
                                         INVALID_ARGUMENT, ("11 elements",)),
                "lengths of i32": (lambda: c.run_length_encode(context, ten, at(out, f32, (10,)), at(out, DTYPES["i32"], (10,), None, 20), place),
                                   INVALID_ARGUMENT, ("lengths are of type i32",)),
                "room for fewer runs": (lambda: c.run_length_encode(context, at(numbers, i64, (10,)), at(out, i64, (10,)),
                                                                    at(out, i64, (4,), None, 20), place), INVALID_ARGUMENT,
                                        ("10 runs", "room for 4")),
                "values of another type": (lambda: c.run_length_encode(context, ten, at(out, i64, (10,)), at(out, i64, (10,), None, 20), place),
                                           INVALID_ARGUMENT, ("i64", "f32")),
                "runs onto themselves": (lambda: c.run_length_encode(context, at(out, i64, (10,)), at(out, i64, (10,)),
                                                                     at(out, i64, (10,), None, 20), place), OVERLAP, ("overlap",)),
                "no place for runs": (lambda: c.run_length_encode(context, ten, at(out, f32, (10,)), at(out, i64, (10,), None, 20), None),
                                      INVALID_ARGUMENT, ("null pointer",)),
                "too many elements": (lambda: c.run_length_decode(context, ten, at(numbers, i64, (10,)), at(out, f32, (44,))),
                                      INVALID_ARGUMENT, ("45 elements", "44")),
                "a negative length": (lambda: c.run_length_decode(context, at(some, f32, (4,)), at(backwards, i64, (4,)), at(out, f32, (60,))),
                                      INVALID_ARGUMENT, ("none of which is negative",)),
                "a length without a value": (lambda: c.run_length_decode(context, ten, at(numbers, i64, (9,)), at(out, f32, (60,))),
                                             INVALID_ARGUMENT, ("10 values", "9 lengths")),
                "lengths of f32": (lambda: c.run_length_decode(context, ten, ten, at(out, f32, (60,))), INVALID_ARGUMENT, ("type f32",)),
                "decoded to another type": (lambda: c.run_length_decode(context, ten, at(numbers, i64, (10,)), at(out, i64, (50,))),
                                            INVALID_ARGUMENT, ("i64", "f32")),
            }
            for what, (call, expected, words) in calls.items():
                refused(lib, what, call(), expected, out, *words)
                with case():
                    require(some.untouched() and runs.value == 0xA5A5 and np.array_equal(numbers.array, np.arange(64)),
                            f"{lib.isa} {what}: wrote something")
            with case():  # seven dimensions beside the axis
                require(c.reduce_axis(context, 0, wide, 3, at(sums, f32, (2,) * 7)) == OK, f"8 dimensions: {lib.message()}")


CHECKS = (axes, large_axes, converted_axes, empty_axes, means, variances_of_lines, images, segments, checks_of_offsets, by_key, run_lengths, refusals)


if __name__ == "__main__":
    sys.exit(run(__doc__, CHECKS))
