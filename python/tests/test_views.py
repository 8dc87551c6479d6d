# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Large arrays that do not lie in their order, with gaps, or folded along several axes: folded where they lie, with the bits of a copy."""
import numpy as np
import pytest
import upsweep as us
from samples import DTYPES, INTEGERS, random, same_bits

FOLDS = (us.sum, us.prod, us.min, us.max, us.any, us.all, us.mean, us.var)
VIEWS = {
    "transposed": lambda x: x.T,
    "transposed, odd": lambda x: x[:333, :999].T,
    "rows with gaps": lambda x: x[:, 3:900],
    "columns of rows with gaps": lambda x: x[:, 3:900].T,
    "backwards": lambda x: x[::-1, ::-1],
    "every other": lambda x: x[:, ::2],
    "every other, transposed": lambda x: x[::2, ::2].T,
    "parts": lambda x: x.reshape(-1, 4)[:, :3],
    "three axes": lambda x: x.reshape(48, 8, -1).swapaxes(0, 2),
    "three axes with gaps": lambda x: x.reshape(48, 8, -1)[:, ::3, 5:].transpose(1, 2, 0),
    "broadcast": lambda x: np.broadcast_to(x[:, None, :64], (384, 7, 64)),
    "broadcast, transposed": lambda x: np.broadcast_to(x[:, None, :64], (384, 7, 64)).T,
}


@pytest.fixture(params=DTYPES, scope="module")
def elements(request):
    x = random((384, 1024), request.param, 3)
    if x.dtype.kind == "f":
        x[5, 7] = -0.0
    return x


@pytest.mark.parametrize("name", VIEWS)
def test_bits_of_a_copy(elements, name):
    view = VIEWS[name](elements)
    with np.errstate(over="ignore"):
        for fold in FOLDS:
            assert same_bits(fold(view), fold(view.copy(order="C").reshape(-1))), fold
    for find in (us.argmin, us.argmax):
        assert find(view) == find(view.copy(order="C").reshape(-1))


@pytest.mark.parametrize("special", ("one", "last", "none", "all", "nan"))
def test_truths_and_extrema_that_one_element_decides(special):
    for dtype in DTYPES:
        x = np.zeros((300, 512), dtype)
        if special == "one":
            x[123, 77] = 1
        elif special == "last":
            x[-1, -1] = 1
        elif special == "all":
            x[...] = 1
        elif special == "nan":
            if x.dtype.kind != "f":
                continue
            x[123, 77] = np.nan
            x[5, 5] = -0.0
        for view in (x, x.T, x[:, 1:], x[::-1, ::-1], x[:, ::2], x[1:, 1:].T):
            for ours, peer in ((us.any, np.any), (us.all, np.all), (us.max, np.max), (us.min, np.min)):
                for axis in (None, 0, 1):
                    assert np.array_equal(ours(view, axis=axis), peer(view, axis=axis), equal_nan=x.dtype.kind == "f"), (dtype, ours, axis)
            assert us.argmax(view) == np.argmax(view)
            assert us.argmax(view != 0) == np.argmax(view != 0) and us.argmin(view == 0) == np.argmin(view == 0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", range(1, 17))
def test_few_long_rows(dtype, rows):
    """Lines of few elements, whose neighbours lie side by side, with gaps between rows or without."""
    x = random((rows, 5003), dtype, rows)
    for view in (x, x[:, 1:4999], x[::-1], x[:, ::3]):
        turned = view.T.copy(order="C")
        with np.errstate(over="ignore"):
            for fold in FOLDS:
                want = np.array([fold(line) for line in turned])
                assert same_bits(fold(view, axis=0), want), fold
                assert same_bits(fold(turned, axis=1), want), fold


@pytest.mark.parametrize("shape, axes", (
    ((16, 12, 16, 16), (0, 2, 3)), ((16, 12, 15, 20), (0, 2, 3)), ((30, 50, 64), (0, 2)), ((30, 64, 50), (0, 1)), ((64, 9, 7, 32), (1, 3)), ((9, 64, 7, 32), (0, 2)),
    ((5, 6, 7, 8), (0, 2)), ((40, 3, 1, 128), (0, 2, 3)), ((40, 33, 31), (0, 2)), ((2, 3, 2, 3, 4, 64), (0, 2, 5)), ((2, 3, 2, 3, 4, 64), (0, 3, 5)),
))
def test_axes_that_do_not_lie_as_one(shape, axes):
    for dtype in DTYPES:
        x = random(shape, dtype, 11)
        kept = [k for k in range(x.ndim) if k not in axes]
        lines = x.transpose(*kept, *axes).reshape(*(shape[k] for k in kept), -1)
        with np.errstate(over="ignore"):
            for fold in FOLDS:
                want = fold(lines, axis=-1)
                assert same_bits(fold(x, axis=axes), want), (dtype, fold)
                assert same_bits(fold(x, axis=axes, keepdims=True), want.reshape([1 if k in axes else extent for k, extent in enumerate(shape)]))
            for fold in (us.sum, us.max, us.mean):
                want = fold(lines, axis=-1)
                out = np.full(2 * want.size, 77, want.dtype)[::2].reshape(want.shape)
                assert fold(x, axis=axes, out=out) is out and same_bits(out, want), (dtype, fold)


def test_eight_dimensions_whose_blocks_are_a_ninth():
    x = random((12, 4, 4, 4, 3, 4, 4, 3), "float32")
    view = np.moveaxis(np.pad(x, [(0, 1)] * 8)[tuple(slice(extent) for extent in x.shape)], 0, -1)
    for fold in (us.sum, us.prod, us.mean, us.max):
        assert same_bits(fold(view), fold(view.copy(order="C").reshape(-1)))


def test_means_of_tiny_numbers_ask_nothing_of_numpy():
    x = np.full((16, 12, 16), 1e-45, np.float32)
    out = np.zeros((24,), np.float32)[::2]
    with np.errstate(all="raise"):
        assert same_bits(us.mean(x, axis=(0, 2)), us.mean(x.transpose(1, 0, 2).reshape(12, -1), axis=1))
        assert us.mean(x, axis=(0, 2), out=out) is out


def test_folds_of_nothing():
    for dtype in DTYPES:
        for shape, axis in (((0, 100), 0), ((0, 70001), 0), ((50, 0, 20), 1), ((50, 0, 20), (0, 1)), ((4, 0, 3, 0, 70), (1, 3))):
            x = np.zeros(shape, dtype)
            for ours, peer in ((us.sum, np.sum), (us.prod, np.prod), (us.any, np.any), (us.all, np.all)):
                assert np.array_equal(ours(x, axis=axis), peer(x, axis=axis)), (dtype, shape, ours)
                assert np.array_equal(ours(np.asfortranarray(x), axis=axis), peer(x, axis=axis)), (dtype, shape, ours)


def test_truths_of_many_lines():
    for dtype in ("float32", "float64", "int16", "float16"):
        x = (random((2, 3, 70003), "float32") > 2).astype(dtype)
        for view in (x, x[:, ::-1, 1:], x.swapaxes(0, 1), x[..., ::2]):
            for axis in range(3):
                for ours, peer in ((us.any, np.any), (us.all, np.all)):
                    want = peer(view, axis=axis)
                    out = np.zeros((*want.shape, 2), bool)[..., 0]
                    assert np.array_equal(ours(view, axis=axis), want) and np.array_equal(ours(view, axis=axis, out=out), want)


def test_products_of_many_columns():
    for shape in ((9, 70001), (40, 3, 30011), (300, 2, 1, 17000)):
        x = random(shape, "int16") | np.int16(1)
        for view in (x, x[..., 1:], x[::-1, ..., ::-1]):
            assert same_bits(us.prod(view, axis=0), np.multiply.reduce(view, axis=0, dtype=np.int64))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_products_of_columns(dtype):
    x = random((1000, 40), dtype, 5) | random((1000, 40), dtype, 6).dtype.type(1)
    wide = np.uint64 if x.dtype.kind == "u" else np.int64
    for view in (x, x[::-1], x[:, ::-1], x[::7, 3:], x[:, ::3], np.broadcast_to(x[:, :1], (1000, 20)), x[:5], x.reshape(25, 40, 40).swapaxes(0, 2)):
        for axis in range(view.ndim):
            assert same_bits(us.prod(view, axis=axis), np.multiply.reduce(view, axis=axis, dtype=wide))


@pytest.mark.parametrize("dtype", ("uint8", "int32", "float16", "float64", "bool"))
def test_conversions_of_scans_in_any_order_of_memory(dtype):
    x = random((70, 5, 90), dtype, 9)
    for view in (x.T, x.swapaxes(0, 1), x[:, :, ::2].T, x[::-1].transpose(2, 0, 1), x[:, 1:2].T, x[:, ::-1, 1:].swapaxes(1, 2)):
        for axis in range(3):
            for dtypes in ({}, {"dtype": "float64"}):
                with np.errstate(over="ignore"):
                    assert same_bits(us.cumulative_sum(view, axis=axis, **dtypes), us.cumulative_sum(view.copy(order="C"), axis=axis, **dtypes))
