# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Points in bins beside NumPy."""
import pickle

import numpy as np
import pytest
import upsweep as us
from hypothesis import given
from hypothesis import strategies as st
from samples import same_bits


def check(ours, peer):
    assert np.array_equal(ours[0], peer[0]) and ours[0].shape == peer[0].shape
    assert len(ours[1]) == len(peer[1]) and all(same_bits(a, b) for a, b in zip(ours[1], peer[1]))


@given(st.integers(1, 3), st.integers(1, 5000), st.sampled_from(("float32", "float64", "int16")), st.integers(0, 99), st.data())
def test_beside_numpy(dimensions, count, dtype, seed, data):
    rng = np.random.default_rng(seed)
    points = (10 * rng.normal(size=(count, dimensions))).astype(dtype)
    numbers = data.draw(st.lists(st.integers(1, 9), min_size=dimensions, max_size=dimensions))
    ranges = data.draw(st.sampled_from((None, [(-8, 9)] * dimensions, [None] * dimensions)))
    check(us.histogramdd(points, numbers, ranges), np.histogramdd(points, numbers, ranges))
    edges = [np.unique(np.sort(rng.normal(size=n + 2)) * 9) for n in numbers]
    check(us.histogramdd(points, edges), np.histogramdd(points, edges))
    coordinates = [np.ascontiguousarray(column) for column in points.T]
    check(us.histogramdd(coordinates, numbers), np.histogramdd(points, numbers))
    weights = rng.integers(0, 1000, count)  # whose sums are exact in NumPy, too
    check(us.histogramdd(points, edges, weights=weights), np.histogramdd(points, edges, weights=weights))
    check(us.histogramdd(points, numbers, ranges, weights=weights / 8), np.histogramdd(points, numbers, ranges, weights=weights / 8))


def test_samples_on_edges():
    points = np.array([[x, y] for x in range(5) for y in range(5)], float)
    for bins in (4, (2, 4), ([0, 1, 4], [1, 3]), (np.arange(5), 3)):
        check(us.histogramdd(points, bins), np.histogramdd(points, bins))
        weights = np.arange(25.0)
        check(us.histogramdd(points, bins, weights=weights), np.histogramdd(points, bins, weights=weights))


def test_density():
    points = np.random.default_rng(1).normal(size=(1000, 2))
    ours, peer = us.histogramdd(points, (3, 4), density=True), np.histogramdd(points, (3, 4), density=True)
    assert np.allclose(ours[0], peer[0], rtol=1e-14, atol=0)


def test_outside():
    points = np.array([[0.5, 0.5], [-1, 0.5], [0.5, 2], [-1, 2], [np.nan, 2], [0.5, -1]])
    edges = ([0, 1], [0, 1])
    h = us.histogramdd(points, edges)
    assert h[0].tolist() == [[1]] and h.outside == (2, 2, 1)
    w = us.histogramdd(points, edges, weights=[1, 2, 4, 8, 16, 32])
    assert w[0].tolist() == [[1]] and w.outside == (34, 12, 16)
    assert pickle.loads(pickle.dumps(h)).outside == h.outside and len(h.axes) == 2 and "JointHistogram" in repr(h)
    assert us.histogramdd(np.empty((0, 2)), 3)[0].sum() == 0


def test_refusals():
    points = np.zeros((4, 2))
    for arguments in ({"bins": (1, 2, 3)}, {"bins": 0}, {"range": [(0, 1)]}, {"range": [(1, 0), (0, 1)]},
                      {"range": [(0, np.inf), None]}, {"bins": ([0, 0], [0, 1])}, {"weights": [1, 2]}, {"bins": (2**40, 2**40)}):
        with pytest.raises((ValueError, MemoryError)):
            us.histogramdd(points, **arguments)
    with pytest.raises(ValueError):
        us.histogramdd([np.zeros(3), np.zeros(4)])
    with pytest.raises(ValueError):
        us.histogramdd(np.zeros((2, 2, 2)))
    with pytest.raises(ValueError, match="finite"):
        us.histogramdd(np.full((2, 2), np.nan))
