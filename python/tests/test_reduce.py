# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
import fold_order
import numpy as np
import pytest
import upsweep as us
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


def test_var():
    x = random((40, 25), "float64")
    np.testing.assert_allclose(us.var(x), np.var(x), rtol=1e-12)
    np.testing.assert_allclose(us.var(x, correction=1), np.var(x, ddof=1), rtol=1e-12)
    assert us.var(x, keepdims=True).shape == (1, 1)
    assert us.var(x.astype(np.float16)).dtype == np.float16
    assert us.var(np.arange(9, dtype=np.uint8)).dtype == np.float64
    assert np.isnan(us.var(np.empty(0)))


def test_operators_and_calls_that_are_refused():
    x = np.arange(4.0)
    with pytest.raises(ValueError, match="there is no operator 'median'"):
        us.reduce(x, "median")
    with pytest.raises(TypeError, match="no operator"):
        us.reduce(x, lambda a, b: a)
    with pytest.raises(ValueError, match="no operator"):
        us.reduce(x, np.arctan2.__name__)
    with pytest.raises(TypeError, match="bit operators are for bool and integers"):
        us.reduce(x, "bit_xor")
    with pytest.raises(TypeError):
        us.sum(x, 0)  # the array API has the axis as a keyword alone


@pytest.mark.parametrize("dtype", DTYPES)
def test_truths(dtype):
    """One element that decides, wherever it is, among those that do not; zeros with a sign and NaN."""
    dtype = np.dtype(dtype)
    special = (0.0, -0.0, np.nan, -np.inf, np.finfo(dtype).smallest_subnormal, -1.0) if dtype.kind == "f" else (0, 1)
    if dtype.kind in "iu":
        special += (np.iinfo(dtype).min, np.iinfo(dtype).max)
    for size in (1, 2, 31, 1000, 70001, 1_000_003):
        for rest in (0, 1):
            x = np.full(size, rest, dtype)
            for value in special:
                for at in {0, size // 2, size - 1, min(size - 1, 66000)}:
                    x[at] = value
                    for view in (x, x[::-1]):
                        assert us.any(view) == np.any(view) and us.all(view) == np.all(view), (size, rest, value, at)
                    x[at] = rest
    shape = (37, 301)
    x = random(shape, dtype) if dtype == bool else (random(shape, "int8") % 3).astype(dtype)
    x = x * np.asarray(-1 if dtype.kind == "f" else 1, dtype)  # whose zeros have a sign
    for view in (x, x.T, x[:, ::-2], np.concatenate((x[:3] * 0, x[:4] * 0 + 1)).astype(dtype)):
        for axis in (0, 1):
            assert same_bits(us.any(view, axis=axis), np.any(view, axis=axis))
            assert same_bits(us.all(view, axis=axis), np.all(view, axis=axis))
    for axis in (0, 1):
        empty = np.empty((0, 4) if axis == 0 else (4, 0), dtype)
        assert us.any(empty, axis=axis).tolist() == [False] * 4 and us.all(empty, axis=axis).tolist() == [True] * 4
    assert us.all(np.empty(0, dtype)) and not us.any(np.empty(0, dtype))
    assert same_bits(us.sum(x != 0), np.sum(x != 0)) and us.sum(np.ones(1_000_003, bool)) == 1_000_003
