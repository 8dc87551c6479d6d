# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Histograms along an axis and of segments beside NumPy, line by line."""
import pickle

import numpy as np
import pytest
import upsweep as us
from hypothesis import given
from hypothesis import strategies as st


def check(counts, outside, x, edges):
    """One histogram of several, beside NumPy's."""
    with np.errstate(invalid="ignore"):
        finite = x[~np.isnan(x)] if x.dtype.kind == "f" else x
    assert np.array_equal(counts, np.histogram(finite, edges)[0])
    assert [int(number) for number in outside] == [np.sum(finite < edges[0]), np.sum(finite > edges[-1]), x.size - finite.size]


def some_samples(rng, shape, dtype):
    x = (10 * rng.normal(size=shape)).astype(dtype)
    if x.dtype.kind == "f":
        x[rng.random(shape) < 0.1] = np.nan
    return x


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.sampled_from(("float32", "float64", "int16", "uint8")),
       st.integers(0, 99), st.integers(1, 9))
def test_axes(shape, dtype, seed, bins):
    rng = np.random.default_rng(seed)
    x = some_samples(rng, shape, dtype).transpose(rng.permutation(len(shape)))[::-1]
    for axis in range(-len(shape), len(shape)):
        for given_bins in (bins, np.unique(rng.integers(-20, 20, bins + 9))):
            counts, edges = ours = us.histogram(x, given_bins, (-8, 9), axis=axis)
            expected = list(x.shape)
            expected[axis] = len(edges) - 1
            assert list(counts.shape) == expected and counts.dtype == np.int64
            lines = np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis])
            of_lines = np.moveaxis(counts, axis, -1).reshape(len(lines), -1)
            beside = np.stack([np.reshape(number, -1) for number in ours.outside], -1)
            for k, line in enumerate(lines):
                check(of_lines[k], beside[k], line, edges)


def test_range_is_that_of_all_samples():
    x = np.array([[1.0, 2.0], [5.0, 3.0]])
    assert np.array_equal(us.histogram(x, 4, axis=0)[1], np.histogram(x, 4)[1])
    assert us.histogram(np.zeros((0, 3)), 2, axis=0)[0].tolist() == [[0, 0, 0], [0, 0, 0]]
    assert us.histogram(np.zeros((0, 3)), 2, axis=1)[0].shape == (0, 2)


@given(st.lists(st.integers(0, 9), max_size=30), st.sampled_from((np.int8, np.int32, np.uint32, np.int64)), st.integers(0, 99))
def test_segments(lengths, dtype, seed):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[1], 1 + np.cumsum(lengths)]).astype(np.int64)
    x = some_samples(rng, int(offsets[-1]) + 2, "float32")[::-1]
    if offsets[-1] > np.iinfo(dtype).max:
        dtype = np.int32
    for bins in (4, [-3.0, 0.5, 7.0]):
        counts, edges = ours = us.segment_histogram(x, offsets.astype(dtype), bins, (-8, 9))
        assert counts.shape == (len(lengths), len(edges) - 1)
        for k in range(len(lengths)):
            check(counts[k], [number[k] for number in ours.outside], x[offsets[k]:offsets[k + 1]], edges)


def test_other_things():
    h = us.histogram(np.arange(6.0).reshape(2, 3), 2, axis=0)
    again = pickle.loads(pickle.dumps(h))
    assert isinstance(again, us.Histograms) and np.array_equal(again[0], h[0])
    assert np.array_equal(again.outside.above, h.outside.above)
    with pytest.raises(np.exceptions.AxisError):
        us.histogram(np.zeros((2, 3)), axis=2)
    with pytest.raises(TypeError, match="weights"):
        us.histogram(np.zeros((2, 3)), axis=1, weights=np.ones((2, 3)))
    with pytest.raises(ValueError, match="offset 2 of 3"):
        us.segment_histogram(np.zeros(5), [0, 3, 9])
    with pytest.raises(ValueError, match="one dimension"):
        us.segment_histogram(np.zeros((5, 1)), [0, 3])
    with pytest.raises(TypeError, match="integers"):
        us.segment_histogram(np.zeros(5), [0.0, 3.0])
