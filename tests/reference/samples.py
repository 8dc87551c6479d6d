# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Inputs on which the order of a fold, a dropped element or a wrong neutral element shows in the result."""
import numpy as np

from fold_order import FLOATS, STORAGE, convert

# bits of a number, of its exponent, of its mantissa
FORMATS = {"f16": (np.uint16, 5, 10), "bf16": (np.uint16, 8, 7), "f32": (np.uint32, 8, 23), "f64": (np.uint64, 11, 52)}


def raw(rng, dtype, n):
    """Every bit pattern alike: for floating-point numbers all magnitudes, infinities and NaNs."""
    if dtype == "bool":
        return rng.random(n) < 0.5
    kind = np.dtype(STORAGE[dtype])
    return np.frombuffer(rng.bytes(n * kind.itemsize), kind).copy()


def near(rng, dtype, n, lowest, highest):
    """Random signs and mantissas, binary exponents lowest..highest as far as the type has them."""
    unsigned, exponent_bits, mantissa_bits = FORMATS[dtype]
    bias = (1 << (exponent_bits - 1)) - 1
    exponent = np.clip(rng.integers(lowest, highest + 1, n) + bias, 0, 2 * bias).astype(unsigned)
    bits = raw(rng, dtype, n).view(unsigned)
    keep = unsigned(~(((1 << exponent_bits) - 1) << mantissa_bits) & ((1 << 8 * bits.itemsize) - 1))
    return ((bits & keep) | (exponent << unsigned(mantissa_bits))).view(STORAGE[dtype])


def mixed(rng, dtype, n):
    """Magnitudes over many binades, with zeros of both signs and denormals among them."""
    reach = 6 if dtype == "f16" else 30
    return np.where(rng.random(n) < 0.1, tiny(rng, dtype, n), near(rng, dtype, n, -reach, reach))


def tiny(rng, dtype, n):
    """Denormals and zeros of both signs."""
    x = near(rng, dtype, n, -5000, -5000)
    sign = x.view(FORMATS[dtype][0]) & ~FORMATS[dtype][0](0) << FORMATS[dtype][0](8 * x.itemsize - 1)
    return np.where(rng.random(n) < 0.5, x, sign.view(x.dtype))


def minus_zeros(rng, dtype, n):
    """-0, whose sum is -0 however long it is, up to a late +0, which ends that."""
    x = convert(np.full(n, -0.0, np.float32), "f32", dtype)
    x[rng.integers(n // 2, n + 1):][:1] = np.zeros(1, x.dtype)
    return x


def cancelling(rng, dtype, n):
    """Every number comes back with the other sign somewhere, so that what is left is rounding and small change."""
    x = near(rng, dtype, n, 0, 12 if dtype == "f16" else 40)
    half = n // 2
    minus = FORMATS[dtype][0](1 << (8 * x.itemsize - 1))
    x[n - half:] = (rng.permutation(x[:half]).view(FORMATS[dtype][0]) ^ minus).view(x.dtype)
    return np.where(rng.random(n) < 0.02, near(rng, dtype, n, -8, 0), x)


def around_one(rng, dtype, n):
    """Numbers in [0.5, 2) whose product wanders slowly."""
    return np.where(rng.random(n) < 0.55, near(rng, dtype, n, -1, -1), near(rng, dtype, n, 0, 0))


def special(rng, dtype, n):
    """Finite numbers up to some place, then an infinity, later perhaps its opposite or a NaN."""
    x = mixed(rng, dtype, n)
    places = np.sort(rng.integers(n // 4, n, 3)) if n else []
    for place, value in zip(places, rng.permutation([np.inf, -np.inf, np.nan])):
        x[place:place + 1] = convert(np.array([value], np.float32), "f32", dtype)
    return x


def records(rng, dtype, n, falling):
    """A slow descent (or ascent) from one end of the type's range to the other, among numbers that do not matter."""
    x = raw(rng, dtype, n)
    if dtype in FLOATS:
        x = convert(near(rng, dtype, n, -5000, 5000), dtype, "f64")  # no infinity, no NaN
    trend = np.sort(x)[::-1] if falling else np.sort(x)
    noise = np.maximum(trend, x) if falling else np.minimum(trend, x)
    out = np.where(rng.random(n) < 0.5, trend, noise)
    return convert(out, "f64", dtype) if dtype in FLOATS else out


def mostly(rng, dtype, n, truth):
    """Elements that are all true (or false) but for a few, somewhere in the later part."""
    x = raw(rng, dtype, n)
    zero = convert(x, dtype, "bool") == False  # noqa: E712: an array
    if truth:
        x[zero] = np.ones(1, x.dtype)
    else:
        x[:] = np.zeros(1, x.dtype)
        if dtype in FLOATS:
            x[::2] = convert(np.array([-0.0], np.float32), "f32", dtype)
    for place in (rng.integers(n // 2, n, 2) if n else []):
        x[place] = np.zeros(1, x.dtype)[0] if truth else np.ones(1, x.dtype)[0]
    return x


def sparse_bits(rng, dtype, n, ones):
    """All bits set (or clear) but one here and there."""
    if dtype == "bool":
        return mostly(rng, dtype, n, ones)
    bits = 8 * np.dtype(STORAGE[dtype]).itemsize
    one = (np.uint64(1) << rng.integers(0, bits, n).astype(np.uint64)).astype(STORAGE[dtype])
    x = np.where(rng.random(n) * n < 3 * bits, one, np.zeros(1, one.dtype))
    return ~x if ones else x


def recipes(op, dtype):
    """The kinds of input that tell something about a fold with this operator of this type."""
    kinds = {"raw": raw}
    if op in ("logical_and", "logical_or"):
        kinds["mostly"] = lambda rng, dtype, n: mostly(rng, dtype, n, op == "logical_and")
    elif op in ("minimum", "maximum"):
        kinds["records"] = lambda rng, dtype, n: records(rng, dtype, n, op == "minimum")
        if dtype in FLOATS:
            kinds.update(mixed=mixed, tiny=tiny, special=special)
    elif op in ("bit_and", "bit_or"):
        kinds["sparse_bits"] = lambda rng, dtype, n: sparse_bits(rng, dtype, n, op == "bit_and")
    elif dtype in FLOATS:
        kinds.update(mixed=mixed, tiny=tiny, special=special)
        kinds.update({"around_one": around_one} if op == "multiplies" else
                     {"cancelling": cancelling, "minus_zeros": minus_zeros})
    elif op == "multiplies" and dtype != "bool":
        kinds["odd"] = lambda rng, dtype, n: raw(rng, dtype, n) | STORAGE[dtype](1)  # even factors soon give 0
    return kinds
