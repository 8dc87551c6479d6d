# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""argmin, argmax, select, partition and diff beside NumPy."""
import ml_dtypes
import numpy as np
import pytest
import upsweep as us
from hypothesis import given
from hypothesis import strategies as st
from samples import DTYPES, arrays, random, same_bits


def with_one_zero(x):
    """Signs of zero, which Upsweep orders and NumPy does not, made positive; NumPy's first position is ours then."""
    return np.where(x == 0, x.dtype.type(0), x)


@given(arrays(min_dims=0, min_side=1), st.data(), st.booleans())
def test_argmin_and_argmax(x, data, keepdims):
    x = with_one_zero(x) if x.ndim else x
    axis = data.draw(st.one_of(st.none(), st.integers(-x.ndim, x.ndim - 1))) if x.ndim else None
    for ours, peer in ((us.argmin, np.argmin), (us.argmax, np.argmax)):
        got, want = ours(x, axis=axis, keepdims=keepdims), peer(x, axis=axis, keepdims=keepdims)
        assert same_bits(got, want)
        if np.ndim(want):
            out = np.full(want.shape, -7)
            assert ours(x, axis=axis, keepdims=keepdims, out=out) is out and same_bits(out, want)


@pytest.mark.parametrize("dtype", (*DTYPES, ml_dtypes.bfloat16))
@pytest.mark.parametrize("shape", ((70001,), (300, 1000), (5, 70000), (2000, 3)))
def test_large(shape, dtype):
    x = with_one_zero(random(shape, np.float32, 7).astype(dtype) if dtype is ml_dtypes.bfloat16 else random(shape, dtype, 7))
    for view in (x, x[..., ::-1], x.T, x[::2]):
        for axis in (None, *range(x.ndim)):
            assert same_bits(us.argmin(view, axis=axis), np.argmin(view, axis=axis))
            assert same_bits(us.argmax(view, axis=axis), np.argmax(view, axis=axis))


def test_order_of_special_values():
    x = np.array([1.0, 0.0, -0.0, -0.0])
    assert us.argmin(x) == 2 and us.argmax(-x[1:]) == 1
    x = np.array([[np.inf, 5.0, np.nan, np.nan], [1.0, -np.inf, np.inf, -np.inf]], np.float32)
    assert us.argmin(x, axis=1).tolist() == [2, 1] and us.argmax(x, axis=1).tolist() == [2, 2]
    assert us.argmin(np.array([2**64 - 1, 2**63, 1], np.uint64)) == 2 and us.argmax(np.array([1, 2**64 - 1, 2**63], np.uint64)) == 1
    assert type(us.argmin(x)) is np.int64


def test_refusals_of_positions():
    x = np.zeros((3, 0))
    with pytest.raises(ValueError, match="argmin"):
        us.argmin(x)
    with pytest.raises(ValueError):
        us.argmax(x, axis=1)
    assert us.argmax(x, axis=0).shape == (0,)
    with pytest.raises(TypeError):
        us.argmin(np.zeros((3, 3)), axis=(0, 1))
    with pytest.raises(np.exceptions.AxisError):
        us.argmin(np.zeros((3, 3)), axis=2)
    with pytest.raises(TypeError):
        us.argmin(np.zeros(3), out=np.zeros((), "M8[s]"))


@given(arrays(max_side=20), st.integers(0, 99), st.sampled_from((0, 0.1, 0.5, 1)))
def test_select(x, seed, share):
    mask = np.random.default_rng(seed).random(x.shape) < share
    mask = np.asarray(mask, order="F")
    assert same_bits(us.select(x, mask), np.asarray(x)[mask])
    both, count = us.partition(x, mask)
    assert count == mask.sum() and type(count) is int
    assert same_bits(both, np.concatenate((np.asarray(x)[mask], np.asarray(x)[~mask])))


@pytest.mark.parametrize("dtype", ("bool", "int16", "float32", "uint64"))
def test_select_many(dtype):
    x = random(1_000_003, dtype)
    mask = random(x.shape, "bool", 5)
    assert same_bits(us.select(x[::-1], mask), x[::-1][mask])
    assert same_bits(us.partition(x, mask)[0], np.concatenate((x[mask], x[~mask])))


def test_refusals_of_masks():
    for function in (us.select, us.partition):
        with pytest.raises(TypeError, match="bool"):
            function([1, 2], [0, 1])
        with pytest.raises(ValueError, match="shape"):
            function(np.ones((2, 2)), np.ones(4, bool))
    assert us.select([], np.empty(0, bool)).shape == (0,)


@given(arrays(min_dims=1, min_side=1))
def test_diff(x):
    with np.errstate(all="ignore"):
        assert same_bits(us.diff(x, axis=0), np.diff(x, axis=0))
    if x.dtype.kind in "iu" and x.ndim == 1:
        assert same_bits(us.diff(us.cumulative_sum(x), prepend=0).astype(x.dtype), np.ascontiguousarray(x))
