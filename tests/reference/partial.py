# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Partials and their bytes, written a second time, in NumPy: docs/fold-order.md and no line of the library.

A partial is a list of blocks (level, index, total), ascending by position: the total of the elements from index * 2^level on,
2^level of them, as an array of one accumulator.
"""
import struct

import numpy as np

from fold_order import COMBINE, FLOATS, OPS, STORAGE, as_result, block_totals, convert

TYPES = ("bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64")
HEADER = struct.Struct("<8sBBBBIQ")


def accumulator_dtype(op, dtype):
    """The type in which elements are folded."""
    if op.startswith("logical_"):
        return "bool"
    if op in ("plus", "multiplies") and dtype not in FLOATS:
        return "u64" if dtype.startswith("u") else "i64"
    return "f32" if dtype in ("f16", "bf16") else dtype


def fold_siblings(blocks, op):
    """Folds blocks, ascending and without overlap, to larger ones as far as it goes."""
    done = []
    for level, index, total in blocks:
        while done and index % 2 == 1 and done[-1][:2] == (level, index - 1):
            with np.errstate(all="ignore"):
                total = COMBINE[op](done.pop()[2], total)
            level, index = level + 1, index // 2
        done.append((level, index, total))
    return done


def partial_of(x, first, op, dtype):
    """The partial of elements whose first one has this position: each a block, folded."""
    accumulators = convert(x, dtype, accumulator_dtype(op, dtype))
    blocks, at = [], 0
    while at < len(x):
        position = first + at
        level = min((len(x) - at).bit_length() - 1, (position & -position).bit_length() - 1 if position else 63)
        with np.errstate(all="ignore"):
            total = block_totals(accumulators[at:at + (1 << level)], COMBINE[op])[-1]
        blocks.append((level, position >> level, total[:1]))
        at += 1 << level
    return blocks


def to_bytes(blocks, op, dtype):
    accumulator = accumulator_dtype(op, dtype)
    size = np.dtype(STORAGE[accumulator]).itemsize
    head = HEADER.pack(b"UPSWPART", 1, OPS.index(op), TYPES.index(dtype), TYPES.index(accumulator), size, len(blocks))
    return head + b"".join(struct.pack("<QQ", level, index) + total.tobytes().ljust(8, b"\0")
                           for level, index, total in blocks)


def of_bytes(data):
    """(blocks, op, dtype)"""
    magic, version, op, dtype, accumulator, size, count = HEADER.unpack_from(data)
    kind = np.dtype(STORAGE[TYPES[accumulator]])
    assert (magic, version, size) == (b"UPSWPART", 1, kind.itemsize) and len(data) == HEADER.size + 24 * count
    blocks = []
    for at in range(HEADER.size, len(data), 24):
        level, index = struct.unpack_from("<QQ", data, at)
        blocks.append((level, index, np.frombuffer(data, kind, 1, at + 16)))
    return blocks, OPS[op], TYPES[dtype]


def value(blocks, op, dtype, result_dtype):
    """The fold of the elements from position 0 on, which must all be there."""
    result = blocks[0][2]
    assert blocks[0][1] == 0
    for level, index, total in blocks[1:]:
        with np.errstate(all="ignore"):
            result = COMBINE[op](result, total)
    return as_result(result, accumulator_dtype(op, dtype), result_dtype)
