# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Compares the bits of libupsweep's folds with those of fold_order.py, the independent reference.

    python3 bits.py build/lib/libupsweep.so [--seed N] [--only REGEX] [--types REGEX]

Every library given, and the variants for newer instruction sets beside it, meet the same inputs. The inputs are new in
every run; a failure names the seed that replays it. NaN has one pattern of bits in results.
"""
import ctypes
import sys

import numpy as np

import samples
from checks import Mismatch, case, refused, require, run, takes
from fold_order import (COMBINE, FLOATS, OPS, STORAGE, convert, fold, folds, identity, reduce, reduce_dtype, scan,
                        supported)
from library import DTYPES, INVALID_ARGUMENT, OK, OP_NUMBERS, OVERLAP, UNSUPPORTED, Guarded, cpu, line

SMALL = 5000
THREADS = (1, 2, 3, 8)
BORDERS = sorted({(1 << k) + d for k in range(6, 23) for d in (-1, 0, 1)})
THOROUGH = [("plus", dtype) for dtype in ("i32", "f16", "f32", "f64")]


def every_fold():
    """The operators and types of checks of every fold."""
    return [(op, dtype) for dtype in STORAGE if takes(dtype) for op in OPS if supported(op, dtype)]


def same_bits(got, expected, dtype, what):
    """Raises Mismatch at the first element whose bits differ."""
    unsigned = f"u{got.dtype.itemsize}"
    got_bits, expected_bits = got.view(unsigned), expected.view(unsigned)
    if np.array_equal(got_bits, expected_bits):
        return
    got, expected = (convert(a, dtype, "f32") if dtype == "bf16" else a for a in (got, expected))
    wrong = np.flatnonzero(got_bits != expected_bits)
    i = wrong[0]
    raise Mismatch(f"{what}: {len(wrong)} of {len(got)} differ, first at {i}: "
                   f"{got[i]!r} ({got_bits[i]:#x}), expected {expected[i]!r} ({expected_bits[i]:#x})")


class Inputs:
    """One array at several distances from a 64-byte border."""

    def __init__(self, rng, dtype, values):
        self.copies = [Guarded.of(dtype, values, offset) for offset in rng.integers(0, 64, 5)]

    def __getitem__(self, i):
        return self.copies[i % len(self.copies)].pointer


def inputs_of(rng, op, dtype, n, every_recipe=False):
    """(name, values) of one recipe chosen at random, or of each."""
    kinds = samples.recipes(op, dtype)
    for name in kinds if every_recipe else [rng.choice(list(kinds))]:
        yield name, kinds[name](rng, dtype, n)


# --- reduce ---------------------------------------------------------------------------------------------------------

@case()
def check_reduces(lib, rng, op, dtype, values, expected, sizes, threads, name):
    """Reduces the first n values for every n of sizes; expected[n - 1] is the fold of n."""
    what = f"{lib.isa} {op} {dtype} {name}"
    result_dtype = reduce_dtype(op, dtype)
    source = Inputs(rng, dtype, values)
    results = np.full((len(sizes), 32), 0xA5, np.uint8)  # each result stands among bytes that must stay as they are
    base, call, size = results.ctypes.data + 8, lib.c.reduce, expected.itemsize
    op_number, contexts = OP_NUMBERS[op], [lib.context(cpu(t))[1] for t in threads]
    elements, result = line(0, DTYPES[dtype], 0), line(0, DTYPES[result_dtype], 1)
    for row, n in enumerate(sizes):
        elements.data, elements.shape[0], result.data = source[row], n, base + 32 * row
        if call(contexts[row % len(contexts)], op_number, elements, result) != OK:
            raise Mismatch(f"{what}: reduce of {n} failed: {lib.message()}")
    require(np.all(np.delete(results, np.s_[8:8 + size], axis=1) == 0xA5), f"{what}: reduce wrote beside its result")
    got = np.ascontiguousarray(results[:, 8:8 + size]).view(expected.dtype)[:, 0]
    same_bits(got, expected[np.array(sizes) - 1], result_dtype,
              f"{what}: reduces of {sizes[0]}, {sizes[1]}, ..., {sizes[-1]} with {threads} threads in turn")


def reduce_small(libs, rng):
    """Every type and operator, every size 1..5000, every kind of input."""
    for op, dtype in every_fold():
        for name, values in inputs_of(rng, op, dtype, SMALL, every_recipe=True):
            expected = reduce(values, op, dtype, folds)
            threads = rng.permutation(THREADS)
            for lib in libs:
                check_reduces(lib, rng, op, dtype, values, expected, range(1, SMALL + 1), threads, name)


def reduce_borders(libs, rng):
    """Every type and operator around powers of two, every number of threads: for some sums all of 2^6..2^22 and their
    neighbours, for every other fold all to 2^15 and some of the others."""
    for op, dtype in every_fold():
        sizes = BORDERS
        if (op, dtype) not in THOROUGH:
            sizes = [n for n in BORDERS if n <= 1 << 15] + sorted(
                int(n) for n in rng.choice([n for n in BORDERS if 1 << 15 < n < 1 << 21], 6, replace=False))
        for name, values in inputs_of(rng, op, dtype, sizes[-1]):
            expected = reduce(values, op, dtype, folds)
            threads = rng.permutation(THREADS)
            for lib in libs:
                check_reduces(lib, rng, op, dtype, values, expected, sizes, threads, name)


def reduce_large(libs, rng):
    """Sizes to 10^7 at random, each with every number of threads."""
    for op, dtype in [("plus", "f32"), ("plus", "f64")] + rng.permutation(every_fold())[:10].tolist():
        for name, values in inputs_of(rng, op, dtype, int(10 ** rng.uniform(5, 7))):
            expected = reduce(values, op, dtype, folds)
            sizes = [int(n) for n in [*rng.integers(1, len(values), 3), len(values)] for _ in THREADS]
            for lib in libs:
                check_reduces(lib, rng, op, dtype, values, expected, sizes, THREADS, name)


# --- scan -----------------------------------------------------------------------------------------------------------

class ScanCase:
    """One way to scan one array: what is expected, and the check of a library against it."""

    def __init__(self, rng, op, dtype, values, name, out_dtype=None, exclusive=False, with_init=False):
        self.op, self.dtype, self.out_dtype = op, dtype, out_dtype or dtype
        self.exclusive, self.values = exclusive, values
        self.init = samples.raw(rng, self.out_dtype, 1) if with_init else None
        self.expected = scan(values, op, dtype, self.out_dtype, exclusive, self.init)
        self.what = (f"{'exclusive' if exclusive else 'inclusive'} scan {op} {dtype}->{self.out_dtype} {name}"
                     f"{' init ' + repr(self.init[0]) if with_init else ''}")
        self.source = Guarded.of(dtype, values, rng.integers(64))
        self.out = Guarded(self.out_dtype, len(values), rng.integers(64))

    def init_pointer(self):
        return None if self.init is None else self.init.ctypes.data

    @case()
    def check(self, lib, n, target, in_place=False):
        if in_place:
            self.out.array[:n] = self.values[:n]
        else:
            self.out.poison()
        status = lib.scan(target, OP_NUMBERS[self.op], self.exclusive, DTYPES[self.dtype],
                          self.out.pointer if in_place else self.source.pointer, DTYPES[self.out_dtype],
                          self.out.pointer, n, self.init_pointer())
        what = f"{lib.isa} {self.what} of {n}, {target}{', in place' if in_place else ''}"
        require(status == OK, f"{what}: {lib.message()}")
        same_bits(self.out.array[:n], self.expected[:n], self.out_dtype, what)
        behind = self.out.array[n:n + 64].view(np.uint8) if not in_place else np.array([0xA5])
        require(self.out.untouched_around() and np.all(behind == 0xA5), f"{what}: wrote beside its output")


def scan_cases(rng, op, dtype, n):
    """Inclusive and exclusive, with and without init, each of another kind of input."""
    kinds = samples.recipes(op, dtype)
    names = np.resize(rng.permutation(list(kinds)), 4)
    for name, (exclusive, with_init) in zip(names, ((False, False), (True, False), (False, True), (True, True))):
        yield ScanCase(rng, op, dtype, kinds[name](rng, dtype, n), name, None, exclusive, with_init)


def scan_small(libs, rng):
    """Every type and operator; for the floating types and for sums every size 0..1100 and a thousand to 5000, which are others
    in every run, some of them for the rest."""
    for op, dtype in every_fold():
        sizes = np.concatenate([np.arange(1100), rng.integers(1100, SMALL, 1000), [SMALL]])
        if dtype not in FLOATS and op != "plus":
            sizes = np.concatenate([np.arange(130), rng.integers(130, SMALL, 100), [SMALL]])
        for scanned in scan_cases(rng, op, dtype, SMALL):
            step = 1 if scanned.init is None else 7
            for lib in libs:
                for n in sizes[::step].tolist():
                    scanned.check(lib, n, cpu(THREADS[n // 2 % 4]), in_place=n // 8 % 2 == 1)


def scan_borders(libs, rng):
    """The four ways to scan take turns around powers of two: all of them for some sums, a few for every other fold."""
    for op, dtype in every_fold():
        sizes = BORDERS if (op, dtype) in THOROUGH else rng.choice([n for n in BORDERS if SMALL < n < 1 << 20], 4).tolist()
        for number, scanned in enumerate(scan_cases(rng, op, dtype, max(sizes))):
            for lib in libs:
                for n in sizes[number::4]:
                    scanned.check(lib, n, cpu(int(rng.choice(THREADS))), in_place=bool(rng.integers(2)))


def scan_large(libs, rng):
    """Sizes to 10^7 at random, with every number of threads."""
    for op, dtype in [("plus", "f32")] + rng.permutation(every_fold())[:5].tolist():
        n = int(10 ** rng.uniform(5, 7))
        for scanned in list(scan_cases(rng, op, dtype, n))[rng.integers(4):][:1]:
            for lib in libs:
                for threads in THREADS:
                    scanned.check(lib, n, cpu(threads), in_place=bool(rng.integers(2)))


def scan_converting(libs, rng):
    """From every type to every type, with each operator that the two have; but not from floats to integers."""
    for op in OPS:
        for source in STORAGE:
            for target in STORAGE:
                if source == target or not supported(op, source) or not supported(op, target):
                    continue
                n, threads = int(rng.integers(1, 3000)), int(rng.choice(THREADS))
                name, values = next(inputs_of(rng, op, source, n))
                if source in FLOATS and target not in (*FLOATS, "bool"):
                    some, out = Guarded.of(source, values), Guarded(target, n)
                    for lib in libs:
                        refused(lib, f"scan {op} {source}->{target}", lib.scan(
                            cpu(threads), OP_NUMBERS[op], False, DTYPES[source], some.pointer, DTYPES[target], out.pointer,
                            n, None), UNSUPPORTED, out, source, target)
                    continue
                scanned = ScanCase(rng, op, source, values, name, target, bool(rng.integers(2)), bool(rng.integers(2)))
                for lib in libs:
                    scanned.check(lib, n, cpu(threads))
    n = (1 << 20) + int(rng.integers(1 << 18))  # longer than the pieces in which elements are converted
    for source, target in (("u8", "u64"), ("f16", "f32"), ("i32", "bf16")):
        scanned = ScanCase(rng, "plus", source, samples.raw(rng, source, n), "raw", target, bool(rng.integers(2)))
        for lib in libs:
            scanned.check(lib, n, cpu(int(rng.choice(THREADS))))


# --- pieces ---------------------------------------------------------------------------------------------------------

def cut(rng, n):
    """Random pieces of n elements, many of them small or empty, as (begin, end)."""
    ends = np.unique(np.concatenate([(n * rng.random(12) ** 3).astype(int), rng.integers(0, 40, 4).clip(max=n), [n]]))
    ends = np.sort(np.concatenate([ends, rng.choice(ends, 2)])).tolist()
    return list(zip([0, *ends[:-1]], ends))


@case()
def check_reducer(lib, op, dtype, source, expected, pieces, target):
    what = f"{lib.isa} reducer {op} {dtype}, {target}, pieces {pieces}"
    result_dtype, reducer = reduce_dtype(op, dtype), ctypes.c_void_p()
    status = lib.reducer_create(target, OP_NUMBERS[op], DTYPES[dtype], ctypes.byref(reducer))
    require(status == OK, f"{what}: {lib.message()}")
    for begin, end in pieces:
        status = lib.reducer_feed(reducer, source.pointer + begin * source.array.itemsize, end - begin)
        require(status == OK, f"{what}, at {begin}: {lib.message()}")
        if end > 0:
            result = Guarded(result_dtype, 1)
            require(lib.reducer_result(reducer, result.pointer) == OK, f"{what}, at {end}: {lib.message()}")
            require(result.untouched_around(), f"{what}: wrote beside its result")
            same_bits(result.array, expected[end - 1:end], result_dtype, f"{what}, at {end}")
    lib.reducer_destroy(reducer)


def reduce_pieces(libs, rng):
    """A reducer fed in pieces knows, after every piece, the fold of all elements so far."""
    for op, dtype in every_fold():
        for _, values in inputs_of(rng, op, dtype, int(10 ** rng.uniform(1, 5.5))):
            expected = reduce(values, op, dtype, folds)
            source = Guarded.of(dtype, values, rng.integers(64))
            pieces, threads = cut(rng, len(values)), int(rng.choice(THREADS))
            for lib in libs:
                check_reducer(lib, op, dtype, source, expected, pieces, cpu(threads))


@case()
def check_scanner(lib, scanned, pieces, target, in_place):
    what = f"{lib.isa} scanner, {scanned.what}, {target}{', in place' if in_place else ''}, pieces {pieces}"
    source, out, scanner = scanned.out if in_place else scanned.source, scanned.out, ctypes.c_void_p()
    if in_place:
        out.array[:] = scanned.values
    else:
        out.poison()
    status = lib.scanner_create(target, OP_NUMBERS[scanned.op], scanned.exclusive, DTYPES[scanned.dtype],
                                DTYPES[scanned.out_dtype], scanned.init_pointer(), ctypes.byref(scanner))
    require(status == OK, f"{what}: {lib.message()}")
    for begin, end in pieces:
        status = lib.scanner_feed(scanner, source.pointer + begin * source.array.itemsize,
                                  out.pointer + begin * out.array.itemsize, end - begin)
        require(status == OK, f"{what}, at {begin}: {lib.message()}")
    lib.scanner_destroy(scanner)
    same_bits(out.array, scanned.expected, scanned.out_dtype, what)
    require(out.untouched_around(), f"{what}: wrote beside its output")


def scan_pieces(libs, rng):
    """A scanner fed in pieces writes what a scan of the whole writes."""
    for op, dtype in every_fold():
        for scanned in list(scan_cases(rng, op, dtype, int(10 ** rng.uniform(1, 5.3))))[rng.integers(2)::2]:
            pieces, threads, in_place = cut(rng, len(scanned.values)), int(rng.choice(THREADS)), bool(rng.integers(2))
            for lib in libs:
                check_scanner(lib, scanned, pieces, cpu(threads), in_place)


# --- what is refused, and the reference itself ------------------------------------------------------------------------

def refusals(libs, rng):
    """What has no answer gets a status and a message, and nothing is written."""
    i32, one = DTYPES["i32"], cpu(1)
    for lib in libs:
        for dtype, number in DTYPES.items():
            some, out = Guarded.of(dtype, samples.raw(rng, dtype, 100)), Guarded(dtype, 100)
            for op in ("bit_and", "bit_or", "bit_xor") if dtype in FLOATS else ():
                arguments = one, OP_NUMBERS[op]
                refused(lib, f"type of reduce {op} {dtype}", lib.reduce_dtype(OP_NUMBERS[op], number, out.pointer),
                        UNSUPPORTED, out, op, dtype)
                refused(lib, f"reduce {op} {dtype}", lib.reduce(*arguments, number, some.pointer, 100, out.pointer),
                        UNSUPPORTED, out, op, dtype)
                refused(lib, f"scan {op} {dtype}", lib.scan(*arguments, False, number, some.pointer, number, out.pointer, 100,
                                                       None), UNSUPPORTED, out, op, dtype)
            for op in ("minimum", "maximum"):
                refused(lib, f"{op} of no {dtype}", lib.reduce(one, OP_NUMBERS[op], number, some.pointer, 0, out.pointer),
                        INVALID_ARGUMENT, out, op, "no elements")
        for bad in (-1, 13, 99):
            refused(lib, f"reduce of type {bad}", lib.reduce(one, 0, bad, some.pointer, 100, out.pointer),
                    UNSUPPORTED, out, str(bad))
            refused(lib, f"scan by operator {bad}", lib.scan(one, bad, False, i32, some.pointer, i32, out.pointer, 100, None),
                    INVALID_ARGUMENT, out, str(bad))
        refused(lib, "a negative number of threads", lib.reduce(cpu(-1), 0, i32, some.pointer, 1, out.pointer),
                INVALID_ARGUMENT, out, "threads")
        both = Guarded("i32", 300)
        for shift, kind in ((4, i32), (-4, i32), (396, i32), (0, DTYPES["f64"])):
            refused(lib, f"a scan overlapping by {shift} bytes", lib.scan(one, 0, False, i32, both.pointer + 400, kind,
                                                                     both.pointer + 400 + shift, 100, None),
                    OVERLAP, both, "overlap")


def nothing(libs, rng):
    """The fold of no elements is the identity, and a scan of none writes none, whatever the pointers."""
    for op, dtype in every_fold():
        for lib in libs:
            with case():
                what = f"{lib.isa} {op} {dtype} of nothing"
                out = Guarded(dtype, 1)
                status = lib.scan(cpu(1), OP_NUMBERS[op], True, DTYPES[dtype], None, DTYPES[dtype], None, 0, None)
                require(status == OK, f"{what}: {lib.message()}")
                kind = ctypes.c_int()
                status = lib.reduce_dtype(OP_NUMBERS[op], DTYPES[dtype], ctypes.byref(kind))
                require(status == OK and kind.value == DTYPES[reduce_dtype(op, dtype)], f"{what}: type {kind.value}")
                if op not in ("minimum", "maximum"):
                    out = Guarded(reduce_dtype(op, dtype), 1)
                    status = lib.reduce(cpu(1), OP_NUMBERS[op], DTYPES[dtype], None, 0, out.pointer)
                    require(status == OK, f"{what}: {lib.message()}")
                    same_bits(out.array, identity(op, reduce_dtype(op, dtype)), reduce_dtype(op, dtype), what)


@case()
def reference(libs, rng):
    """The level-by-level NumPy of the reference is its own definition taken literally."""
    def total(x, combine):
        half = len(x) // 2
        return combine(total(x[:half], combine), total(x[half:], combine)) if half else x

    def literal_fold(x, combine):
        result, done = None, 0
        while done < len(x):
            size = 1 << ((len(x) - done).bit_length() - 1)
            block = total(x[done:done + size], combine)
            result, done = block if result is None else combine(result, block), done + size
        return result

    values = samples.mixed(rng, "f32", 300)
    with np.errstate(all="ignore"):
        for combine in (COMBINE["plus"], np.subtract):  # subtraction is neither associative nor commutative
            prefixes = folds(values, combine)
            for n in range(1, len(values) + 1):
                expected = literal_fold(values[:n], combine)
                same_bits(prefixes[n - 1:n], expected, "f32", f"reference, folds({n})")
                same_bits(fold(values[:n], combine), expected, "f32", f"reference, fold({n})")
    require(reduce(np.arange(1, 8192, dtype=np.int16), "plus", "i16")[0] == 8191 * 8192 // 2, "reference, a known sum")


CHECKS = (reference, reduce_small, scan_small, reduce_borders, scan_borders, reduce_large, scan_large, scan_converting,
          reduce_pieces, scan_pieces, nothing, refusals)


if __name__ == "__main__":
    sys.exit(run(__doc__, CHECKS))
