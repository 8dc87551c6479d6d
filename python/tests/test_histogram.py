# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
import math
import pickle
import xml.etree.ElementTree

import numpy as np
import pytest
import uhi.numpy_plottable
import uhi.typing.plottable
import upsweep as us
from hypothesis import given
from hypothesis import strategies as st
from samples import INTEGERS, arrays, random, same_bits


def assert_as_numpy(x, *arguments, **keywords):
    counts, edges = us.histogram(x, *arguments, **keywords)
    want, want_edges = np.histogram(x, *arguments, **keywords)
    assert same_bits(counts, want)
    assert same_bits(edges, want_edges)


@pytest.mark.parametrize("dtype", ("float32", "float64", *INTEGERS))
def test_as_numpy(dtype):
    for size in (0, 1, 1000, 70001):
        x = random(size, dtype)
        if dtype in ("int64", "uint64"):
            x >>= np.dtype(dtype).type(20)  # beyond 2^53 NumPy subtracts before it rounds
        for bins in (1, 10, 256):
            assert_as_numpy(x, bins)
            assert_as_numpy(x, bins, (0, 100))
            assert_as_numpy(x, bins=bins, range=(-0.25, 3))


@given(arrays(("float32", "float64", "int16"), max_dims=3), st.integers(1, 30), st.booleans())
def test_any_strides(x, bins, density):
    assert_as_numpy(x, bins)
    if x.size != 0 and np.ptp(x.astype(float)) > 0:
        assert_as_numpy(x, bins, density=density)


@pytest.mark.parametrize("rule", ("auto", "fd", "doane", "scott", "stone", "rice", "sturges", "sqrt"))
def test_rules_for_edges(rule):
    x = np.random.default_rng(3).normal(size=5000)
    assert_as_numpy(x, rule)
    assert_as_numpy(x, rule, (-1, 1))


def test_edges():
    x = random(5000, "float32")
    assert_as_numpy(x, [-3, -1, 0, 0.5, 4])
    assert_as_numpy(x, np.array([-3, 7]))
    for wrong in ([1], [[1, 2]], [2, 1], [1, 1], [0, np.nan], 0, -1, np.int64(0)):
        with pytest.raises(ValueError):
            us.histogram(x, wrong)
    for wrong in (["a", "b"], [1j, 2j]):
        with pytest.raises((TypeError, ValueError)):
            us.histogram(x, wrong)


def test_half_floats_have_edges_of_float32():
    x = random(3000, "float16")
    counts, edges = us.histogram(x, 100, (-2, 2))
    want, _ = np.histogram(x.astype(np.float32), 100, (-2, 2))
    assert same_bits(counts, want) and edges.dtype == np.float32


def test_samples_outside_are_told():
    x = np.array([-5, -np.inf, 0, 0.5, 1, 2, np.inf, np.nan, np.nan, np.nan])
    h = us.histogram(x, 4, (0, 1))
    assert h.outside == (2, 2, 3)
    assert h.outside.below == 2 and h.outside.above == 2 and h.outside.nan == 3
    assert h[0].sum() + sum(h.outside) == x.size
    assert us.histogram(x, [0, 1]).outside == (2, 2, 3)


def test_range():
    x = np.array([1.0, 2.0, np.nan])
    with pytest.raises(ValueError, match="not finite"):
        us.histogram(x)
    for wrong in ((1, 0), (0, np.inf), (0, 1, 2), 5):
        with pytest.raises(ValueError):
            us.histogram(x, 3, wrong)
    assert_as_numpy(np.full(5, 3.25))
    assert_as_numpy(np.full(5, 3.25), 4, (3.25, 3.25))


def test_density():
    x = random(1000, "float64")
    h = us.histogram(x, [-4, -1, 0, 3], density=True)
    assert same_bits(h[0], np.histogram(x, [-4, -1, 0, 3], density=True)[0])
    assert h.variances() is None and h.outside.below == np.count_nonzero(x < -4)


@pytest.mark.parametrize("dtype", ("float32", "float64", "float16", "int8", "int64", "uint16", "bool"))
def test_weights(dtype):
    """Sums of floats are those of the real numbers, rounded once."""
    x = random(5000, "float32")
    weights = random(5000, dtype)
    for bins, edges in ((7, np.histogram_bin_edges(x, 7, (-2, 3))), ([-2, 0, 3], np.array([-2.0, 0, 3]))):
        h = us.histogram(x, bins, (-2, 3) if bins == 7 else None, weights=weights)
        where = np.searchsorted(edges, x, side="right")
        where[x == edges[-1]] = len(edges) - 1
        groups = [weights[where == k] for k in range(len(edges) + 1)]
        if weights.dtype.kind == "f":
            kind = np.dtype(np.float64 if dtype == "float64" else np.float32)
            want = [kind.type(math.fsum(group.tolist())) for group in groups]
        else:
            kind = np.dtype(np.uint64 if dtype.startswith("u") else np.int64)
            want = [group.sum(dtype=kind) for group in groups]
        assert same_bits(h[0], np.array(want[1:-1], kind))
        assert h.outside.below == want[0] and h.outside.above == want[-1]
    if dtype == "float64":
        np.testing.assert_allclose(us.histogram(x, 9, weights=weights)[0], np.histogram(x, 9, weights=weights)[0], rtol=1e-9)
        np.testing.assert_allclose(us.histogram(x, 9, weights=weights, density=True)[0],
                                   np.histogram(x, 9, weights=weights, density=True)[0], rtol=1e-9)
        np.testing.assert_allclose(us.bincount(np.arange(5000) // 9, weights), np.bincount(np.arange(5000) // 9, weights),
                                   rtol=1e-9)
        assert us.histogram(np.full(3, np.nan), 2, (0, 1), weights=np.array([1.0, 2, 4])).outside.nan == 7


def test_weights_that_are_refused():
    x = np.arange(6.0).reshape(2, 3)
    for wrong, error in ((np.ones(6), ValueError), (np.ones((3, 2)), ValueError), (np.ones((2, 3), complex), TypeError)):
        with pytest.raises(error):
            us.histogram(x, 3, weights=wrong)
    with pytest.raises(ValueError):
        us.bincount(np.array([1, 2]), np.ones(3))
    with pytest.raises(ValueError):
        us.bincount(np.array([1, 2]), np.ones((2, 1)))
    assert us.bincount(np.array([1, 2]), [0.5, 2]).tolist() == [0, 0.5, 2]


def test_bincount():
    for dtype in ("bool", *INTEGERS):
        x = random(3000, dtype)
        x = np.minimum(x, x.dtype.type(1 if dtype == "bool" else 100))
        x = x if dtype == "bool" else np.maximum(x, x.dtype.type(0))
        assert same_bits(us.bincount(x), np.bincount(x.astype(np.int64)))
        assert same_bits(us.bincount(x, minlength=300), np.bincount(x.astype(np.int64), minlength=300))
    assert same_bits(us.bincount(np.empty(0, int)), np.bincount(np.empty(0, int)))
    for wrong, error in ((np.array([1, -1]), ValueError), (np.zeros((2, 2), int), ValueError), (np.zeros(3), TypeError),
                         (np.array([2**60]), ValueError)):
        with pytest.raises(error):
            us.bincount(wrong)
    with pytest.raises(ValueError):
        us.bincount(np.array([1]), minlength=-1)


@pytest.mark.parametrize("largest", [254, 255, 256, 257, 511, 512, 513, 100_000])
def test_bincount_of_larger_numbers_behind(largest):
    """The counters are as many as the numbers so far take."""
    x = np.zeros(5_000_000, np.int32)
    x[100::7] = 3
    x[-1] = largest
    assert same_bits(us.bincount(x), np.bincount(x))
    assert same_bits(us.bincount(x[::-1]), np.bincount(x))
    assert same_bits(us.bincount(x[:5000]), np.bincount(x[:5000]))
    assert same_bits(us.bincount(x[1::2].astype(np.uint64)), np.bincount(x[1::2]))
    steps = np.arange(len(x), dtype=np.int64) * largest // len(x)
    assert same_bits(us.bincount(steps), np.bincount(steps))
    x[-1] = -1
    with pytest.raises(ValueError):
        us.bincount(x)


def test_a_plottable_histogram():
    """The protocol of UHI, which mplhep and hist draw."""
    h = us.histogram(np.array([0.1, 0.2, 0.9]), 4, (0, 1))
    assert isinstance(h, uhi.typing.plottable.PlottableHistogram) and uhi.numpy_plottable.ensure_plottable_histogram(h) is h
    assert h.kind == "COUNT" and len(h.axes) == 1
    axis = h.axes[0]
    assert len(axis) == 4 and axis[1] == (0.25, 0.5) and axis[-1] == (0.75, 1.0)
    assert list(axis) == [axis[k] for k in range(4)] and not axis.traits.circular and not axis.traits.discrete
    assert axis == us.histogram(np.zeros(1), 4, (0, 1)).axes[0] and axis != us.histogram(np.zeros(1), 5, (0, 1)).axes[0]
    with pytest.raises(IndexError):
        axis[4]
    assert h.values().tolist() == [2, 0, 0, 1] and h.variances().tolist() == h.counts().tolist() == [2, 0, 0, 1]
    assert h.values().dtype == np.float64


def test_a_picture():
    for bins in (3, 5000):
        h = us.histogram(np.array([0.1, 0.2, 0.9, 7, np.nan]), bins, (0, 1))
        picture = xml.etree.ElementTree.fromstring(h._repr_html_())
        assert picture.tag.endswith("svg")
        words = " ".join(text.text for text in picture.iter() if text.text)
        assert "1 above" in words and "1 NaN" in words
    xml.etree.ElementTree.fromstring(us.histogram(np.empty(0))._repr_html_())


def test_histograms_can_be_pickled():
    h = us.histogram(np.array([0.1, 0.2, 9.0]), 4, (0, 1))
    back = pickle.loads(pickle.dumps(h))
    assert type(back) is us.Histogram and back.outside == h.outside
    assert same_bits(back[0], h[0]) and same_bits(back[1], h[1])
    assert "above=1" in repr(h)
