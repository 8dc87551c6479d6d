# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Reductions and scans of arrays in memory of a GPU, whole and along their axes: the bits of the CPU."""
import numpy as np
import pytest
import upsweep as us
from gpu_arrays import REDUCTIONS, SCANS, Jax, Torch, agree, kind, needs_gpu, torch  # noqa: F401, of which pytest makes fixtures
from samples import DTYPES, SIZES, random, same_bits


@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions(kind, dtype):
    for size in SIZES:
        host = random(size, dtype)
        there = kind.put(host)
        for fold in REDUCTIONS:
            agree(kind, fold, host, there, (fold, size))


@pytest.mark.parametrize("dtype", DTYPES)
def test_scans(kind, dtype):
    for size in SIZES:
        host = random(size, dtype)
        there = kind.put(host)
        for fold in SCANS:
            agree(kind, fold, host, there, (fold, size))
        for how in ({"exclusive": True}, {"reverse": True}, {"exclusive": True, "reverse": True}, {"initial": 3}):
            for op in ("plus", "maximum"):
                agree(kind, lambda x: us.scan(x, op, **how), host, there, (op, how, size))
        agree(kind, lambda x: us.cumulative_sum(x, include_initial=True), host, there, size)


@pytest.mark.parametrize("op", ("bit_and", "bit_or", "bit_xor", "logical_and", "logical_or", "minimum"))
def test_operators(kind, op):
    for dtype in ("bool", "int8", "uint32", "int64"):
        host = random(70001, dtype)
        there = kind.put(host)
        agree(kind, lambda x: us.reduce(x, op), host, there, dtype)
        agree(kind, lambda x: us.scan(x, op), host, there, dtype)


@needs_gpu
def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for kind in (Torch(), Jax()):
        for size in (0, 1, 1000, 70001):
            host = random(size, "float32").astype(ml_dtypes.bfloat16)
            there = kind.put(host)
            for fold in (*REDUCTIONS, *SCANS):
                agree(kind, fold, host, there, (fold, size))
            agree(kind, lambda x: us.scan(x, "plus", initial=1.5), host, there, size)


def test_types_that_are_asked_for(kind):
    host = random(4097, "int32")
    there = kind.put(host)
    for dtype in ("int32", "int64", "float32", "float64", "float16"):
        agree(kind, lambda x: us.sum(x, dtype=dtype), host, there, dtype)
        agree(kind, lambda x: us.cumulative_sum(x, dtype=dtype), host, there, dtype)
    host = random(4097, "float32")
    agree(kind, lambda x: us.sum(x, dtype="float64"), host, kind.put(host))


@pytest.mark.parametrize("dtype", DTYPES)
def test_scans_to_other_types(kind, dtype):
    """Of large arrays that begin anywhere, from either end."""
    wider = ("float64",) if dtype in ("float32", "float64") else ("float32",) if dtype == "float16" else ("int64", "uint64", "int32", "float64")
    for size in (70_001, (1 << 21) + 77):
        host = random(size + 3, dtype)
        there = kind.put(host)
        for at in (0, 1, 3):
            for to in wider:
                agree(kind, lambda x: us.cumulative_sum(x[at:at + size], dtype=to), host, there, (to, at, size))
                agree(kind, lambda x: us.scan(x[at:at + size], "plus", exclusive=True, initial=5, dtype=to), host, there, (to, at, size))
            agree(kind, lambda x: us.cumulative_sum(x[at:at + size]), host, there, (at, size))
            agree(kind, lambda x: us.cumulative_prod(x[at:at + size]), host, there, (at, size))
        agree(kind, lambda x: us.scan(x[:size], "maximum", dtype=wider[-1]), host, there, size)
        for step in (2, 3):
            agree(kind, lambda x: us.cumulative_sum(x[1::step]), host, there, (step, size))
        agree(kind, lambda x: us.scan(x[1:], "plus", reverse=True), host, there, size)
        agree(kind, lambda x: us.scan(x[1:], "multiplies", exclusive=True, reverse=True), host, there, size)
    host = random((140, 1031), dtype)
    there = kind.put(host)
    for axis in (0, 1):
        agree(kind, lambda x: us.scan(x, "plus", reverse=True, axis=axis), host, there, axis)


def test_types_of_torch(torch):
    x = torch.arange(10, dtype=torch.int32, device="cuda")
    assert us.sum(x, dtype=torch.float64).dtype == torch.float64
    assert us.cumulative_sum(x, dtype=torch.bfloat16).dtype == torch.bfloat16


def test_shapes(kind):
    """No dimensions, none of them with elements, and several."""
    for shape in ((), (0,), (3, 0), (1, 1), (5, 7, 11)):
        host = random(shape, "float32") if shape else np.float32(1.25).reshape(())
        there = kind.put(np.ascontiguousarray(host).reshape(shape))
        for fold in (us.sum, us.mean, us.max):
            agree(kind, fold, host, there, shape)
        agree(kind, lambda x: us.sum(x, keepdims=True), host, there, shape)
    agree(kind, lambda x: us.reduce(x, "minimum", identity=7), np.zeros(0, "int16"), kind.put(np.zeros(0, "int16")))


def test_views(kind):
    """Elements are folded where they lie, whatever their strides."""
    if not kind.has_views:
        pytest.skip("its arrays have no views")
    host = random((300, 301), "float32")
    there = kind.put(host)
    views = [lambda x: x.reshape(-1)[1:], lambda x: x.reshape(-1)[3:-2], lambda x: x.T, lambda x: x[1:, ::3], lambda x: x[::2, 5]]
    if kind.name == "cupy":
        views.append(lambda x: x[::-1, ::-2])
    for view in views:
        for fold in (us.sum, us.prod, us.max, us.mean):
            agree(kind, lambda x: fold(view(x)), host, there, view)
    for view in (lambda x: x.reshape(-1)[1:], lambda x: x[:, 7], lambda x: x[5, ::4]):
        for fold in SCANS:
            agree(kind, lambda x: fold(view(x)), host, there, view)
    for dtype in ("int8", "float16", "float64"):
        host = random(70001, dtype)
        there = kind.put(host)
        for begin in (1, 2, 3, 7):
            agree(kind, lambda x: us.sum(x[begin:]), host, there, (dtype, begin))
            agree(kind, lambda x: us.cumulative_sum(x[begin:]), host, there, (dtype, begin))


@pytest.mark.parametrize("dtype", DTYPES)
def test_axes_that_do_not_lie_as_one(kind, dtype):
    """Axes are folded one after the other where that has the bits of a fold in order, and in a copy elsewhere."""
    for shape in ((6, 5, 64), (9, 3, 4, 8), (5, 2, 7, 7), (3, 4, 5, 8, 2)):
        host = random(shape, dtype)
        there = kind.put(host)
        for axis in ((0, 2), (0, 2, 3), (1, 3), (0, 2, 4), (4, 1)):
            if max(axis) < len(shape):
                for fold in REDUCTIONS:
                    for keepdims in (False, True):
                        agree(kind, lambda x: fold(x, axis=axis, keepdims=keepdims), host, there, (fold, shape, axis))
                agree(kind, lambda x: us.var(x, axis=axis), host, there, (shape, axis))


@pytest.mark.parametrize("dtype", DTYPES)
def test_views_of_every_type(kind, dtype):
    if not kind.has_views:
        pytest.skip("its arrays have no views")
    host = random((67, 1031), dtype)
    there = kind.put(host)
    views = [lambda x: x.reshape(-1)[1:], lambda x: x.reshape(-1)[::2], lambda x: x[:, 1:], lambda x: x[::3, :5], lambda x: x.T, lambda x: x[:, 1:].T]
    for view in views:
        for fold in (us.sum, us.min, us.max, us.any, us.all, us.mean, us.var):
            agree(kind, lambda x: fold(view(x)), host, there, (view, fold))


def test_large_views_whose_neighbours_lie_apart(kind):
    if not kind.has_views:
        pytest.skip("its arrays have no views")
    for dtype in ("float32", "float16", "int16", "uint8", "float64"):
        host = random((5000, 1024), dtype)  # too many for the kernel of few elements
        there = kind.put(host)
        views = [lambda x: x.T, lambda x: x[:4999].T, lambda x: x[:, 3:].T, lambda x: x[:, ::2].T, lambda x: x[:, 1:], lambda x: x.reshape(-1)[1:],
                 lambda x: x.reshape(50, 100, 1024).swapaxes(0, 2), lambda x: x.reshape(500, 10, 32, 32).swapaxes(1, 3)]
        for view in views:
            for fold in (us.sum, us.prod, us.mean, us.max, us.any, us.all, us.var):
                agree(kind, lambda x: fold(view(x)), host, there, (dtype, view, fold))


def test_results_of_scans_lie_in_memory_as_elements_do(kind):
    if not kind.has_views:
        pytest.skip("its arrays have no views")
    strides = lambda x: [abs(s) // (x.itemsize if kind.name == "cupy" else 1) for s in (x.strides if kind.name == "cupy" else x.stride())]
    for dtype in ("float32", "float16", "int8", "float64"):
        host = random((48, 5, 130), dtype)
        there = kind.put(host)
        views = [lambda x: x.T, lambda x: x.swapaxes(0, 1), lambda x: x.swapaxes(1, 2),
                 lambda x: x[:, :, 1:].T, lambda x: x[:, :1].T, lambda x: x.T[::2], lambda x: x[:1, :1, :1].T]
        for view in views:
            for axis in range(3):
                for fold in (us.cumulative_sum, us.cummax, us.cumulative_prod):
                    agree(kind, lambda x: fold(view(x), axis=axis), host, there, (dtype, view, axis, fold))
                agree(kind, lambda x: us.scan(view(x), "plus", axis=axis, exclusive=True, reverse=True), host, there, (dtype, view, axis))
                agree(kind, lambda x: us.cumulative_sum(view(x), axis=axis, include_initial=True), host, there, (dtype, view, axis))
        assert strides(us.cumulative_sum(there.T, axis=0)) == [1, 130, 650]
        assert strides(us.cumulative_sum(there.swapaxes(0, 1), axis=0)) == [130, 650, 1]
        assert strides(us.cumulative_sum(there[:, :, 1:].T, axis=2)) == [1, 129, 645]
        assert strides(us.cumulative_sum(there, axis=1)) == [650, 130, 1]


def test_lines_of_one_element(kind):
    """The fold of one element is that element, of whichever type its result is."""
    for dtype in DTYPES:
        host = random((1003, 1), dtype)
        there = kind.put(host)
        for fold in (us.sum, us.prod, us.mean, us.max, us.any, us.all, us.argmin, us.argmax):
            agree(kind, lambda x: fold(x, axis=1), host, there, (dtype, fold))
            agree(kind, lambda x: fold(x.reshape(1, -1), axis=0), host, there, (dtype, fold))
        if kind.has_views:
            for view in (lambda x: x[::2], lambda x: x[1:]):
                for fold in (us.sum, us.mean, us.any, us.argmax):
                    agree(kind, lambda x: fold(view(x), axis=1), host, there, (dtype, fold))


def test_means_of_integers_that_jax_keeps_in_32_bits():
    """What lies between the sums of blocks and the mean has 64 bits, whatever the library allows."""
    jax = pytest.importorskip("jax")
    if not any(device.platform == "gpu" for device in jax.devices()):
        pytest.skip("there is no GPU")
    host = np.full((4, 3, 1 << 12), 2**31 - 1, "int32")
    enabled = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", False)
    try:
        mean = np.asarray(us.mean(jax.numpy.asarray(host), axis=(0, 2)))
    finally:
        jax.config.update("jax_enable_x64", enabled)
    assert np.allclose(mean, 2.0**31 - 1, rtol=1e-6)


def test_out_that_overlaps(torch):
    x = torch.from_numpy(random(4097, "float16")).cuda()
    expected = us.sum(x[:-1].reshape(-1, 1), axis=1)
    assert torch.equal(us.sum(x[:-1].reshape(-1, 1), axis=1, out=x[1:]), expected)


def test_broadcast(torch):
    x = random(1000, "float32")
    there = torch.from_numpy(x).cuda().expand(5, 1000)
    assert same_bits(us.sum(there).cpu().numpy(), us.sum(np.broadcast_to(x, (5, 1000))))


@pytest.mark.parametrize("dtype", DTYPES)
def test_axes(kind, dtype):
    for shape in ((7, 11), (300, 301), (5, 70, 13), (3, 5000), (5000, 3), (2, 1, 9000), (4, 0), (0, 4)):
        host = random(shape, dtype)
        there = kind.put(host)
        for axis in (*range(len(shape)), -1, *(((0, 1), (1, 2), (0, 2), (2, 0)) if len(shape) == 3 else ())):
            for fold in REDUCTIONS:
                for keepdims in (False, True):
                    if host.size == 0 and fold is us.mean:
                        continue
                    agree(kind, lambda x: fold(x, axis=axis, keepdims=keepdims), host, there, (fold, shape, axis))
            if isinstance(axis, int):
                for fold in SCANS[:-1]:
                    agree(kind, lambda x: fold(x, axis=axis), host, there, (fold, shape, axis))
                for fold in SCANS[:2]:
                    agree(kind, lambda x: fold(x, axis=axis, include_initial=True), host, there, (fold, shape, axis))
                for how in ({"reverse": True}, {"exclusive": True}, {"exclusive": True, "initial": 1, "reverse": True}, {"initial": 1}):
                    agree(kind, lambda x: us.scan(x, "maximum" if "initial" in how else "plus", axis=axis, **how), host, there, (shape, axis, how))
        if kind.has_views:
            for view in (lambda x: x.swapaxes(0, -1), lambda x: x[..., ::2], lambda x: x[1:, 1:]):
                agree(kind, lambda x: us.sum(view(x), axis=0), host, there, shape)
                agree(kind, lambda x: us.max(view(x), axis=-1), host, there, shape)
                agree(kind, lambda x: us.cumulative_sum(view(x), axis=-1), host, there, shape)


@pytest.mark.parametrize("op", ("bit_and", "bit_or", "bit_xor", "logical_and", "logical_or", "multiplies"))
def test_operators_along_axes(kind, op):
    for dtype in ("bool", "int8", "uint16", "int64", "uint32"):
        host = random((70, 300), dtype)
        there = kind.put(host)
        for axis in (0, 1):
            agree(kind, lambda x: us.reduce(x, op, axis=axis), host, there, (dtype, axis))
            agree(kind, lambda x: us.scan(x, op, axis=axis, exclusive=True), host, there, (dtype, axis))
    agree(kind, lambda x: us.reduce(x, "minimum", axis=1, identity=7), np.zeros((3, 0), "int16"), kind.put(np.zeros((3, 0), "int16")))


@pytest.mark.parametrize("dtype", ("float16", "float32", "float64"))
def test_log_sum_exp_along_axes(kind, dtype):
    for shape in ((300, 7), (7, 300), (5, 70, 11), (2, 40000), (40000, 2), (3, 0)):
        host = (4 * random(shape, "float32")).astype(dtype)
        there = kind.put(host)
        for axis in range(len(shape)):
            agree(kind, lambda x: us.logcumsumexp(x, axis=axis), host, there, (shape, axis))
            agree(kind, lambda x: us.reduce(x, "log_sum_exp", axis=axis), host, there, (shape, axis))
            agree(kind, lambda x: us.scan(x, "log_sum_exp", axis=axis, exclusive=True, reverse=True), host, there, (shape, axis))
            agree(kind, lambda x: us.scan(x, "log_sum_exp", axis=axis, initial=1.5), host, there, (shape, axis))
        agree(kind, lambda x: us.reduce(x, "log_sum_exp", axis=(0, len(shape) - 1)), host, there, shape)


def test_converted_results_along_axes(kind):
    host = random((70, 300), "int16")
    there = kind.put(host)
    for dtype in ("int32", "uint8", "float64"):
        agree(kind, lambda x: us.sum(x, axis=0, dtype=dtype), host, there, dtype)
        agree(kind, lambda x: us.cumulative_sum(x, axis=1, dtype=dtype), host, there, dtype)
    if kind.has_views:
        for call, shape, dtype in ((us.sum, (300,), "float16"), (us.cumulative_sum, (70, 300), "float32")):
            x, out = random((70, 300), dtype), kind.put(np.zeros(shape, dtype))
            assert call(kind.put(x), axis=0, out=out) is out and same_bits(kind.get(out), call(x, axis=0))


@pytest.mark.parametrize("dtype", ("uint8", "int32", "int64", "float16", "float32", "float64"))
def test_variances(kind, dtype):
    """They have the bits of the CPU."""
    for shape, axis in (((0,), None), ((1,), None), ((70001,), None), ((1_000_003,), None), ((70, 300), 0), ((70, 300), 1), ((5, 70, 13), (0, 2)),
                        ((5, 70, 13), None), ((3, 9000), 1), ((70000, 3), 0), ((3, 70000), 0), ((2000, 40), 0), ((9, 5), 1), ((40, 0), 1)):
        host = random(shape, "float64").clip(-99, 99).astype(dtype)
        for how in ({}, {"correction": 1}, {"correction": 100}, {"keepdims": True}):
            want, got = us.var(host, axis=axis, **how), us.var(kind.put(host), axis=axis, **how)
            assert kind.is_own(got) and got.shape == np.shape(want) and kind.get(got).dtype == want.dtype
            assert same_bits(kind.get(got), want), (shape, axis)


@pytest.mark.parametrize("dtype", DTYPES)
def test_variances_of_blocks(kind, dtype):
    """Where elements do not lie in the order in which they are folded they have the same bits, whichever power of two divides an extent."""
    for shape, axes in (((64, 48, 30), ((0, 2), (0,), (1, 2), None)), ((3, 96, 5, 16), ((0, 2), (1, 3), (0, 1, 3), None)),
                        ((512, 300), ((0,), (1,), None)), ((301, 333), (None, (0,))), ((2, 8, 3, 4, 2, 16, 2, 3, 2), ((0, 2, 5), (1, 3, 4, 8)))):
        host = random(shape, "float64").clip(-99, 99).astype(dtype)
        there = kind.put(host)
        for axis in axes:
            want, got = us.var(host, axis=axis, correction=1), us.var(there, axis=axis, correction=1)
            assert kind.is_own(got) and got.shape == np.shape(want) and same_bits(kind.get(got), want), (shape, axis)
            if kind.has_views and len(shape) == 2:
                for view in (lambda x: x.T, lambda x: x.T[:, 1::2], lambda x: x[:, ::3].T):
                    want, got = us.var(view(host), axis=axis, keepdims=True), us.var(view(there), axis=axis, keepdims=True)
                    assert got.shape == np.shape(want) and same_bits(kind.get(got), want), (shape, axis)


@pytest.mark.parametrize("dtype", DTYPES)
def test_positions(kind, dtype):
    for shape in ((1,), (70001,), (4097, 3), (300, 40), (13, 50, 21), (7, 5, 3, 2), (0, 4)):
        host = random(shape, dtype)
        there = kind.put(host)
        for axis in (None, *range(-1, len(shape) - 1)):
            for fold in (us.argmin, us.argmax):
                agree(kind, lambda x: fold(x, axis=axis), host, there, (shape, axis))
                agree(kind, lambda x: fold(x, axis=axis, keepdims=True), host, there, (shape, axis))
    if kind.has_views:
        host = random((40, 50, 60), dtype)
        there = kind.put(host)
        for view in (lambda x: x[:, 1:, ::2], lambda x: x[::3, 5]):
            for axis in (0, 1):
                agree(kind, lambda x: us.argmin(view(x), axis=axis), host, there, axis)
