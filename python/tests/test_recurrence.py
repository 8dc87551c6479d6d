# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Linear recurrences beside the page of NumPy in docs/fold-order.md, which shares no code with the engine."""
import numpy as np
import pytest
import upsweep as us
from hypothesis import given
from hypothesis import strategies as st
from samples import arrays, random, same_bits


def product(x, y):
    with np.errstate(all="ignore"):
        return np.where(((x == 0) & np.isinf(y)) | (np.isinf(x) & (y == 0)), x.dtype.type(0), x * y)


def reference(a, b, h0):
    """Along the last axis, in the type of a: the states before each element, to which the last block's total is applied."""
    totals = [(a, b)]
    while totals[-1][0].shape[-1] > 1:
        a2, b2 = totals[-1]
        even = a2.shape[-1] // 2 * 2
        f, g = (a2[..., 0:even:2], b2[..., 0:even:2]), (a2[..., 1:even:2], b2[..., 1:even:2])
        with np.errstate(all="ignore"):
            totals.append((product(g[0], f[0]), product(g[0], f[1]) + g[1]))
    h = np.empty_like(b)
    for m in range(1, b.shape[-1] + 1):
        level = (m & -m).bit_length() - 1
        block = (m >> level) - 1
        before = h0 if m == m & -m else h[..., m - (m & -m) - 1]
        with np.errstate(all="ignore"):
            h[..., m - 1] = product(totals[level][0][..., block], before) + totals[level][1][..., block]
    return h


@given(arrays(("float32", "float64"), min_dims=1, max_dims=3, max_side=40, min_side=1), st.data())
def test_bits(b, data):
    a = (random(b.shape, b.dtype, data.draw(st.integers(0, 9))) / 4).astype(b.dtype)
    axis = data.draw(st.integers(-b.ndim, b.ndim - 1))
    reverse = data.draw(st.booleans())
    lines = np.moveaxis(b, axis, -1).shape[:-1]
    initial = data.draw(st.sampled_from((None, 0.5, random(lines, b.dtype, 3))))
    got = us.linear_recurrence(a, b, initial=initial, axis=axis, reverse=reverse)
    turn = slice(None, None, -1 if reverse else 1)
    h0 = np.broadcast_to(np.asarray(0 if initial is None else initial, b.dtype), lines)
    want = reference(np.moveaxis(a, axis, -1)[..., turn], np.moveaxis(b, axis, -1)[..., turn], h0)[..., turn]
    assert same_bits(np.moveaxis(got, axis, -1), want)


def test_long_lines():
    a, b = random(100_001, "float32", 1).clip(-1, 1), random(100_001, "float32", 2)
    h = us.linear_recurrence(a, b)
    assert same_bits(h, reference(a, b, np.float32(0)))
    out = a.copy()
    assert us.linear_recurrence(out, b, out=out) is out and same_bits(out, h)


def test_shapes_and_types():
    decay = np.array([[0.5], [0.25]], np.float32)
    x = np.ones((2, 3), np.float32)
    assert us.linear_recurrence(decay, x, axis=1).tolist() == [[1, 1.5, 1.75], [1, 1.25, 1.3125]]
    assert same_bits(us.linear_recurrence(0.5, x, axis=-1)[0], us.linear_recurrence(x[0] / 2, x[0]))
    assert us.linear_recurrence(2, [1, 1, 1]).dtype == np.float64
    half = random(100, "float16", 4) / 8
    wide = us.linear_recurrence(half.astype("f4"), half.astype("f4"))
    assert same_bits(us.linear_recurrence(half, half), wide.astype("f2"))
    assert us.linear_recurrence(decay.astype("f8"), x, axis=1).dtype == np.float64
    assert us.linear_recurrence(np.zeros((0, 3)), np.zeros((0, 3)), axis=0).shape == (0, 3)
    out = np.empty(100, "f2")
    assert us.linear_recurrence(half, half, out=out) is out and same_bits(out, wide.astype("f2"))
    assert us.linear_recurrence(np.zeros(3), [1.0, np.inf, 2.0], initial=np.inf).tolist() == [1, np.inf, 2]


def test_refusals():
    x = np.ones((2, 3))
    with pytest.raises(ValueError, match="pass axis"):
        us.linear_recurrence(x, x)
    with pytest.raises(np.exceptions.AxisError):
        us.linear_recurrence(x, x, axis=2)
    with pytest.raises(ValueError):
        us.linear_recurrence(x, np.ones(4), axis=0)
    with pytest.raises(ValueError):
        us.linear_recurrence(x, x, initial=np.ones(4), axis=1)
    with pytest.raises(TypeError):
        us.linear_recurrence(x, x, axis=0, out=np.ones((2, 3), "f4"))
    with pytest.raises(TypeError):
        us.linear_recurrence(np.ones(3, complex), np.ones(3))
    line = np.ones(10)
    with pytest.raises(ValueError, match="overlap"):
        us.linear_recurrence(line[:5], line[5:], out=line[3:8])


def test_numbers_take_the_type_of_the_array():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    half = random(100, "float32", 5).astype(ml_dtypes.bfloat16)
    states = us.linear_recurrence(0.9, half)
    assert states.dtype == half.dtype and same_bits(states, us.linear_recurrence(np.float32(0.9), half.astype("f4")).astype(half.dtype))
    assert us.linear_recurrence(np.float64(0.5), np.ones(3, "f4")).dtype == "f8"  # a type that NumPy promotes
