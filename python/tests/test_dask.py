# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Dask's arrays: the bits of one call in memory, for any chunks, threads and processes."""
import inspect

import numpy as np
import pytest
import upsweep as us
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import random, same_bits

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

THREADS = {"scheduler": "threads", "num_workers": 2}


def same(ours, whole, **how):
    return same_bits(ours.compute(**(how or THREADS)), whole)


@st.composite
def chunked(draw, dtypes=("float32", "float64", "float16", "int8", "uint64", "bool"), dims=3):
    shape = draw(st.lists(st.integers(1, 40), min_size=1, max_size=dims))
    if len(shape) == 1:
        shape[0] *= 37
    x = random(tuple(shape), draw(st.sampled_from(dtypes)), draw(st.integers(0, 99)))
    sizes = tuple(draw(st.integers(max(1, extent // 6), extent)) for extent in shape)
    return x, da.from_array(x, chunks=sizes)


@settings(max_examples=40)
@given(chunked(), st.data())
def test_reductions(arrays, data):
    x, d = arrays
    axis = data.draw(st.one_of(st.none(), st.integers(-x.ndim, x.ndim - 1), st.permutations(range(x.ndim)).map(lambda p: tuple(p[:2]))))
    keepdims = data.draw(st.booleans())
    for name in ("sum", "prod", "min", "max", "mean", "any", "all"):
        with np.errstate(all="ignore"):
            lazy = getattr(us.dask, name)(d, axis=axis, keepdims=keepdims)
            whole = getattr(us, name)(x, axis=axis, keepdims=keepdims)
            assert lazy.shape == np.shape(whole) and lazy.dtype == np.asarray(whole).dtype
            assert same(lazy, whole), name


@settings(max_examples=40)
@given(chunked(), st.data())
def test_scans(arrays, data):
    x, d = arrays
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    with np.errstate(all="ignore"):
        assert same(us.dask.cumulative_sum(d, axis=axis), us.cumulative_sum(x, axis=axis))
        assert same(us.dask.cumulative_prod(d, axis=axis), us.cumulative_prod(x, axis=axis))


@pytest.mark.parametrize("size", (1 << 14, 12345))
@pytest.mark.parametrize("chunk", (1000, 1024, 4096, 7777))
@pytest.mark.parametrize("dtype", ("float32", "float16", "int32"))
def test_running_sums_across_chunks(size, chunk, dtype):
    x = random(size, dtype)
    d = da.from_array(x, chunks=chunk)
    assert same(us.dask.cumulative_sum(d), us.cumulative_sum(x))
    if dtype == "int32":
        assert same(us.dask.cumulative_sum(d, dtype="i2"), us.cumulative_sum(x, dtype="i2"))
    negative = np.full(size, -0.0, "f4")
    assert same(us.dask.cumulative_sum(da.from_array(negative, chunks=chunk)), us.cumulative_sum(negative))


@settings(max_examples=30)
@given(chunked(("float32", "float64", "int16")), st.sampled_from(({}, {"bins": 33}, {"bins": [-1, 0, 0.25, 9]},
                                                                 {"bins": 5, "range": (-2, 2)}, {"density": True})))
def test_histograms(arrays, arguments):
    x, d = arrays
    ours, whole = us.dask.histogram(d, **arguments).compute(**THREADS), us.histogram(x, **arguments)
    assert same_bits(ours[0], whole[0]) and same_bits(ours[1], whole[1]) and ours.outside == whole.outside


def test_processes():
    x = random(100_003, "float32")
    d = da.from_array(x, chunks=9999)
    how = {"scheduler": "processes", "num_workers": 2}
    lazy = us.dask.sum(d), us.dask.mean(d), us.dask.cumulative_sum(d), us.dask.histogram(d)
    total, mean, sums, histogram = dask.compute(*lazy, **how)
    assert same_bits(total, us.sum(x)) and same_bits(mean, us.mean(x)) and same_bits(sums, us.cumulative_sum(x))
    assert same_bits(histogram[0], us.histogram(x)[0])


def test_refusals():
    x = da.ones((4, 6), chunks=2)
    with pytest.raises(TypeError, match="array of Dask"):
        us.dask.sum(np.ones(3))
    with pytest.raises(ValueError, match="axis"):
        us.dask.cumulative_sum(x)
    with pytest.raises(np.exceptions.AxisError):
        us.dask.sum(x, axis=2)
    with pytest.raises(TypeError):
        us.dask.sum(x, dtype="i4")
    with pytest.raises(ValueError):
        us.dask.min(da.ones(0))
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        us.dask.sum(x[x > 0])
    with pytest.raises(TypeError, match="rule"):
        us.dask.histogram(x, "auto")
    assert us.dask.sum(da.ones(0)).compute() == 0


@pytest.mark.parametrize("name", us.dask.__all__)
def test_docstring(name):
    from test_docs import run

    text = inspect.cleandoc(getattr(us.dask, name).__doc__)
    if ">>>" in text:
        run(text, name)
