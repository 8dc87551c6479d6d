# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
import upsweep as us
from hypothesis import given
from hypothesis import strategies as st
from samples import DTYPES, FLOATS, arrays, random, same_bits

OPS = ("plus", "multiplies", "minimum", "logical_or")


def starts_of_runs(keys):
    return np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if len(keys) else np.empty(0, int)


lines = arrays(min_dims=1, max_dims=1, max_side=60)


@given(lines, st.lists(st.floats(0, 1), max_size=8), st.sampled_from(OPS), st.booleans(),
       st.sampled_from(("int64", "int32", "uint64", "uint8")))
def test_segments(x, cuts, op, exclusive, kind):
    offsets = np.array(sorted(int(cut * len(x)) for cut in cuts) or [0], kind)
    folds = us.segment_reduce(x, offsets, op)
    scans = us.segment_scan(x, offsets, op, exclusive=exclusive)
    assert len(folds) == len(offsets) - 1 and scans.shape == x.shape
    for k, (begin, end) in enumerate(zip(offsets, offsets[1:])):
        if begin != end:
            assert same_bits(folds[k], us.reduce(x[begin:end], op))
        elif op != "minimum":
            assert same_bits(folds[k], us.reduce(np.empty(0, x.dtype), op))
        assert same_bits(scans[begin:end], us.scan(x[begin:end], op, exclusive=exclusive))
    assert not scans[:offsets[0]].any() and not scans[offsets[-1]:].any()


def test_segments_of_truths_that_have_no_elements():
    """A truth is the byte 0 or 1, those of nothing, too."""
    x = random(100, bool)
    offsets = [0, 0, 40, 40, 41, 100, 100]
    for op, of_nothing in (("minimum", True), ("maximum", False), ("logical_and", True), ("logical_or", False), ("bit_and", True), ("bit_or", False)):
        fold = {True: np.all, False: np.any}[of_nothing]
        want = [of_nothing if first == end else fold(x[first:end]) for first, end in zip(offsets, offsets[1:])]
        assert same_bits(us.segment_reduce(x, offsets, op), np.array(want)), op


def test_wrong_offsets_are_refused():
    x = np.arange(5.0)
    for wrong in ([0, 6], [3, 2], [-1, 2], [0, 5, 4, 5], [], [[0, 1]]):
        for call in (us.segment_reduce, us.segment_scan):
            with pytest.raises(ValueError):
                call(x, np.array(wrong, np.int64), "plus")
    with pytest.raises(TypeError):
        us.segment_reduce(x, [0.0, 1.0], "plus")
    with pytest.raises(ValueError):
        us.segment_reduce(x.reshape(1, 5), [0, 1], "plus")


@given(st.integers(0, 500), st.sampled_from(DTYPES), st.sampled_from(("int8", "uint32", "int64", "float32", "bool")),
       st.sampled_from(OPS), st.booleans(), st.integers(1, 9))
def test_keys(size, dtype, kind, op, exclusive, run):
    values = random(size, dtype)
    keys = (np.random.default_rng(size).integers(0, run, size) // 3).astype(kind)
    starts = starts_of_runs(keys)
    first, totals = us.reduce_by_key(keys, values, op)
    scans = us.scan_by_key(keys, values, op, exclusive=exclusive)
    assert same_bits(first, keys[starts])
    assert len(totals) == len(starts)
    for k, (begin, end) in enumerate(zip(starts, [*starts[1:], size])):
        assert same_bits(totals[k], us.reduce(values[begin:end], op))
        assert same_bits(scans[begin:end], us.scan(values[begin:end], op, exclusive=exclusive))
    first, lengths = us.run_length_encode(keys)
    assert same_bits(first, keys[starts]) and same_bits(lengths, np.diff([*starts, size]).astype(np.int64))
    assert same_bits(us.run_length_decode(first, lengths), keys)


@pytest.mark.parametrize("dtype", DTYPES)
def test_runs_of_every_type(dtype):
    x = np.repeat(random(1000, dtype), random(1000, "uint8") % 5)
    values, lengths = us.run_length_encode(x[::-1])
    assert same_bits(us.run_length_decode(values, lengths), x[::-1].copy())
    assert (lengths > 0).all() and (values[1:] != values[:-1]).all()
    assert values.base is None and values.nbytes == len(values) * x.itemsize


def test_nan_and_zeros_as_keys():
    keys = np.array([np.nan, np.nan, -0.0, 0.0, 0.0])
    values, lengths = us.run_length_encode(keys)
    assert lengths.tolist() == [1, 1, 3] and np.signbit(values[2])


def test_scans_by_key_with_a_beginning_and_in_place():
    keys, values = np.array([1, 1, 2]), np.array([1.0, 2.0, 4.0])
    assert us.scan_by_key(keys, values, "plus", initial=10).tolist() == [11, 13, 14]
    assert us.scan_by_key(keys, values, "plus", exclusive=True, initial=10, dtype=np.float32).dtype == np.float32
    assert us.scan_by_key(keys, values, "plus", out=values) is values and values.tolist() == [1, 3, 4]
    assert us.segment_scan(values, [0, 3], "plus", initial=1).tolist() == [2, 5, 9]


def test_lengths_that_are_refused():
    for values, lengths, error in (([1, 2], [1], ValueError), ([1, 2], [3, -1], ValueError), ([1], [-1], ValueError),
                                   ([1], [1.0], TypeError), ([[1]], [1], ValueError)):
        with pytest.raises(error):
            us.run_length_decode(np.array(values), np.array(lengths))
    with pytest.raises(ValueError):
        us.reduce_by_key(np.arange(3), np.arange(4), "plus")
    assert us.run_length_decode(np.array([7]), np.array([3], np.uint8)).tolist() == [7, 7, 7]


@given(arrays(min_dims=2, max_dims=4))
def test_integral_image(x):
    result = us.integral_image(x)
    wide = np.float32 if x.dtype == np.float16 else us.sum(np.zeros(1, x.dtype)).dtype
    assert same_bits(result, us.cumulative_sum(us.cumulative_sum(x, axis=-1, dtype=wide), axis=-2))


def test_integral_image_into():
    x = random((9, 9), "uint8")
    assert us.integral_image(x, dtype=np.uint32).dtype == np.uint32
    out = np.zeros((9, 9), np.float32)
    assert us.integral_image(x, out=out) is out and out[-1, -1] == x.astype(int).sum()
    for wrong, error in ((np.zeros(3), ValueError), (np.zeros((2, 2), complex), TypeError)):
        with pytest.raises(error):
            us.integral_image(wrong)


@pytest.mark.parametrize("dtype", ("uint8", "int64", "float64"))
def test_rectangles(dtype):
    image = random((2, 17, 23), dtype)
    integral = us.integral_image(image)
    rng = np.random.default_rng(5)
    rows, columns = np.sort(rng.integers(0, 18, (2, 50)), axis=0), np.sort(rng.integers(0, 24, (2, 50)), axis=0)
    sums = us.rectangle_sum(integral, rows, columns)
    assert sums.shape == (2, 50) and sums.dtype == integral.dtype
    for k in range(50):
        want = image[:, rows[0, k]:rows[1, k], columns[0, k]:columns[1, k]].sum(axis=(1, 2), dtype=integral.dtype)
        np.testing.assert_allclose(sums[:, k], want, rtol=1e-9, atol=1e-9 if dtype in FLOATS else 0)
    assert us.rectangle_sum(integral[0], (0, 0), (3, 9)) == 0
    for wrong in (((2, 1), (0, 1)), ((0, 18), (0, 1)), ((-1, 2), (0, 1)), ((0, 1), (0, 24))):
        with pytest.raises(ValueError):
            us.rectangle_sum(integral, *wrong)
    with pytest.raises(TypeError):
        us.rectangle_sum(integral, (0, 1.5), (0, 1))
    with pytest.raises(ValueError):
        us.rectangle_sum(np.zeros(3), (0, 1), (0, 1))
