# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Compares libupsweep's partials, their results and their bytes, with those of partial.py, the independent reference.

    python3 partials.py build/lib/libupsweep.so [--seed N] [--only REGEX]

Parts of an array are folded apart, by libraries for several instruction sets, and merged in any order. With UPSWEEP_PARTIALS_ON_GPU=1 and
a library that has a GPU, simulated or real, half of them are folded there.
"""
import ctypes
import os
import sys

import numpy as np

import partial as reference
import samples
from bits import every_fold, same_bits
from checks import case, require, run
from fold_order import STORAGE, reduce, reduce_dtype
from library import DTYPES, INVALID_ARGUMENT, OK, OP_NUMBERS, Guarded, cpu, cuda

ON_GPU = os.environ.get("UPSWEEP_PARTIALS_ON_GPU") == "1"


class Partial:
    """One upsweep_partial of a library."""

    def __init__(self, lib, op, dtype):
        self.lib, self.op, self.dtype, self.handle = lib, op, dtype, ctypes.c_void_p()
        self.did(lib.partial_create(OP_NUMBERS[op], DTYPES[dtype], ctypes.byref(self.handle)))

    def __del__(self):
        self.lib.partial_destroy(self.handle)

    def did(self, status):
        require(status == OK, f"{self.lib.isa} partial of {self.op} {self.dtype}: {self.lib.message()}")

    def feed(self, values, first, target):
        source = Guarded.of(self.dtype, values, first)
        return self.lib.partial_feed(self.handle, DTYPES[self.dtype], target, source.pointer, len(values), first)

    def bytes(self):
        size = ctypes.c_uint64()
        self.did(self.lib.partial_bytes(self.handle, None, ctypes.byref(size)))
        room = (ctypes.c_char * size.value)()
        self.did(self.lib.partial_bytes(self.handle, room, ctypes.byref(size)))
        return bytes(room)

    def merge_bytes(self, data):
        """Merges a partial that comes as bytes."""
        other = ctypes.c_void_p()
        status = self.lib.partial_of_bytes(data, len(data), ctypes.byref(other))
        if status == OK:
            status = self.lib.partial_merge(self.handle, other)
            self.lib.partial_destroy(other)
        return status

    def result(self):
        out = Guarded(reduce_dtype(self.op, self.dtype), 1)
        self.did(self.lib.partial_result(self.handle, out.pointer))
        require(out.untouched_around(), "a result wrote beside its place")
        return out.array


def random_parts(rng, n):
    """(first, end) of parts that make up n elements, in random order."""
    borders = np.unique([0, n, *rng.integers(0, n + 1, 6), *(min(n, 1 << int(k)) for k in rng.integers(0, 15, 3))]).tolist()
    parts = list(zip(borders, borders[1:]))
    rng.shuffle(parts)
    return parts


def has_nan(blocks):
    return any(total.dtype.kind == "f" and np.isnan(total[0]) for _, _, total in blocks)


@case()
def check_parts(libs, rng, op, dtype, values, name):
    what = f"partials of {op} {dtype} {name}, {len(values)} elements"
    whole = Partial(libs[0], op, dtype)
    for first, end in random_parts(rng, len(values)):
        lib = libs[rng.integers(len(libs))]
        part = values[first:end]
        if rng.integers(4) == 0:  # one that NumPy has folded
            whole.did(whole.merge_bytes(reference.to_bytes(reference.partial_of(part, first, op, dtype), op, dtype)))
            continue
        folded = Partial(lib, op, dtype)
        target = cuda(1) if ON_GPU and rng.integers(2) else cpu(int(rng.choice((1, 2, 3, 8))))
        folded.did(folded.feed(part, first, target))
        require(lib.partial_count(folded.handle) == end - first, f"{what}: a wrong count")
        whole.did(whole.merge_bytes(folded.bytes()))
    same_bits(whole.result(), reduce(values, op, dtype), reduce_dtype(op, dtype), what)
    data = whole.bytes()
    blocks, read_op, read_dtype = reference.of_bytes(data)
    require((read_op, read_dtype) == (op, dtype), f"{what}: its bytes are of {read_op} {read_dtype}")
    same_bits(reference.value(blocks, op, dtype, reduce_dtype(op, dtype)), reduce(values, op, dtype),
              reduce_dtype(op, dtype), f"{what}, read by NumPy")
    if not has_nan(blocks):
        expected = reference.to_bytes(reference.partial_of(values, 0, op, dtype), op, dtype)
        require(data == expected, f"{what}: other bytes than NumPy's")


def random_cuts(libs, rng):
    """Every type and operator: any parts of an array merged in any order are the whole."""
    for op, dtype in every_fold():
        kinds = samples.recipes(op, dtype)
        for n in (1, int(rng.integers(2, 100)), int(rng.integers(100, 20000))):
            name = rng.choice(list(kinds))
            check_parts(libs, rng, op, dtype, kinds[name](rng, dtype, n), name)


@case()
def refused(lib, status, *words):
    require(status == INVALID_ARGUMENT, f"{lib.isa}: status {status}")
    require(all(word in lib.message() for word in words), f"{lib.isa}: {words} missing in '{lib.message()}'")


def refusals(libs, rng):
    """Overlaps and gaps are named, and so is the byte at which bytes are no partial."""
    values = samples.mixed(rng, "f32", 1000)
    for lib in libs:
        part = Partial(lib, "plus", "f32")
        part.did(part.feed(values[:300], 0, cpu(1)))
        before = part.bytes()
        refused(lib, part.feed(values[:10], 299, cpu(1)), "element 299", "both")
        refused(lib, part.feed(values[:10], (1 << 63) - 9, cpu(1)), "beyond 2^63")
        refused(lib, part.merge_bytes(reference.to_bytes(reference.partial_of(values[:2], 100, "plus", "f64"), "plus", "f64")),
                "plus of f32", "plus of f64")
        refused(lib, part.merge_bytes(before[:-1]), f"byte {len(before) - 1}", "cut off")
        refused(lib, part.merge_bytes(before[:20]), "byte 20", "cut off")
        refused(lib, part.merge_bytes(before + b"x"), f"byte {len(before)}", "more bytes")
        refused(lib, part.merge_bytes(b"x" + before[1:]), "byte 0", "signature")
        refused(lib, part.merge_bytes(before[:8] + b"\2" + before[9:]), "byte 8", "version 2")
        refused(lib, part.merge_bytes(before[:9] + b"\xff" + before[10:]), "byte 9", "operator 255")
        require(part.bytes() == before, "a refused call changed the partial")
        part.did(part.feed(values[512:600], 512, cpu(1)))
        out = Guarded("f32", 1)
        refused(lib, lib.partial_result(part.handle, out.pointer), "elements 300 to 511")
        require(out.untouched(), "a refused result was written")
        nothing = Partial(lib, "minimum", "f32")
        refused(lib, lib.partial_result(nothing.handle, out.pointer), "no elements")
        require(Partial(lib, "plus", "f32").result().view(np.uint32)[0] == 0, "the sum of nothing is not +0")


CHECKS = [random_cuts, refusals]

if __name__ == "__main__":
    sys.exit(run(__doc__, CHECKS))
