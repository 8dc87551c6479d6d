# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Histograms of arrays in memory of a GPU: the counts of the CPU, and the bits of its edges and sums of weights."""
import numpy as np
import pytest
import upsweep as us
from gpu_arrays import agree, kind  # noqa: F401, of which pytest makes fixtures
from samples import DTYPES, random, same_bits


def samples_of(dtype, shape):
    host = np.random.default_rng(5).integers(0, 100, shape).astype(dtype)
    if np.dtype(dtype).kind == "f":
        host.reshape(-1)[::17] = np.nan
        host[host == 3] = -np.inf
    return host


@pytest.mark.parametrize("dtype", ("uint8", "int32", "float16", "float32", "float64"))
def test_histograms(kind, dtype):
    host = np.random.default_rng(3).integers(0, 100, 70001).astype(dtype)
    there = kind.put(host)
    for how in ((10,), (64, (5, 50)), ([1, 2, 30, 99],), (np.linspace(0, 60, 31),), (7, (3, 3)), ("auto",), ("fd", (5, 50))):
        want, got = us.histogram(host, *how), us.histogram(there, *how)
        for a, b in zip(want, got):
            assert kind.is_own(b) and same_bits(a, kind.get(b)), how
        assert want.outside == got.outside
        assert np.array_equal(want.values(), got.values()) and len(got.axes[0]) == len(want.axes[0])
    if np.dtype(dtype).kind in "iu":
        agree(kind, us.bincount, host, there)
        agree(kind, lambda x: us.bincount(x, minlength=500), host, there)
    empty = kind.put(host[:0])
    assert int(us.histogram(empty, 4).values().sum()) == 0


HOW_BINNED = ({"bins": 7}, {"bins": 64, "range": (5, 50)}, {"bins": [1, 2, 30, 99]}, {"bins": np.linspace(0, 60, 31)})


def expect_same_histogram(kind, want, got, what):
    for a, b in zip(want, got):
        assert kind.is_own(b) and same_bits(a, kind.get(b)), what
    for a, b in zip(want.outside, got.outside):
        assert np.array_equal(a, kind.get(b) if kind.is_own(b) else b), what


@pytest.mark.parametrize("dtype", DTYPES)
def test_histograms_along_an_axis(kind, dtype):
    for shape in ((5,), (1, 4097), (4097, 3), (300, 40), (13, 50, 21), (7, 5, 3, 2), (70, 0), (0, 4)):
        host = samples_of(dtype, shape)
        there = kind.put(host)
        for axis in range(-1, len(shape) - 1):
            for how in HOW_BINNED[1:] if np.dtype(dtype).kind == "f" or dtype == "bool" else HOW_BINNED:
                if shape[axis] == 0 and how is HOW_BINNED[0]:
                    continue
                want, got = us.histogram(host, **how, axis=axis), us.histogram(there, **how, axis=axis)
                expect_same_histogram(kind, want, got, (shape, axis, how))


def test_histograms_along_an_axis_of_views(kind):
    if not kind.has_views:
        pytest.skip("its arrays have no views")
    host = samples_of("float32", (6, 70, 50))
    there = kind.put(host)
    for view in (lambda x: x[:, 1:, 1:], lambda x: x[::2, :, ::3], lambda x: x.swapaxes(0, 2)):
        for axis in range(3):
            want, got = (us.histogram(view(x), 9, (0, 90), axis=axis) for x in (host, there))
            expect_same_histogram(kind, want, got, axis)


@pytest.mark.parametrize("dtype", ("bool", "uint8", "int16", "uint64", "float16", "float32", "float64"))
def test_histograms_of_segments(kind, dtype):
    host = samples_of(dtype, 70001)
    there = kind.put(host)
    for offsets in ([0, 70001], [5, 5, 6, 900, 901, 70000], np.arange(0, 70001, 7), [3]):
        offsets = np.asarray(offsets)
        for how in HOW_BINNED[1:]:
            want = us.segment_histogram(host, offsets, **how)
            for given in (offsets, kind.put(offsets.astype("int32"))):
                expect_same_histogram(kind, want, us.segment_histogram(there, given, **how), (dtype, how))
    for wrong in ([0, 70002], [5, 4]):
        with pytest.raises(ValueError, match="offset"):
            us.segment_histogram(there, wrong, 3, (0, 1))


@pytest.mark.parametrize("dtype", ("int32", "float32", "float64"))
def test_joint_histograms(kind, dtype):
    points = samples_of(dtype, (70001, 2))
    there = kind.put(points)
    weights = random(70001, "float64")
    for how in ({"bins": 7, "range": ((5, 50), (0, 99))}, {"bins": [[1, 2, 30, 99], 5], "range": (None, (3, 60))},
                {"bins": (3, 4), "range": ((5, 50), (0, 99)), "weights": weights}, {"bins": 3, "range": ((5, 50), (0, 9)), "density": True}):
        want = us.histogramdd(points, **how)
        got = us.histogramdd(there, **{name: kind.put(given) if name == "weights" else given for name, given in how.items()})
        assert same_bits(kind.get(got[0]), want[0]) and got.outside == want.outside, how
        assert all(kind.is_own(b) and np.array_equal(a, kind.get(b)) for a, b in zip(want[1], got[1])), how
    for got, want in zip(us.histogramdd([there[:, 1]], 9, [(0, 50)])[1], us.histogramdd([points[:, 1]], 9, [(0, 50)])[1]):
        assert np.array_equal(kind.get(got), want)


@pytest.mark.parametrize("dtype", DTYPES)
def test_weights(kind, dtype):
    rng = np.random.default_rng(9)
    host, samples = random(70001, dtype), rng.integers(0, 100, 70001)
    weights = kind.put(host)
    for of_samples in ("uint8", "float32", "float64", "int64"):
        x = samples.astype(of_samples)
        there = kind.put(x)
        for how in HOW_BINNED:
            want, got = us.histogram(x, **how, weights=host), us.histogram(there, **how, weights=weights)
            for a, b in zip(want, got):
                assert kind.is_own(b) and same_bits(a, kind.get(b)), (of_samples, how)
            assert np.array_equal(want.outside, got.outside, equal_nan=True)
    want, got = us.bincount(samples, weights=host), us.bincount(kind.put(samples), weights=weights)
    assert kind.is_own(got) and same_bits(want, kind.get(got))
    with pytest.raises(ValueError, match="weight"):
        us.histogram(kind.put(samples), 3, weights=weights[1:])
    with pytest.raises(TypeError, match="host"):
        us.histogram(kind.put(samples), 3, weights=host)


def test_densities(kind):
    host = samples_of("int32", 70001)
    want, got = us.histogram(host, 13, density=True), us.histogram(kind.put(host), 13, density=True)
    assert np.allclose(want[0], kind.get(got[0]), rtol=1e-12) and want.outside == got.outside
    with pytest.raises(TypeError, match="axis"):
        us.histogram(kind.put(host), 13, density=True, axis=0)
