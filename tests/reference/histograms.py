# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Compares libupsweep's histograms with the definitions of docs/histogram.md, written a second time, and with numpy.histogram.

    python3 histograms.py build/lib/libupsweep.so [--seed N] [--only REGEX]

Samples are adversarial: on every edge, one unit in the last place beside it, far outside, infinite, NaN; the ranges are such
that edges are no round numbers, collapse when rounded, or overflow. The inputs are new in every run.
"""
import ctypes
import math
import sys
import warnings

import numpy as np

import samples
from checks import case, refused, require, run
from fold_order import FLOATS, STORAGE, convert
from library import DTYPES, INVALID_ARGUMENT, OK, UNSUPPORTED, Guarded, Outside, cpu, line

THREADS = (1, 2, 3, 8)


# --- the definitions, a second time -----------------------------------------------------------------------------------------

def comparable(x, dtype, edges_given):
    """Samples as the type in which they are compared with edges."""
    return convert(x, dtype, "f32") if dtype in ("f16", "bf16", "f32") and not edges_given else convert(x, dtype, "f64")


def count_between(edges, x):
    """Bin k is edges[k] <= x < edges[k + 1], the last one closed. Returns counts, below, above, nan."""
    bins = len(edges) - 1
    below, above, nan = x < edges[0], x > edges[-1], np.isnan(x)
    inside = x[~(below | above | nan)]
    k = np.searchsorted(edges, inside, side="right") - 1
    k[inside == edges[-1]] = bins - 1
    return np.bincount(k, minlength=bins).astype(np.uint64), int(below.sum()), int(above.sum()), int(nan.sum())


def even_edges(dtype, lo, hi, bins):
    edges = np.linspace(lo, hi, bins + 1)
    with np.errstate(over="ignore"):
        return edges.astype(np.float32) if dtype in ("f16", "bf16", "f32") else edges


# --- samples and ranges -----------------------------------------------------------------------------------------------

def at(numbers, dtype):
    """Numbers as samples of the type: the nearest one, and its neighbours."""
    if dtype == "bool":
        return np.array([False, True])
    if dtype in FLOATS:
        with np.errstate(over="ignore"):
            x = convert(np.asarray(numbers, np.float64), "f64", dtype)
        bits = x.view(f"u{x.dtype.itemsize}")
        return np.concatenate([bits, bits + bits.dtype.type(1), bits - bits.dtype.type(1)]).view(x.dtype)
    limits = np.iinfo(STORAGE[dtype])
    x = np.clip(np.nan_to_num(numbers), max(limits.min, -2.0 ** 62), min(limits.max, 2.0 ** 62)).astype(STORAGE[dtype])
    return np.concatenate([x, x + STORAGE[dtype](1), x - STORAGE[dtype](1)])


def adversarial(rng, dtype, edges, n):
    """Samples on and beside the edges, all over the range, anywhere, and special ones; n in all."""
    lo, hi = float(edges[0]), float(edges[-1])
    with np.errstate(all="ignore"):
        spread = lo + (hi - lo) * rng.uniform(-0.1, 1.1, n)
    some = rng.choice(np.asarray(edges, np.float64), min(n, 1000))
    special = np.array([0.0, -0.0, 1e-310, np.inf, -np.inf, np.nan, lo, hi])
    pool = np.concatenate([at(spread, dtype)[:n], at(some, dtype), at(special, dtype), samples.raw(rng, dtype, 100)])
    return rng.permutation(np.resize(pool, n + len(pool)))[:n]


def ranges(rng, dtype):
    """(lo, hi, bins): plain ones, ones whose edges are no round numbers, and ones that try the arithmetic."""
    yield 0.0, 1.0, 1
    yield 0.0, 1.0, 10
    yield -0.1, 0.7, 7
    yield -1.0, 1.0, 256
    yield 1e6, 1e6 + 1, 100          # the edges of f32 collapse
    yield -3e38, 3e38, 31            # hi - lo overflows f32
    yield -8e307, 8e307, 100
    yield -1e300, 1e300, 10          # all inner edges of f32 but one are infinite
    yield 0.0, 1e-310, 10            # denormal
    yield 0.0, 3e-40, 10             # denormal in f32
    yield -2e-38, 3e-38, 1000
    yield 0.0, 1.0, 1 << 20
    yield -5.0, 250.0, 300
    yield 0.0, 256.0, 256
    yield -2.0 ** 63, 2.0 ** 64, 1000
    for _ in range(6):
        middle, width = rng.normal() * 10.0 ** rng.uniform(-6, 6), 10.0 ** rng.uniform(-6, 6)
        yield middle - width, middle + width, int(10 ** rng.uniform(0, 4.5))
    if dtype not in FLOATS and dtype != "bool":
        limits = np.iinfo(STORAGE[dtype])
        yield float(limits.min), float(limits.max), 77


# --- the checks -------------------------------------------------------------------------------------------------------

class Counters:
    """Counts and outside counts that are not zero before the call: the library adds to them."""

    def __init__(self, rng, bins):
        self.before = rng.integers(0, 1 << 40, bins + 3).astype(np.uint64)
        self.counts = Guarded.of("u64", self.before[:bins])
        self.outside = Outside(*self.before[bins:].tolist())

    def added(self):
        outside = [self.outside.below, self.outside.above, self.outside.nan]
        return np.concatenate([self.counts.array, np.array(outside, np.uint64)]) - self.before


@case()
def check(lib, rng, x, dtype, threads, expected, what, even=None, edges=None, on=cpu):
    bins = len(expected[0])
    source, counters = Guarded.of(dtype, x, rng.integers(64)), Counters(rng, bins)
    arguments = on(threads), DTYPES[dtype], source.pointer, len(x)
    if even:
        status = lib.histogram_even(*arguments, *even, counters.counts.pointer, ctypes.byref(counters.outside))
    else:
        status = lib.histogram_edges(*arguments, edges.ctypes.data, len(edges), counters.counts.pointer,
                                     ctypes.byref(counters.outside))
    what = f"{lib.isa} {what} of {len(x)} {dtype}, {threads} threads"
    require(status == OK, f"{what}: {lib.message()}")
    expected = np.concatenate([expected[0], np.array(expected[1:], np.uint64)])
    added = counters.added()
    wrong = np.flatnonzero(added != expected)
    require(len(wrong) == 0, f"{what}: {len(wrong)} counts differ, first of {[*wrong[:1]]}: "
            f"{added[wrong[:4]]}, expected {expected[wrong[:4]]} (bins from {bins} on: below, above, NaN)")
    require(added.sum() == len(x) and counters.counts.untouched_around(), f"{what}: wrote beside its counters")


def even_bins(libs, rng):
    """Every type, every range, adversarial samples, sizes around blocks and pieces."""
    for dtype in STORAGE:
        for lo, hi, bins in ranges(rng, dtype):
            edges = even_edges(dtype, lo, hi, bins)
            n = int(rng.choice([0, 1, 255, 256, 257, 1000, 5000, 5000, 5000, 30000]))
            x = adversarial(rng, dtype, edges, n)
            expected = count_between(edges, comparable(x, dtype, False))
            for lib in libs:
                check(lib, rng, x, dtype, int(rng.choice(THREADS)), expected, f"even bins ({lo}, {hi}, {bins})",
                      even=(lo, hi, bins))


def distributions(libs, rng):
    """Long arrays, uniform, constant, skewed and sorted, every number of threads, few bins and 2^20."""
    n = (1 << 20) + int(rng.integers(1 << 10))
    uniform = rng.random(n)
    shapes = {"uniform": uniform, "constant": np.full(n, 0.3), "skewed": uniform ** 8, "sorted": np.sort(uniform)}
    for dtype in ("f32", "f64", "f16", "bf16", "u8", "i32"):
        for bins in (1, 256, 2000, 1 << 20):
            name = str(rng.choice(list(shapes)))
            scale = 1.0 if dtype in FLOATS else 250.0
            x = convert(shapes[name] * scale, "f64", dtype)
            expected = count_between(even_edges(dtype, 0, scale, bins), comparable(x, dtype, False))
            for lib in libs:
                for threads in THREADS:
                    check(lib, rng, x, dtype, threads, expected, f"{name}, {bins} bins", even=(0.0, scale, bins))


def numpy_agrees(libs, rng):
    """For the types that it knows and ranges that it masters, numpy.histogram counts the same."""
    for dtype in STORAGE:
        if dtype in ("bool", "f16", "bf16"):  # NumPy has no bf16, and rounds the edges of f16 more coarsely
            continue
        for lo, hi, bins in [(0.0, 1.0, 10), (-1.0, 1.0, 256), (-5.0, 250.0, 300), (-0.1, 0.7, 7), (0.0, 100.0, 4000)]:
            edges = even_edges(dtype, lo, hi, bins)
            x = adversarial(rng, dtype, edges, 20000)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                counts = np.histogram(x, bins, (lo, hi))[0].astype(np.uint64)
            y = comparable(x, dtype, False)
            outside = int((y < edges[0]).sum()), int((y > edges[-1]).sum()), int(np.isnan(y).sum())
            for lib in libs:
                check(lib, rng, x, dtype, 2, (counts, *outside), f"numpy.histogram ({lo}, {hi}, {bins})",
                      even=(lo, hi, bins))


def given_edges(libs, rng):
    """Edges of the user: random, infinite at the ends, closer than the samples' type can tell."""
    for dtype in STORAGE:
        for kind in ("random", "infinite", "close", "two", "many"):
            count = {"two": 2, "many": 70000}.get(kind, int(rng.integers(3, 100)))
            edges = np.unique(rng.normal(size=count) * 10.0 ** rng.uniform(-2, 4))
            if kind == "infinite":
                edges[0], edges[-1] = -np.inf, np.inf
            elif kind == "close":
                edges = 1.0 + np.arange(50) * 2.0 ** -40
            x = adversarial(rng, dtype, np.clip(edges, -1e30, 1e30), int(rng.choice([1, 300, 5000])))
            expected = count_between(edges, comparable(x, dtype, True))
            for lib in libs:
                check(lib, rng, x, dtype, int(rng.choice(THREADS)), expected, f"{kind} edges", edges=edges)


@case()
def check_counter(lib, target, x, dtype, pieces, expected, what, even=None, edges=None):
    """Fed in pieces, with the counts of all samples so far after the middle one and the last. A result does not add."""
    counter, source = ctypes.c_void_p(), Guarded.of(dtype, x)
    status = (lib.counter_create_even(target, DTYPES[dtype], *even, ctypes.byref(counter)) if even else
              lib.counter_create_edges(target, DTYPES[dtype], edges.ctypes.data, len(edges), ctypes.byref(counter)))
    require(status == OK, f"{what}: {lib.message()}")
    counts, outside = Guarded("u64", len(expected(0)[0])), Outside()
    for k, (begin, end) in enumerate(pieces):
        status = lib.counter_feed(counter, source.pointer + int(begin) * source.array.itemsize, int(end - begin))
        require(status == OK, f"{what}: {lib.message()}")
        if k in (len(pieces) // 2, len(pieces) - 1):
            counts.poison()
            status = lib.counter_result(counter, counts.pointer, ctypes.byref(outside))
            require(status == OK, f"{what}: {lib.message()}")
            counted, *beside = expected(end)
            require(np.array_equal(counts.array, counted) and [outside.below, outside.above, outside.nan] == beside and
                    counts.untouched_around(), f"{what} of {len(x)} {dtype}: wrong counts after {end} samples")
    lib.counter_destroy(counter)


def counters(libs, rng):
    """Samples in pieces of any size, some of them empty."""
    for dtype in STORAGE:
        x = adversarial(rng, dtype, even_edges(dtype, -5, 250, 300), 20000)
        ends = np.sort(np.append(rng.integers(0, len(x), 5), [0, len(x)]))
        edges = np.array([-1, 0, 0.1, 2, 77])
        for lib in libs:
            check_counter(lib, cpu(2), x, dtype, list(zip([0, *ends], ends)),
                          lambda n: count_between(even_edges(dtype, -5, 250, 300), comparable(x[:n], dtype, False)),
                          "even bins", even=(-5, 250, 300))
            check_counter(lib, cpu(2), x, dtype, list(zip([0, *ends], ends)),
                          lambda n: count_between(edges, comparable(x[:n], dtype, True)), "edges", edges=edges)


def pieces(libs, rng):
    """An array in pieces adds up to what it gives in one."""
    x = adversarial(rng, "f32", even_edges("f32", -1, 1, 50), 20000)
    expected = count_between(even_edges("f32", -1, 1, 50), comparable(x, "f32", False))
    for lib in libs:
        with case():
            counts, outside = np.zeros(50, np.uint64), Outside()
            for piece in np.split(x, np.sort(rng.integers(0, len(x), 10))):
                status = lib.histogram_even(cpu(2), DTYPES["f32"], np.ascontiguousarray(piece).ctypes.data, len(piece),
                                            -1.0, 1.0, 50, counts.ctypes.data, ctypes.byref(outside))
                require(status == OK, f"{lib.isa} pieces: {lib.message()}")
            require(np.array_equal(counts, expected[0]) and (outside.below, outside.above, outside.nan) == expected[1:],
                    f"{lib.isa}: the counts of pieces do not add up")


def letters(libs, rng, on=cpu):
    """Letters of a text in groups, either case; all other bytes apart."""
    text = np.frombuffer(rng.bytes(100000), np.uint8)
    lower = text | 0x20
    is_letter = (lower >= ord("a")) & (lower <= ord("z"))
    for group in (1, 4, 5, 13, 25, 26):
        groups = -(-26 // group)
        expected = np.bincount((lower[is_letter] - ord("a")) // group, minlength=groups).astype(np.uint64)
        for lib in libs:
            with case():
                counts, others = Guarded.of("u64", np.full(groups, 5, np.uint64)), Outside(7, 8, 9)
                status = lib.histogram_letters(on(int(rng.choice(THREADS))), text.ctypes.data, len(text), group,
                                               counts.pointer, ctypes.byref(others))
                require(status == OK, f"{lib.isa} letters: {lib.message()}")
                require(np.array_equal(counts.array, expected + np.uint64(5)) and counts.untouched_around() and
                        (others.below, others.above, others.nan) == (7 + np.count_nonzero(~is_letter), 8, 9),
                        f"{lib.isa}: wrong letters in groups of {group}")
                counter, counts, outside = ctypes.c_void_p(), Guarded("u64", groups), Outside()
                status = lib.counter_create_letters(on(2), group, ctypes.byref(counter))
                require(status == OK, f"{lib.isa} letters: {lib.message()}")
                middle = int(rng.integers(len(text)))
                for piece in (text[:middle], text[middle:]):
                    require(lib.counter_feed(counter, piece.ctypes.data, len(piece)) == OK, lib.message())
                require(lib.counter_result(counter, counts.pointer, ctypes.byref(outside)) == OK, lib.message())
                require(np.array_equal(counts.array, expected) and counts.untouched_around() and
                        [outside.below, outside.above, outside.nan] == [np.count_nonzero(~is_letter), 0, 0],
                        f"{lib.isa}: wrong letters in groups of {group} from a counter")
                lib.counter_destroy(counter)


def sum_dtype(weights):
    """The type in which weights are summed."""
    if weights in FLOATS:
        return "f64" if weights == "f64" else "f32"
    return "u64" if weights.startswith("u") else "i64"


def weights(libs, rng):
    """Each sum is that of the real numbers, rounded once, or exact modulo 2^64. Bins are those of the counts."""
    for dtype in DTYPES:
        of_weights = str(rng.choice(list(DTYPES)))
        n = int(rng.integers(0, 3000))
        x = samples.near(rng, dtype, n, -4, 9) if dtype in FLOATS else samples.raw(rng, dtype, n)
        w = samples.mixed(rng, of_weights, n) if of_weights in FLOATS else samples.raw(rng, of_weights, n)
        sums = sum_dtype(of_weights)
        wide = convert(w, of_weights, "f64" if sums.startswith("f") else sums)
        edges = np.array([-3.0, -0.5, 0.0, 1.75, 90.0])
        values = comparable(x, dtype, True)
        where = np.searchsorted(edges, values, side="right")
        where[values == edges[-1]] = len(edges) - 1
        where[np.isnan(values)] = len(edges) + 1
        groups = [wide[where == k] for k in range(len(edges) + 2)]
        with np.errstate(all="ignore"):
            want = [np.array(exact_sum(group), wide.dtype).astype(STORAGE[sums]) for group in groups]
        for lib in libs:
            for on in (cpu(1), cpu(3)):
                out, beside = Guarded(sums, len(edges) - 1), Guarded(sums, 3)
                array_of = lambda guarded: line(guarded.pointer, DTYPES[sums], len(guarded.array))
                status = lib.c.weighted_histogram_edges(
                    lib.context(on)[1], line(x.ctypes.data, DTYPES[dtype], n), line(w.ctypes.data, DTYPES[of_weights], n),
                    edges.ctypes.data, len(edges), array_of(out), array_of(beside))
                with case():
                    what = f"{lib.isa}, {on}: weights of {of_weights} in bins of {dtype}"
                    require(status == OK, f"{what}: {lib.message()}")
                    require(np.array_equal(out.array, want[1:-2], equal_nan=True), f"{what}: {out.array}, not {want[1:-2]}")
                    others = [want[0], want[-2], want[-1]]
                    require(np.array_equal(beside.array, others, equal_nan=True), f"{what}: {beside.array}, not {others}")


def exact_sum(numbers):
    if numbers.dtype.kind != "f":
        return numbers.sum(dtype=numbers.dtype)
    if not np.isfinite(numbers).all():
        return numbers[~np.isfinite(numbers)].sum()
    try:
        return math.fsum(numbers.tolist())
    except OverflowError:  # only on the way: halves of them do not
        return 2 * math.fsum((numbers / 2).tolist())


def refusals_of_weights(libs, rng):
    """Nothing is written where arrays do not agree."""
    x, w = np.zeros(10, np.float32), np.ones(10, np.float64)
    for lib in libs:
        def refuse(what, weight_count, sums, beside_count, *words, edges=(0.0, 1.0, 2.0)):
            out, beside, edges = Guarded(sums, 2), Guarded(sums, 3), np.array(edges)
            status = lib.c.weighted_histogram_edges(
                lib.context(cpu(1))[1], line(x.ctypes.data, DTYPES["f32"], 10), line(w.ctypes.data, DTYPES["f64"], weight_count),
                edges.ctypes.data, len(edges), line(out.pointer, DTYPES[sums], 2), line(beside.pointer, DTYPES[sums], beside_count))
            refused(lib, what, status, INVALID_ARGUMENT, out, *words)
            refused(lib, what, status, INVALID_ARGUMENT, beside, *words)

        refuse("too few weights", 9, "f64", 3, "9 weights for 10 samples")
        refuse("sums of another type", 10, "f32", 3, "f32", "f64")
        refuse("no room for what is outside", 10, "f64", 2, "three elements")
        refuse("edges that descend", 10, "f64", 3, "ascending", edges=(0.0, 2.0, 1.0))


def refusals_of_counters(libs, rng, on=cpu):
    """What is no counter, or null, gets a message; what a failed call would create or write is left as it was."""
    f32, x, edges = DTYPES["f32"], np.zeros(10, np.float32), np.array([0, 1, 1], np.float64)
    for lib in libs:
        created, out, outside = ctypes.c_void_p(0xA5A5), Guarded("u64", 4), Outside(1, 2, 3)
        place, counts, beside = ctypes.byref(created), out.pointer, ctypes.byref(outside)
        for call, word in [
                (lambda: lib.counter_create_even(on(1), f32, 0, 1, 0, place), "no bins"),
                (lambda: lib.counter_create_even(on(1), f32, 1, 1, 4, place), "range"),
                (lambda: lib.counter_create_even(on(1), 99, 0, 1, 4, place), "99"),
                (lambda: lib.counter_create_even(on(-1), f32, 0, 1, 4, place), "threads"),
                (lambda: lib.counter_create_even(on(1), f32, 0, 1, 4, None), "null"),
                (lambda: lib.counter_create_edges(on(1), f32, edges.ctypes.data, 3, place), "ascending"),
                (lambda: lib.counter_create_edges(on(1), f32, None, 3, place), "null"),
                (lambda: lib.counter_create_edges(on(1), f32, edges.ctypes.data, 2, None), "null"),
                (lambda: lib.counter_create_letters(on(1), 27, place), "1 to 26"),
                (lambda: lib.counter_create_letters(on(1), 4, None), "null"),
                (lambda: lib.counter_feed(None, x.ctypes.data, 10), "null"),
                (lambda: lib.counter_result(None, counts, beside), "null")]:
            refused(lib, "a counter", call(), UNSUPPORTED if word == "99" else INVALID_ARGUMENT, out, word)
            with case():
                require(created.value == 0xA5A5, f"{lib.isa}: a failed call created a counter")
        lib.counter_destroy(None)
        counter = ctypes.c_void_p()
        with case():
            require(lib.counter_create_even(on(1), f32, 0, 1, 4, ctypes.byref(counter)) == OK, lib.message())
        refused(lib, "no samples", lib.counter_feed(counter, None, 10), INVALID_ARGUMENT, out, "null")
        refused(lib, "no counts", lib.counter_result(counter, None, beside), INVALID_ARGUMENT, out, "null")
        refused(lib, "nothing beside", lib.counter_result(counter, counts, None), INVALID_ARGUMENT, out, "null")
        with case():
            require((outside.below, outside.above, outside.nan) == (1, 2, 3), f"{lib.isa}: a failed call wrote counts")
            require(lib.counter_feed(counter, None, 0) == OK, lib.message())
            require(lib.counter_result(counter, counts, beside) == OK, lib.message())
            require(not out.array.any() and (outside.below, outside.above, outside.nan) == (0, 0, 0),
                    f"{lib.isa}: no samples were counted")
        lib.counter_destroy(counter)


def refusals(libs, rng):
    """Bins that are none get a message, and no counter is touched."""
    x = np.zeros(10, np.float32)
    nan, inf = np.nan, np.inf
    for lib in libs:
        def even(lo, hi, bins, *words):
            out, outside = Guarded("u64", 100), Outside(1, 2, 3)
            status = lib.histogram_even(cpu(1), DTYPES["f32"], x.ctypes.data, 10, lo, hi, bins, out.pointer,
                                        ctypes.byref(outside))
            refused(lib, f"even bins ({lo}, {hi}, {bins})", status, INVALID_ARGUMENT, out, *words)
            with case():
                require((outside.below, outside.above, outside.nan) == (1, 2, 3),
                        f"{lib.isa}: counted in spite of {words}")

        def edges(values, *words):
            out, outside, array = Guarded("u64", 100), Outside(), np.array(values, np.float64)
            status = lib.histogram_edges(cpu(1), DTYPES["f32"], x.ctypes.data, 10, array.ctypes.data, len(array),
                                         out.pointer, ctypes.byref(outside))
            refused(lib, f"edges {values}", status, INVALID_ARGUMENT, out, *words)

        even(0, 1, 0, "no bins", "at least one")
        even(1, 1, 10, "lo", "hi", "range")
        even(2, 1, 10, "lo", "hi", "range")
        even(nan, 1, 10, "nan")
        even(0, nan, 10, "nan")
        even(0, inf, 10, "finite")
        even(-inf, 0, 10, "finite")
        even(-1.7e308, 1.7e308, 10, "finite")
        even(0, 1, 1 << 62, "memory")
        edges([], "two edges")
        edges([1.0], "two edges")
        edges([1.0, 1.0], "ascending", "edge 1")
        edges([0.0, 2.0, 1.0], "ascending", "edge 2")
        edges([0.0, nan, 1.0], "NaN", "edge 1")
        for group in (0, 27):
            out, others = Guarded("u64", 100), Outside()
            refused(lib, f"groups of {group} letters", lib.histogram_letters(
                cpu(1), x.ctypes.data, 10, group, out.pointer, ctypes.byref(others)), INVALID_ARGUMENT, out, "1 to 26")


if __name__ == "__main__":
    sys.exit(run(__doc__, (even_bins, distributions, numpy_agrees, given_edges, counters, pieces, letters,
                                weights, refusals_of_weights, refusals_of_counters, refusals)))
