# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Every line along an axis has the bits of the plain call on its elements alone."""
import itertools
import math

import numpy as np
import pytest
import upsweep as us
from hypothesis import given
from hypothesis import strategies as st
from samples import DTYPES, FLOATS, INTEGERS, arrays, random, same_bits


def by_lines(call, x, axis, keepdims=False):
    """What a call gives for each choice of the other indices, an array."""
    axes = tuple(k % x.ndim for k in (axis if isinstance(axis, tuple) else (axis,)))
    kept = [k for k in range(x.ndim) if k not in axes]
    lines = np.transpose(x, [*kept, *sorted(axes)]).reshape([x.shape[k] for k in kept] + [-1]) if x.size else None
    shape = [x.shape[k] for k in kept]
    results = np.empty(shape, dtype=call(np.zeros(1, x.dtype)).dtype)
    for index in np.ndindex(*shape):
        results[index] = call(np.ascontiguousarray(lines[index]) if x.size else np.empty(0, x.dtype))
    return np.expand_dims(results, tuple(sorted(axes))) if keepdims else results


@given(arrays(min_dims=1, max_dims=4, min_side=1), st.data())
def test_reductions(x, data):
    axes = data.draw(st.one_of(st.integers(-x.ndim, x.ndim - 1),
                               st.lists(st.integers(0, x.ndim - 1), unique=True, max_size=x.ndim).map(tuple)))
    keepdims = data.draw(st.booleans())
    for call in (us.sum, us.prod, us.min, us.max, us.any, us.all, us.mean):
        result = call(x, axis=axes, keepdims=keepdims)
        assert same_bits(result, by_lines(call, x, axes, keepdims)), call


@given(arrays(min_dims=2, max_dims=4), st.data())
def test_scans(x, data):
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    exclusive, reverse = data.draw(st.booleans()), data.draw(st.booleans())
    initial = data.draw(st.sampled_from((None, 2)))
    for op in ("plus", "maximum"):
        if initial is not None and x.dtype == bool and op == "maximum":
            initial = True
        result = us.scan(x, op, axis=axis, exclusive=exclusive, reverse=reverse, initial=initial)
        want = np.empty(x.shape, result.dtype)
        for index in np.ndindex(*(extent for k, extent in enumerate(x.shape) if k != axis % x.ndim)):
            line = (*index[:axis % x.ndim], slice(None), *index[axis % x.ndim:])
            want[line] = us.scan(x[line], op, exclusive=exclusive, reverse=reverse, initial=initial)
        assert same_bits(result, want)


@pytest.mark.parametrize("dtype", DTYPES)
def test_of_every_type(dtype):
    for shape, axis in itertools.product(((3, 1000), (1000, 3), (40, 65), (2, 3, 130)), (0, 1)):
        x = random(shape, dtype)
        for call in (us.sum, us.max, us.mean):
            assert same_bits(call(x, axis=axis), by_lines(call, x, axis))
        for call in (us.cumulative_sum, us.cumulative_prod, us.cummin, us.cummax):
            want = np.moveaxis(np.array([[call(np.ascontiguousarray(line)) for line in rows]
                                         for rows in np.moveaxis(x, axis, -1).reshape(-1, 1, shape[axis])]).reshape(
                                             np.moveaxis(x, axis, -1).shape), -1, axis)
            assert same_bits(call(x, axis=axis), want)
        assert same_bits(call(x, axis=axis), call(np.asfortranarray(x), axis=axis))


@pytest.mark.parametrize("dtype", DTYPES)
def test_variances_of_lines(dtype):
    """Those of each line alone, along every axis and several, of any strides."""
    for shape in ((40, 300), (300, 7), (3, 5000), (5000, 3), (6, 7, 8), (2, 70, 65), (4, 0, 3), (1, 1, 9)):
        x = random(shape, dtype)
        for view in (x, x[::-1], x[..., ::-2], x.T, np.broadcast_to(x[:1], x.shape), np.asfortranarray(x)):
            for axis in (*range(view.ndim), (0, -1), ()):
                axes = tuple(k % view.ndim for k in (axis if isinstance(axis, tuple) else (axis,)))
                rest = tuple(k for k in range(view.ndim) if k not in axes)
                of_line = math.prod(view.shape[k] for k in axes)
                lines = view.transpose(*rest, *axes).reshape(*(view.shape[k] for k in rest), of_line)
                want = np.empty(lines.shape[:-1], us.var(x).dtype)
                for at in np.ndindex(want.shape):
                    want[at] = us.var(lines[at], correction=1)
                assert same_bits(us.var(view, axis=axis, correction=1), want[()]), (shape, axis)
                kept = us.var(view, axis=axis, correction=1, keepdims=True)
                assert kept.shape == tuple(1 if k in axes else n for k, n in enumerate(view.shape)) and kept.tobytes() == want.tobytes()


def test_as_numpy():
    """Values; NumPy's bits are of another order."""
    x = random((6, 7, 8), "float64")
    assert same_bits(us.sum(x, axis=()), x)
    for axis in (0, -1, (0, 2), (1, 2), (2, 0), None):
        np.testing.assert_allclose(us.sum(x, axis=axis), np.sum(x, axis=axis), rtol=1e-12)
        np.testing.assert_allclose(us.mean(x, axis=axis), np.mean(x, axis=axis), rtol=1e-12)
        np.testing.assert_allclose(us.var(x, axis=axis), np.var(x, axis=axis), rtol=1e-10)
        np.testing.assert_allclose(us.var(x, axis=axis, correction=2, keepdims=True),
                                   np.var(x, axis=axis, ddof=2, keepdims=True), rtol=1e-10)
    for dtype in INTEGERS:
        whole = random((5, 9, 4), dtype)
        for axis in (0, 1, (0, 1)):
            assert same_bits(us.sum(whole, axis=axis), np.sum(whole, axis=axis))
            assert same_bits(us.prod(whole, axis=axis), np.prod(whole, axis=axis))


def test_axes_without_elements():
    x = np.empty((3, 0, 4), np.float32)
    assert same_bits(us.sum(x, axis=1), np.zeros((3, 4), np.float32))
    assert us.sum(x, axis=0).shape == (0, 4) and us.max(x, axis=0).shape == (0, 4)
    assert us.sum(x, axis=(0, 2), keepdims=True).shape == (1, 0, 1)
    assert np.isnan(us.mean(x, axis=1)).all()
    with pytest.raises(ValueError):
        us.min(x, axis=1)
    assert same_bits(us.reduce(x, "minimum", axis=1, identity=9), np.full((3, 4), 9, np.float32))
    for axis in range(3):
        assert us.cumulative_sum(x, axis=axis).shape == x.shape
        longer = list(x.shape)
        longer[axis] += 1
        assert us.cumulative_sum(x, axis=axis, include_initial=True).shape == tuple(longer)


def test_include_initial():
    x = random((4, 5, 6), "float32")
    for axis in range(3):
        result = us.cumulative_sum(x, axis=axis, include_initial=True)
        first, rest = np.split(result, [1], axis=axis)
        assert not first.any() and same_bits(rest, us.cumulative_sum(x, axis=axis))


def test_order_of_memory_of_results():
    """A scan writes beside what it reads."""
    x = np.asfortranarray(random((30, 40), "float32"))
    assert us.cumulative_sum(x, axis=0).flags.f_contiguous and us.cumulative_sum(x.T, axis=0).flags.c_contiguous


def test_dtype_and_out():
    x = random((30, 40), "float32")
    for dtype in FLOATS:
        out = np.zeros((30, 2), dtype)[:, 1]
        assert us.sum(x.astype(dtype), axis=1, out=out) is out
        assert same_bits(out.copy(), us.sum(x.astype(dtype), axis=1))
    assert same_bits(us.sum(x, axis=0, dtype=np.float64), us.sum(x.astype(np.float64), axis=0))
    out = np.zeros((30, 40))
    us.cumulative_sum(x, axis=0, out=out)
    assert same_bits(out, us.cumulative_sum(x.astype(np.float64), axis=0))
    in_place = x.copy()
    assert us.cumulative_sum(in_place, axis=1, out=in_place) is in_place
    assert same_bits(in_place, us.cumulative_sum(x, axis=1))


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_and_products_in_another_type(dtype):
    for shape, axis in (((300, 700), 0), ((300, 700), 1), ((3, 70_000), 1), ((70_000, 3), 0), ((6, 40, 8, 10), (0, 2, 3)), ((6, 40, 8), (1, 2)),
                        ((9, 0), 1), ((150_001,), None), ((40, 30), None)):
        x = random(shape, dtype)
        for to, view in itertools.product(("float32", "float64"), (x, x.T[::-1] if axis is None or x.ndim == 2 else x[:, ::-2])):
            for call in (us.sum, us.prod):
                assert same_bits(call(view, axis=axis, dtype=to), call(view.astype(to), axis=axis)), (shape, axis, to, call)
    out = np.zeros(700)
    assert us.sum(random((300, 700), dtype), axis=0, out=out) is out


def test_what_is_refused():
    x = random((4, 4), "float64")
    before = x.copy()
    with pytest.raises(ValueError, match="overlap"):
        us.sum(x, axis=0, out=x[1])
    with pytest.raises(ValueError, match="overlap"):
        us.sum(x.T, axis=0, dtype=np.float64, out=x[:, 1])
    with pytest.raises(ValueError, match="overlap"):
        us.cumulative_sum(x[1:], axis=0, out=x[:-1])
    with pytest.raises(ValueError, match="shape"):
        us.sum(x, axis=0, out=np.zeros(3))
    for wrong in ({"dtype": np.float64}, {"axis": 0, "dtype": np.float64}):
        with pytest.raises(TypeError, match="kind"):
            us.sum(x, out=np.zeros((4,) if "axis" in wrong else (), np.int64), **wrong)
    with pytest.raises(TypeError, match="kind"):
        us.mean(x, out=np.zeros((), np.int32))
    with pytest.raises(ValueError, match="twice"):
        us.sum(x, axis=(0, -2))
    for wrong in (2, -3, (0, 2)):
        with pytest.raises(np.exceptions.AxisError):
            us.sum(x, axis=wrong)
    for wrong in (0.5, "0", [0]):
        with pytest.raises(TypeError):
            us.sum(x, axis=wrong)
    assert same_bits(x, before)


def test_many_dimensions():
    x = random((2,) * 12, "float32")[..., ::-1].transpose(0, 3, 2, 5, 1, 4, 11, 6, 7, 10, 9, 8)
    for axis in (0, 5, (1, 4, 9), (0, 1, 2)):
        assert same_bits(us.sum(x, axis=axis), by_lines(us.sum, x, axis))
    assert same_bits(us.sum(x), us.sum(x.copy()))


def test_no_copy():
    """Of an array of 512 MiB that is one row, 2^17 times."""
    x = np.broadcast_to(random(1024, "float32"), (1 << 17, 1024))[:, ::-1]
    assert same_bits(us.max(x, axis=0), x[0].copy())
    assert same_bits(us.sum(x[:4096], axis=1), np.full(4096, us.sum(x[0].copy())))
