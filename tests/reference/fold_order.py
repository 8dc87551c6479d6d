# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""The canonical order of a fold, written a second time, in NumPy: docs/fold-order.md and no line of the library.

The total of an aligned block of 2^k elements is the total of its left half (+) the total of its right half. The fold of
the first m elements combines, from left to right, the totals of the blocks that the binary digits of m name, the largest
block first: fold(13) = ((block of 8) (+) (block of 4)) (+) (block of 1). Everything below is elementwise on whole levels
of that tree, so NumPy has no order of its own to choose (np.sum and np.cumsum do, and are not used).

bf16 has no NumPy type: its arrays hold the 16 bits as uint16 and go by name.
"""
import numpy as np

STORAGE = {"bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
           "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
           "f16": np.float16, "bf16": np.uint16, "f32": np.float32, "f64": np.float64}
FLOATS = ("f16", "bf16", "f32", "f64")
OPS = ("plus", "multiplies", "minimum", "maximum", "bit_and", "bit_or", "bit_xor", "logical_and", "logical_or",
       "log_sum_exp")


def supported(op, dtype):
    return not op.startswith("bit_") if dtype in FLOATS else op != "log_sum_exp"


def reduce_dtype(op, dtype):
    """The type of a reduce's result."""
    if op.startswith("logical_"):
        return "bool"
    if op in ("plus", "multiplies", "log_sum_exp"):
        return {"b": "i64", "i": "i64", "u": "u64", "f": "f64" if dtype == "f64" else "f32"}[
            "f" if dtype in FLOATS else dtype[0]]
    return dtype


def convert(x, source, target):
    """Elements of one type as another: rounded to nearest even, wrapped, nonzero is true. 16-bit floats go through f32."""
    if source == target:
        return x
    with np.errstate(all="ignore"):
        if source == "bf16":
            x = (x.astype(np.uint32) << 16).view(np.float32)
        if target in ("f16", "bf16"):
            x = x.astype(np.float32)
        if target != "bf16":
            return x.astype(STORAGE[target])
        bits = x.view(np.uint32)
        rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
        return np.where(np.isnan(x), np.uint32(0x7FC0), rounded).astype(np.uint16)


def _ordered(choose, sign):
    def minimum_or_maximum(a, b):  # np.minimum propagates NaN, but may return either of -0 and +0
        if a.dtype.kind != "f":
            return choose(a, b)
        return np.where((a == b) & (np.signbit(a) == sign), a, np.where(a == b, b, choose(a, b)))
    return minimum_or_maximum


def _to_odd(a, b):
    """The sum of doubles, to odd where it is inexact: so rounding it once more is as if it had not been rounded."""
    total = a + b
    of_b = total - a
    error = (a - (total - of_b)) + (b - of_b)
    bits = np.asarray(total).view(np.int64)
    inexact = (error != 0) & (bits & 1 == 0)
    return (bits + np.where(inexact, np.where((error > 0) == (total > 0), 1, -1), 0)).view(np.float64)


def _halves(x):
    """Two doubles of half as many digits each (Dekker 1971)."""
    scaled = x * 134217729.0
    high = scaled - (scaled - x)
    return high, x - high


def fma(a, b, c):
    """a * b + c, rounded once. A product of floats is a double; one of doubles has a second one (Boldo and Melquiond 2008)."""
    if a.dtype == np.float32:
        return _to_odd(np.float64(a) * np.float64(b), np.float64(c)).astype(np.float32)
    (high_a, low_a), (high_b, low_b) = _halves(a), _halves(np.float64(b))
    product = a * b
    of_product = low_a * low_b - (((product - high_a * high_b) - low_a * high_b) - high_a * low_b)
    low = c + of_product
    of_low = low - of_product
    rest = (of_product - (low - of_low)) + (c - of_low)
    total = product + low
    of_total = total - product
    rest_of_total = (product - (total - of_total)) + (low - of_total)
    return total + _to_odd(rest_of_total, rest)


# By type: what is added to round to an integer, 1 / ln 2, ln 2, what remains of it, and the polynomials of e^x and ln(1 + x) / x.
NUMBERS_OF_LOG_SUM_EXP = {
    np.float32: ("0x1.8p23", "0x1.715476p0", "0x1.62e430p-1", "-0x1.05c610p-29",
                 "0x1.6a2434p-10 0x1.1239e2p-7 0x1.5558f2p-5 0x1.555492p-3 0x1.fffffcp-2 1 1",
                 "-0x1.b2f582p-9 0x1.4b0830p-6 -0x1.d8631cp-5 0x1.b579bep-4 -0x1.3a7a80p-3 0x1.935c9ep-3 -0x1.ff26e0p-3 "
                 "0x1.554df0p-2 -0x1.ffffd2p-2 1"),
    np.float64: ("0x1.8p52", "0x1.71547652b82fep0", "0x1.62e42fefa39efp-1", "0x1.abc9e3b39803fp-56",
                 "0x1.ad66317e521c1p-26 0x1.28b31cbd3b784p-22 0x1.71df4520b92e3p-19 0x1.a01992c517597p-16 "
                 "0x1.a01a011051361p-13 0x1.6c16c187858ebp-10 0x1.1111111130dfap-7 0x1.555555554f35ap-5 "
                 "0x1.55555555554a2p-3 0x1.0000000000010p-1 1 1",
                 "0x1.a420f631af7bbp-16 -0x1.2ed5ef2c393d8p-12 0x1.9ea2c85a0d313p-10 -0x1.68968aff7dd5cp-8 "
                 "0x1.c2c3e3b09f32ap-7 -0x1.b432153726788p-6 0x1.596dad2f60a46p-5 -0x1.d61fb27631dbfp-5 "
                 "0x1.1fddb302bcf66p-4 -0x1.4ad860bfc3312p-4 0x1.711cf2b7ef6f3p-4 -0x1.98cd2f4e9fe65p-4 "
                 "0x1.c6f55516a5652p-4 -0x1.fffa4ca322970p-4 0x1.2491fa7af934ep-3 -0x1.55554f4f18158p-3 "
                 "0x1.9999994a62ae6p-3 -0x1.fffffffd7fd2dp-3 0x1.555555554ff6dp-2 -0x1.fffffffffff6dp-2 1"),
}


def polynomial(x, coefficients):
    """Horner's scheme; the coefficients are those of descending powers."""
    first, *others = map(float.fromhex, coefficients.split())
    result = np.full_like(x, first)
    for coefficient in others:
        result = fma(result, x, x.dtype.type(coefficient))
    return result


def add_logarithm_of_1_and_exponential(a, x):
    """a + ln(1 + e^x)."""
    *numbers, of_exponential, of_logarithm = NUMBERS_OF_LOG_SUM_EXP[x.dtype.type]
    to_round, inverse_of_ln_2, ln_2, rest = (x.dtype.type(float.fromhex(number)) for number in numbers)
    k = fma(x, inverse_of_ln_2, to_round) - to_round
    r = fma(k, -rest, fma(k, -ln_2, x))
    power = np.ldexp(polynomial(r, of_exponential), k.astype(np.int32))
    return fma(polynomial(power, of_logarithm), power, a)


def log_sum_exp(a, b):
    with np.errstate(all="ignore"):
        greater, lesser = np.where(a < b, b, a), np.where(a < b, a, b)
        wide, least = (np.float64, -708) if a.dtype == np.float64 else (np.float32, -87)
        wide_greater = greater.astype(wide)
        distance = lesser.astype(wide) - wide_greater
        counts = distance >= least
        total = add_logarithm_of_1_and_exponential(wide_greater, np.where(counts, distance, wide(least)))
        result = np.where(counts, total.astype(a.dtype), greater)
        return np.where(np.isnan(a) | np.isnan(b), a.dtype.type(np.nan), result)


COMBINE = {"plus": np.add, "multiplies": np.multiply,  # of bool: or, and
           "minimum": _ordered(np.minimum, True), "maximum": _ordered(np.maximum, False),
           "bit_and": np.bitwise_and, "bit_or": np.bitwise_or, "bit_xor": np.bitwise_xor,
           "logical_and": np.logical_and, "logical_or": np.logical_or, "log_sum_exp": log_sum_exp}


def identity(op, dtype):
    """What a fold of nothing gives, as an array of one element."""
    if dtype == "bf16":
        return convert(identity(op, "f32"), "f32", "bf16")
    kind = STORAGE[dtype]
    if op in ("minimum", "maximum"):
        lowest, highest = ((False, True) if dtype == "bool" else (-np.inf, np.inf) if dtype in FLOATS else
                           (np.iinfo(kind).min, np.iinfo(kind).max))
        return np.array([highest if op == "minimum" else lowest], kind)
    if op == "log_sum_exp":
        return np.array([-np.inf], kind)
    if op == "bit_and":
        return np.invert(np.zeros(1, kind))
    return np.array([op in ("multiplies", "logical_and")]).astype(kind)


def block_totals(x, combine):
    """levels[k][j] is the total of the aligned block of 2^k elements from element j * 2^k."""
    levels = [x]
    while len(levels[-1]) > 1:
        halves = levels[-1][:len(levels[-1]) // 2 * 2]
        levels.append(combine(halves[0::2], halves[1::2]))
    return levels


def folds(x, combine):
    """result[m - 1] is the fold of the first m elements, for every m."""
    result = np.empty_like(x)
    for k, totals in reversed(list(enumerate(block_totals(x, combine)))):
        # Here: every m whose lowest binary digit is 2^k. The m without that digit is done, at a higher level.
        size = 1 << k
        result[size - 1:size] = totals[:1]
        ends = result[3 * size - 1::2 * size]
        ends[:] = combine(result[2 * size - 1::2 * size][:len(ends)], totals[2::2])
    return result


def fold(x, combine):
    """The fold of all elements (at least one), as an array of one element."""
    result, done = None, 0
    for k, totals in reversed(list(enumerate(block_totals(x, combine)))):
        if len(x) >> k & 1:
            total = totals[done >> k:][:1]
            result = total if result is None else combine(result, total)
            done += 1 << k
    return result


def as_result(x, accumulator, target):
    """Folds as results, in which NaN has one pattern of bits."""
    if x.dtype.kind == "f":
        x = np.where(np.isnan(x), x.dtype.type(np.nan), x)
    return convert(x, accumulator, target)


def _accumulate(x, op, source, target, algorithm, init=None):
    """Converts to the accumulator of `target`, folds with `algorithm`, puts init before the results, converts back."""
    accumulator = "f32" if target in ("f16", "bf16") else target
    if op.startswith("logical_"):  # the truth of an element is that of its own type: 1e-300 is true, whatever the target
        accumulator = "bool"
    with np.errstate(all="ignore"):
        result = algorithm(convert(x, source, accumulator), COMBINE[op])
        if init is not None:
            result = COMBINE[op](convert(init, target, accumulator), result)
    return as_result(result, accumulator, target)


def reduce(x, op, dtype, algorithm=fold):
    """The fold of all elements, an array of one; with algorithm=folds, the fold of every prefix."""
    target = reduce_dtype(op, dtype)
    return _accumulate(x, op, dtype, target, algorithm) if len(x) else identity(op, target)


def scan(x, op, dtype, target=None, exclusive=False, init=None):
    """The fold of every prefix, with or without the element itself; init: an array of one element of the target type."""
    target = target or dtype
    if len(x) == 0:
        return np.empty(0, STORAGE[target])
    out = _accumulate(x, op, dtype, target, folds, init)
    if not exclusive:
        return out
    start = identity(op, target) if init is None else _accumulate(init, op, target, target, fold)
    return np.concatenate([start, out[:-1]])
