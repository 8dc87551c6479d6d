# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
import fold_order
import numpy as np
import pytest
import upsweep as us
import verb_order
from hypothesis import given
from samples import DTYPES, FLOATS, INTEGERS, SHORT, SIZES, arrays, random, same_bits

NAMES = {"sum": "plus", "prod": "multiplies", "min": "minimum", "max": "maximum", "all": "logical_and", "any": "logical_or"}


def expected(x, op):
    """The fold in the canonical order, in the type that the package gives."""
    name = SHORT[x.dtype.name]
    result = fold_order.reduce(np.ascontiguousarray(x).ravel(), op, name)
    if op in ("plus", "multiplies") and x.dtype == np.float16:
        with np.errstate(over="ignore"):
            result = result.astype(np.float16)
    return result[0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_bits_of_the_canonical_order(name, dtype):
    for size in SIZES:
        if size == 0 and name in ("min", "max"):
            continue
        x = random(size, dtype)
        result = getattr(us, name)(x)
        assert same_bits(result, expected(x, NAMES[name])), size
        assert isinstance(result, np.generic)


@given(arrays(min_side=1))
def test_any_strides(x):
    for name, op in NAMES.items():
        assert same_bits(getattr(us, name)(x), expected(x, op))


@pytest.mark.parametrize("op", fold_order.OPS)
def test_reduce_by_name_and_by_ufunc(op):
    ufunc = {"plus": np.add, "multiplies": np.multiply, "bit_and": np.bitwise_and, "bit_or": np.bitwise_or,
             "bit_xor": np.bitwise_xor, "log_sum_exp": np.logaddexp}.get(op) or getattr(np, op)
    x = random(999, "float32" if op == "log_sum_exp" else "int16")
    assert same_bits(us.reduce(x, op), expected(x, op))
    assert same_bits(us.reduce(x, ufunc), expected(x, op))


def test_the_order_shows():
    """A test of bits that NumPy's own order passes would show nothing."""
    x = random(70001, "float32")
    assert us.sum(x) != np.sum(x) and us.sum(x) != np.cumsum(x)[-1]
    assert us.sum(x) == expected(x, "plus")


def test_nan_and_signs_of_zero():
    for dtype in FLOATS:
        nan = np.array([1, np.nan, -2], dtype)
        negative_nan = -np.array([np.nan], dtype)
        for name in ("sum", "prod", "min", "max", "mean"):
            assert same_bits(getattr(us, name)(nan), np.dtype(dtype).type(np.nan))
            assert same_bits(getattr(us, name)(negative_nan), np.dtype(dtype).type(np.nan))
        zeros = np.array([0.0, -0.0], dtype)
        assert np.signbit(us.min(zeros)) and not np.signbit(us.max(zeros))
        assert np.signbit(us.sum(zeros[1:])) and not np.signbit(us.sum(zeros))


def test_no_elements():
    for dtype in DTYPES:
        x = np.empty((3, 0), dtype)
        assert us.sum(x) == 0 and us.prod(x) == 1 and us.all(x) and not us.any(x)
        for call in (us.min, us.max):
            with pytest.raises(ValueError, match="minimum|maximum|empty|no element|identity"):
                call(x)
        assert np.isnan(us.mean(x.astype(np.float32)))
        assert us.reduce(x, "minimum", identity=1) == 1
        assert us.reduce(x, "minimum", identity=1).dtype == x.dtype


def test_types_of_results():
    """Those of the array API: floating-point types stay, integers get 64 bits."""
    for dtype in DTYPES:
        x = np.ones(3, dtype)
        kept = x.dtype if dtype in FLOATS else np.dtype(np.uint64 if dtype.startswith("u") else np.int64)
        assert us.sum(x).dtype == us.prod(x).dtype == kept
        assert us.min(x).dtype == us.max(x).dtype == x.dtype
        assert us.mean(x).dtype == (x.dtype if dtype in FLOATS else np.float64)


def test_dtype():
    x = random(5000, "float32")
    assert same_bits(us.sum(x, dtype=np.float64), expected(x.astype(np.float64), "plus"))
    assert same_bits(us.sum(x.astype(np.float16), dtype="float32"),
                     fold_order.reduce(x.astype(np.float16), "plus", "f16")[0])
    bytes_ = random(5000, "uint8")
    assert same_bits(us.sum(bytes_, dtype=np.uint8), np.uint8(int(bytes_.astype(int).sum()) % 256))
    assert same_bits(us.sum(bytes_, dtype=np.float32), expected(bytes_.astype(np.float32), "plus"))
    assert us.sum(-bytes_.astype(np.int64), dtype=np.int64) == -int(bytes_.astype(int).sum())
    for wrong in (np.int32, np.complex64, "U3", bool):
        with pytest.raises(TypeError):
            us.sum(x, dtype=wrong)
    with pytest.raises(TypeError):
        us.reduce(x, "maximum", dtype=np.float64)


@pytest.mark.parametrize("to", ("int64", "float16", "float32", "float64"))
@pytest.mark.parametrize("dtype", ("bool", "int8", "uint32", "int64", "float16", "float32", "float64"))
def test_another_type_of_many(dtype, to):
    """Elements are converted some at a time, with the bits of all at once."""
    if not np.can_cast(dtype, to, "same_kind"):
        return
    for size in (1, 65_536, 65_537, 200_001):
        x = random(size, dtype)
        for fold in (us.sum, us.prod):
            want = fold(x.astype(to))
            assert same_bits(fold(x, dtype=to), np.asarray(want).astype(to)), (fold, size)
            assert same_bits(fold(x[::-1], dtype=to), np.asarray(fold(x[::-1].astype(to))).astype(to)), (fold, size)
    grid = random((300, 401), dtype)
    assert same_bits(us.sum(grid, dtype=to, keepdims=True), np.asarray(us.sum(grid.astype(to), keepdims=True)).astype(to))


def test_mean():
    for dtype in INTEGERS:
        x = random(777, dtype)
        total = fold_order.reduce(x, "plus", SHORT[dtype])[0]
        assert same_bits(us.mean(x), np.float64(total) / np.float64(777))
    for dtype, wide in (("float16", np.float32), ("float32", np.float32), ("float64", np.float64)):
        x = random(777, dtype)
        total = fold_order.reduce(x, "plus", SHORT[dtype])[0]
        assert same_bits(us.mean(x), np.dtype(dtype).type(total / wide(777)))


def test_keepdims_and_out():
    x = random((5, 6), "float32")
    assert us.sum(x, keepdims=True).shape == (1, 1)
    assert us.sum(x, keepdims=True)[0, 0] == us.sum(x)
    for dtype in ("float32", "float64"):
        out = np.full((), -1, dtype)
        assert us.sum(x, out=out) is out
        assert out == us.sum(x, dtype=dtype)
    read_only = np.zeros(())
    read_only.flags.writeable = False
    for wrong, error in ((np.zeros(3), ValueError), (read_only, ValueError), (7, TypeError),
                         (np.zeros((), ">f8"), ValueError), (np.zeros((), complex), TypeError)):
        with pytest.raises(error):
            us.sum(x, out=wrong)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", (*SIZES, 1_000_003))
def test_var(dtype, size):
    """By the reference in NumPy, and near NumPy's own."""
    x = random(size, dtype, seed=3)
    result = np.dtype(dtype if dtype in FLOATS else np.float64)
    for correction in (0, 1, 2.5, size, size + 7):
        with np.errstate(all="ignore"):
            wide = verb_order.variances(x.astype(np.float64)[:, None], float(correction))
            rounded = wide.astype(np.float64 if result == np.float64 else np.float32).astype(result)
        got = us.var(x, correction=correction)
        assert same_bits(got, np.where(np.isnan(rounded), result.type(np.nan), rounded)[0])
        if correction < size:
            rtol = 1e-3 if result == np.float16 else 1e-6 if result == np.float32 else 1e-12
            with np.errstate(all="ignore"):
                near = np.var(x.astype(np.longdouble), ddof=correction)
                np.testing.assert_allclose(got, near.astype(result), rtol=rtol, atol=0)
    if size != 0:
        kept = us.var(x.reshape(1, -1, 1), keepdims=True)
        assert kept.shape == (1, 1, 1) and same_bits(kept[0, 0, 0], us.var(x))


def test_var_of_special_values():
    for dtype in FLOATS:
        assert us.var(np.full(1000, 0.1, dtype)) == 0 and us.var(np.full(1000, -0.0, dtype)) == 0
        for one in (np.nan, np.inf, -np.inf):
            x = random(5000, dtype)
            x[77] = one
            assert same_bits(us.var(x), np.dtype(dtype).type(np.nan))
        assert np.isnan(us.var(np.empty(0, dtype))) and us.var(np.ones(1, dtype)) == 0
        assert np.isnan(us.var(np.ones(1, dtype), correction=1)) and us.var(np.arange(3, dtype=dtype), correction=3) == np.inf
    # Far from zero.
    x = 1e8 + np.random.default_rng().standard_normal(300_000)
    np.testing.assert_allclose(us.var(x), np.var((x - 1e8).astype(np.longdouble)).astype(np.float64), rtol=1e-8)
    with pytest.raises(TypeError):
        us.var(np.zeros(3, complex))


@given(arrays())
def test_var_of_views(x):
    """The elements are taken in their order, whatever the strides."""
    plain = np.ascontiguousarray(x).reshape(-1)
    assert same_bits(us.var(x, correction=1), us.var(plain, correction=1))
