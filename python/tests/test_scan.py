# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
import fold_order
import numpy as np
import pytest
import upsweep as us
from hypothesis import given
from hypothesis import strategies as st
from samples import DTYPES, FLOATS, SHORT, SIZES, arrays, random, same_bits

NAMES = {"cumulative_sum": "plus", "cumulative_prod": "multiplies", "cummin": "minimum", "cummax": "maximum"}


def results_dtype(x, op):
    if op.startswith("logical_"):
        return np.dtype(bool)
    if op in ("plus", "multiplies") and x.dtype.name not in FLOATS:
        return np.dtype(np.uint64 if x.dtype.kind == "u" else np.int64)
    return x.dtype


def expected(x, op, dtype=None, **how):
    dtype = np.dtype(dtype or results_dtype(x, op))
    if how.get("init") is not None:
        how["init"] = np.array([how["init"]], dtype)
    return fold_order.scan(np.ascontiguousarray(x), op, SHORT[x.dtype.name], SHORT[dtype.name], **how)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_bits_of_the_canonical_order(name, dtype):
    for size in SIZES:
        x = random(size, dtype)
        assert same_bits(getattr(us, name)(x), expected(x, NAMES[name])), size


@given(arrays(min_dims=1, max_dims=1, max_side=70), st.sampled_from(fold_order.OPS), st.booleans(), st.booleans(),
       st.sampled_from((None, 0, 1, 3)))
def test_any_operator_any_way(x, op, exclusive, reverse, initial):
    if not fold_order.supported(op, SHORT[x.dtype.name]):
        with pytest.raises(TypeError):
            us.scan(x, op)
        return
    if initial is not None and results_dtype(x, op) == bool:
        initial = bool(initial)
    ordered = x[::-1] if reverse else x
    want = expected(ordered, op, exclusive=exclusive, init=initial)
    want = want[::-1] if reverse else want
    assert same_bits(us.scan(x, op, exclusive=exclusive, reverse=reverse, initial=initial), want)


def test_logcumsumexp():
    for dtype in FLOATS:
        for size in SIZES:
            x = random(size, dtype)
            assert same_bits(us.logcumsumexp(x), expected(x, "log_sum_exp")), size
    x = random((5, 300, 7), "float64")
    with np.errstate(over="ignore"):
        for axis in range(3):
            assert np.allclose(us.logcumsumexp(x, axis=axis), np.logaddexp.accumulate(x, axis))
            assert np.allclose(us.reduce(x, np.logaddexp, axis=axis), np.logaddexp.reduce(x, axis))
    assert us.logcumsumexp(np.array([-np.inf, 1e300, np.nan, 1])).tolist()[:2] == [-np.inf, 1e300]
    assert us.reduce(np.empty(0, "float32"), "log_sum_exp") == -np.inf
    with pytest.raises(TypeError, match="floating-point"):
        us.logcumsumexp(np.arange(3))


def test_include_initial():
    for dtype in DTYPES:
        for size in (0, 1, 1000):
            x = random(size, dtype)
            for call, first in ((us.cumulative_sum, 0), (us.cumulative_prod, 1)):
                result = call(x, include_initial=True)
                assert same_bits(result[1:], call(x)) and result[0] == first and len(result) == size + 1


def test_dtype_and_out():
    x = random(3001, "int16")
    for dtype in ("int16", "int32", "uint8", "float32", "float64"):
        want = expected(x, "plus", dtype)
        assert same_bits(us.cumulative_sum(x, dtype=dtype), want)
        out = np.zeros(3001, dtype)
        assert us.cumulative_sum(x, out=out) is out
        assert same_bits(out, want)
    strided = np.zeros((3001, 2), np.int64)[::-1, 1]
    us.cumulative_sum(x, out=strided)
    assert same_bits(strided.copy(), expected(x, "plus"))
    with pytest.raises(TypeError):
        us.cumulative_sum(x.astype(np.float32), dtype=np.int64)
    with pytest.raises(TypeError):
        us.cumulative_sum(x, dtype=np.int32, out=np.zeros(3001, np.int64))


def test_in_place():
    x = random(5000, "float64")
    want = us.cumulative_sum(x)
    assert us.cumulative_sum(x, out=x) is x
    assert same_bits(x, want)


def test_out_that_overlaps_is_refused_and_nothing_written():
    x = random(100, "float64")
    before = x.copy()
    for overlapping in (x[1:], x[:0:-1]):
        with pytest.raises(ValueError, match="overlap"):
            us.cumulative_sum(x[:-1], out=overlapping)
    with pytest.raises(ValueError, match="overlap"):
        us.cumulative_sum(x[:-1], include_initial=True, out=x)
    with pytest.raises(ValueError, match="same place"):
        us.cumulative_sum(x, out=np.lib.stride_tricks.as_strided(np.zeros(100), (100,), (0,)))
    assert same_bits(x, before)
    for wrong, error in ((np.zeros(99), ValueError), (np.zeros(100, ">f8"), ValueError), ([0.0] * 100, TypeError)):
        with pytest.raises(error):
            us.cumulative_sum(x, out=wrong)


def test_axes_that_are_refused():
    with pytest.raises(ValueError, match="pass axis"):
        us.cumulative_sum(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="no axis"):
        us.cumulative_sum(np.float32(1))
    with pytest.raises(np.exceptions.AxisError):
        us.cumulative_sum(np.zeros(2), axis=1)
    with pytest.raises(TypeError):
        us.cumulative_sum(np.zeros(2), axis=0.5)


def test_initial_that_is_no_number():
    for wrong in ([1, 2], "x"):
        with pytest.raises((ValueError, TypeError)):
            us.scan(np.arange(3), "plus", initial=wrong)
