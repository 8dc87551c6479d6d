# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Arrays in memory of a GPU: the bits of the CPU, the kind of array that came, its stream, and no copies.

Without a GPU, or without the engine for one, the first test alone is run.
"""
import os
import sys
import threading

import numpy as np
import pytest
import upsweep as us
from samples import DTYPES, SIZES, random, same_bits
from upsweep import _core

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
HAS_GPU = _core.gpu_name() is not None
needs_gpu = pytest.mark.skipif(not HAS_GPU, reason="there is no GPU, or no engine for it")


class OnGpu:
    """An array that lies in memory of a GPU, and cannot be had."""

    def __dlpack__(self, **_):
        raise RuntimeError("the GPU has gone")

    def __dlpack_device__(self):
        return 2, 0


class OfCuda:
    """An array that shows where its elements lie, and nothing else."""

    def __init__(self, address=256, shape=(3,), typestr="<f4", is_read_only=False):
        self.__cuda_array_interface__ = {"version": 3, "shape": shape, "typestr": typestr, "strides": None,
                                         "data": (address, is_read_only)}


def test_arrays_of_a_gpu_without_one():
    """What has no engine for them says what to do; folds of the host alone refuse them always."""
    if not HAS_GPU:
        for wrong in (OnGpu(), OfCuda()):
            with pytest.raises((TypeError, RuntimeError), match="UPSWEEP_CUDA=ON|CUDA|no GPU|device"):
                us.sum(wrong)
            with pytest.raises((TypeError, RuntimeError)):
                us.histogram(wrong)
            with pytest.raises((TypeError, RuntimeError)):
                us.cumulative_sum(wrong)
    for wrong in (OnGpu(), OfCuda()):
        with pytest.raises(TypeError, match="one of the host; copy the array there|has no arithmetic"):
            us.histogramdd(wrong)


class Kind:
    """How arrays of a library are made of NumPy's, and back. `has_views`: they are views of one another, and can be written."""

    has_views = True

    def __init__(self):
        self.module = pytest.importorskip(self.name)


class Torch(Kind):
    name = "torch"

    def put(self, a):
        if a.dtype.name == "bfloat16":
            return self.module.from_numpy(a.view(np.uint16)).cuda().view(self.module.bfloat16)
        return self.module.from_numpy(a).cuda()

    def get(self, x):
        x = x.cpu()
        if x.dtype == self.module.bfloat16:
            import ml_dtypes

            return x.view(self.module.uint16).numpy().view(ml_dtypes.bfloat16)
        return x.numpy()

    def is_own(self, x):
        return type(x) is self.module.Tensor and x.is_cuda

    def address(self, x):
        return x.data_ptr()


class CuPy(Kind):
    name = "cupy"

    def put(self, a):
        return self.module.asarray(a)

    def get(self, x):
        return x.get()

    def is_own(self, x):
        return type(x) is self.module.ndarray

    def address(self, x):
        return x.data.ptr


class Jax(Kind):
    name = "jax"
    has_views = False

    def __init__(self):
        super().__init__()
        self.module.config.update("jax_enable_x64", True)

    def put(self, a):
        return self.module.device_put(a, self.module.devices("gpu")[0])

    def get(self, x):
        return np.asarray(x)

    def is_own(self, x):
        return isinstance(x, self.module.Array) and x.device.platform == "gpu"


@pytest.fixture(params=(Torch, CuPy, Jax), ids=lambda kind: kind.name, scope="module")
def kind(request):
    if not HAS_GPU:
        pytest.skip("there is no GPU, or no engine for it")
    return request.param()


@pytest.fixture(scope="module")
def torch():
    if not HAS_GPU:
        pytest.skip("there is no GPU, or no engine for it")
    return pytest.importorskip("torch")


REDUCTIONS = (us.sum, us.prod, us.min, us.max, us.any, us.all, us.mean)
SCANS = (us.cumulative_sum, us.cumulative_prod, us.cummin, us.cummax, us.logcumsumexp)


def agree(kind, call, host, there, why=""):
    """The call on both has the same bits, and the same error where there is one."""
    try:
        want = call(host)
    except (TypeError, ValueError) as error:
        with pytest.raises(type(error)):
            call(there)
        return
    got = call(there)
    assert kind.is_own(got), (type(got), why)
    assert same_bits(kind.get(got), want), (kind.get(got), want, why)


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


def test_types_that_are_asked_for(kind):
    host = random(4097, "int32")
    there = kind.put(host)
    for dtype in ("int32", "int64", "float32", "float64", "float16"):
        agree(kind, lambda x: us.sum(x, dtype=dtype), host, there, dtype)
        agree(kind, lambda x: us.cumulative_sum(x, dtype=dtype), host, there, dtype)
    host = random(4097, "float32")
    agree(kind, lambda x: us.sum(x, dtype="float64"), host, kind.put(host))


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


@pytest.mark.parametrize("dtype", ("uint8", "int32", "float32"))
def test_rectangles(kind, dtype):
    sums = us.integral_image(np.random.default_rng(1).integers(0, 9, (3, 40, 50)).astype(dtype))
    there = kind.put(sums)
    begin, end = np.array([0, 3, 7, 40]), np.array([0, 9, 40, 40])
    for rows, columns in (((0, 40), (0, 50)), ((3, 9), (7, 8)), ((5, 5), (0, 3)), ((begin, end), (begin, end))):
        agree(kind, lambda x: us.rectangle_sum(x, rows, columns), sums, there, (rows, columns))
    with pytest.raises(ValueError, match="not within"):
        us.rectangle_sum(there, (0, 41), (0, 3))


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


# --- segments, runs, selections, recurrences ----------------------------------------------------------------------------------------

def all_of(kind, call, *hosts):
    """The call on arrays there, each of which results has the bits of the one on arrays here."""
    want, got = call(*hosts), call(*map(kind.put, hosts))
    for one, other in zip(want if isinstance(want, tuple) else (want,), got if isinstance(got, tuple) else (got,)):
        assert kind.is_own(other) and same_bits(kind.get(other), one), (kind.get(other), one)


VALUES = ("int32", "int64", "float32", "float64")


@pytest.mark.parametrize("dtype", DTYPES)
def test_segments(kind, dtype):
    for size, segments in ((0, 3), (1, 1), (1000, 300), (70001, 9), (300_000, 40_000), (300_000, 1)):
        host = random(size, dtype)
        rng = np.random.default_rng(size)
        offsets = np.sort(rng.integers(0, size + 1, segments + 1))
        for op in ("plus", "multiplies", "minimum", "maximum", "logical_or"):
            all_of(kind, lambda x, at: us.segment_reduce(x, at, op), host, offsets)
        all_of(kind, lambda x, at: us.segment_reduce(x, at, "plus"), host, offsets.astype("int32"))
        agree(kind, lambda x: us.segment_reduce(x, offsets.tolist(), "plus"), host, kind.put(host))
        all_of(kind, lambda x, at: us.segment_scan(x, at, "plus", dtype=dtype), host, offsets)
        for how in ({}, {"exclusive": True}, {"initial": 1}, {"exclusive": True, "initial": 1}):
            all_of(kind, lambda x, at: us.segment_scan(x, at, "maximum", **how), host, offsets)


def keys_of(size, run, dtype="int64"):
    """Runs of as many keys in the mean."""
    return np.cumsum(np.random.default_rng(size).random(size) < 1 / run).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_keys(kind, dtype):
    for size, run in ((0, 1), (1, 1), (1000, 3), (70001, 1), (70001, 20), (300_000, 5000)):
        values = random(size, dtype)
        for kind_of_key in ("int32", "int64", "uint8"):
            keys = keys_of(size, run, kind_of_key)
            for op in ("plus", "multiplies", "minimum", "maximum", "logical_and"):
                all_of(kind, lambda k, x: us.reduce_by_key(k, x, op), keys, values)
            all_of(kind, lambda k, x: us.scan_by_key(k, x, "plus", dtype=dtype), keys, values)
            for how in ({}, {"exclusive": True}, {"initial": 1}, {"exclusive": True, "initial": 1}):
                all_of(kind, lambda k, x: us.scan_by_key(k, x, "maximum", **how), keys, values)
        keys = keys_of(size, run, dtype)
        if size:
            keys[-1] = keys[0]
        all_of(kind, us.run_length_encode, keys)
        all_of(kind, lambda k: us.run_length_decode(*us.run_length_encode(k)), keys)


@pytest.mark.parametrize("dtype", ("float16", "float32", "float64"))
def test_keys_that_are_floats(kind, dtype):
    """Runs of zeros of both signs are one, NaN is a run of its own; the first key of each is kept as it is."""
    for size, run in ((0, 1), (1, 1), (1000, 3), (70001, 1), (70001, 20), (300_000, 5000)):
        rng = np.random.default_rng(size)
        keys = np.array([0.0, -0.0, 2.5, np.nan, -np.inf, 1e-7], dtype)[keys_of(size, run) * 7 % 6]
        keys[rng.random(size) < 0.1] *= -1
        values = random(size, "float32")
        for op in ("plus", "maximum"):
            all_of(kind, lambda k, x: us.reduce_by_key(k, x, op), keys, values)
            all_of(kind, lambda k, x: us.scan_by_key(k, x, op), keys, values)
        all_of(kind, lambda k, x: us.scan_by_key(k, x, "plus", exclusive=True, initial=1), keys, values)
        all_of(kind, us.run_length_encode, keys)


@pytest.mark.parametrize("dtype", DTYPES)
def test_selections(kind, dtype):
    for shape in ((0,), (1,), (70001,), (300, 301)):
        host = random(shape, dtype)
        for share in (0, 0.01, 0.5, 1):
            mask = np.random.default_rng(1).random(shape) < share
            all_of(kind, us.select, host, mask)
            all_of(kind, lambda x, m: us.partition(x, m)[0], host, mask)
            assert us.partition(kind.put(host), kind.put(mask))[1] == mask.sum()


@pytest.mark.parametrize("dtype", (*VALUES, "uint8", "float16"))
def test_images_and_differences(kind, dtype):
    all_of(kind, us.integral_image, np.zeros((0, 5), dtype))
    for shape in ((4, 3), (70, 301), (3, 64, 65)):
        host = random(shape, dtype)
        all_of(kind, us.integral_image, host)
        for how in ({}, {"axis": 0}, {"n": 2}, {"prepend": 0}, {"axis": 0, "append": 3}):
            with np.errstate(over="ignore"):
                all_of(kind, lambda x: us.diff(x, **how), host)
    all_of(kind, lambda x: us.integral_image(x, dtype="float64"), random((9, 9), "float32"))


@pytest.mark.parametrize("dtype", ("float32", "float64", "float16"))
def test_recurrences(kind, dtype):
    for shape, axis in (((0,), 0), ((1,), 0), ((70001,), 0), ((3, 5000), 1), ((5000, 3), 0), ((4, 300, 5), 1), ((2, 3, 4, 50), -1)):
        a, b = (random(shape, dtype, k).clip(-1, 1) for k in (1, 2))
        lines = np.asarray(random(tuple(np.delete(shape, axis)), dtype, 3))
        for reverse in (False, True):
            for initial in (None, 0.5):
                all_of(kind, lambda a, b: us.linear_recurrence(a, b, initial=initial, axis=axis, reverse=reverse), a, b)
            all_of(kind, lambda a, b, h: us.linear_recurrence(a, b, initial=h, axis=axis, reverse=reverse), a, b, lines)
        all_of(kind, lambda b: us.linear_recurrence(0.5, b, axis=axis), b)
    all_of(kind, lambda a, b: us.linear_recurrence(a, b, axis=1), random((300, 1), dtype).clip(-1, 1), random((300, 200), dtype))
    a, b = (random((70, 300), dtype, k).clip(-1, 1) for k in (1, 2))
    all_of(kind, lambda a, b: us.linear_recurrence(a.T, b.T, axis=0), a, b)


def test_recurrences_without_copies(torch):
    a, b, out = (torch.rand(3, 5000, device="cuda") for _ in range(3))
    want = us.linear_recurrence(a.cpu(), b.cpu(), axis=1)
    assert us.linear_recurrence(a, b, axis=1, out=out) is out and same_bits(out.cpu().numpy(), want.numpy())
    us.linear_recurrence(a, b, axis=1, out=b)
    assert same_bits(b.cpu().numpy(), want.numpy())


def test_gradients_there(torch):
    """The same operators as in memory of the host, whose gradients have the same bits where they are folds."""
    offsets = torch.tensor([0, 3, 300, 1000])
    for call in (lambda x: us.cumulative_sum(x), lambda x: us.linear_recurrence(0.5, x), lambda x: us.integral_image(x.view(10, 100)),
                 lambda x: us.segment_reduce(x, offsets, "plus"), lambda x: us.logcumsumexp(x),
                 lambda x: us.logcumsumexp(x.view(10, 100), axis=0), lambda x: us.logcumsumexp(x.view(10, 100), axis=1)):
        here = torch.randn(1000, dtype=torch.float64, requires_grad=True)
        there = here.detach().cuda().requires_grad_()
        (call(here) ** 2).sum().backward()
        (call(there) ** 2).sum().backward()
        assert torch.allclose(here.grad, there.grad.cpu(), rtol=1e-9)


def test_shapes_that_have_no_kernel(torch):
    """Each refusal says what there is."""
    x, at, mask = torch.ones(6, device="cuda"), torch.tensor([0, 2, 6], device="cuda"), torch.ones(6, dtype=torch.bool, device="cuda")
    for call, words in (
            (lambda: us.segment_reduce(x, at, "log_sum_exp"), "log_sum_exp"), (lambda: us.segment_scan(x, at, "log_sum_exp"), "log_sum_exp"),
            (lambda: us.reduce_by_key(at, at.float(), "log_sum_exp"), "log_sum_exp"), (lambda: us.scan_by_key(x, x, "log_sum_exp"), "log_sum_exp"),
            (lambda: us.reduce_by_key(at, np.ones(3), "plus"), "lies in memory of the host"), (lambda: us.select(x, x), "not of bool"),
            (lambda: us.linear_recurrence(x, np.ones(6)), "lies in memory of the host"),
            (lambda: us.linear_recurrence(x, torch.arange(6, device="cuda")), "float32 or float64")):
        with pytest.raises(TypeError, match=words):
            call()
    for call in (lambda: us.segment_reduce(x, at.flip(0), "plus"), lambda: us.segment_reduce(x, [0, 7], "plus"),
                 lambda: us.segment_reduce(x, at - 1, "plus"), lambda: us.run_length_decode(x[:3], at - 1), lambda: us.select(x, mask[1:]),
                 lambda: us.linear_recurrence(x, x[1:]), lambda: us.linear_recurrence(x.view(2, 3), x.view(2, 3))):
        with pytest.raises(ValueError):
            call()


def test_broadcast(torch):
    x = random(1000, "float32")
    there = torch.from_numpy(x).cuda().expand(5, 1000)
    assert same_bits(us.sum(there).cpu().numpy(), us.sum(np.broadcast_to(x, (5, 1000))))


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


HOW_BINNED = ({"bins": 7}, {"bins": 64, "range": (5, 50)}, {"bins": [1, 2, 30, 99]}, {"bins": np.linspace(0, 60, 31)})


def expect_same_histogram(kind, want, got, what):
    for a, b in zip(want, got):
        assert kind.is_own(b) and same_bits(a, kind.get(b)), what
    for a, b in zip(want.outside, got.outside):
        assert np.array_equal(a, kind.get(b) if kind.is_own(b) else b), what


def samples_of(dtype, shape):
    host = np.random.default_rng(5).integers(0, 100, shape).astype(dtype)
    if np.dtype(dtype).kind == "f":
        host.reshape(-1)[::17] = np.nan
        host[host == 3] = -np.inf
    return host


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


def test_no_copies(kind):
    """Results are written where `out` lies, and a scan may be in place."""
    if not kind.has_views:
        pytest.skip("its arrays cannot be written")
    host = random(70001, "float32")
    there = kind.put(host)
    out = kind.put(np.zeros(70000, "float32"))
    address = kind.address(out)
    result = us.cumulative_sum(there[1:], out=out)
    assert result is out and kind.address(out) == address
    assert same_bits(kind.get(out), us.cumulative_sum(host[1:]))
    assert same_bits(kind.get(there), host)
    us.cumulative_sum(there, out=there)
    assert same_bits(kind.get(there), us.cumulative_sum(host))
    total = kind.put(np.zeros((), "float32"))
    assert us.sum(out, out=total) is total and same_bits(kind.get(total), us.sum(us.cumulative_sum(host[1:])))
    with pytest.raises(ValueError, match="overlap"):
        us.cumulative_sum(there[1:], out=there[:-1])


def test_memory(torch):
    """A call takes memory for its result alone, and gives it back."""
    x = torch.ones(1 << 20, device="cuda")
    us.sum(x)
    us.cumulative_sum(x)
    torch.cuda.synchronize()
    small = x[:1000]
    before, references = torch.cuda.memory_allocated(), sys.getrefcount(small)
    torch.cuda.reset_peak_memory_stats()
    for _ in range(3):
        us.cumulative_sum(x)
    assert torch.cuda.max_memory_allocated() - before <= x.nbytes
    for _ in range(100_000):
        us.sum(small)
    for _ in range(10_000):
        us.cumulative_sum(small)
    assert torch.cuda.memory_allocated() == before and sys.getrefcount(small) == references


def test_streams_of_torch(torch):
    """Calls are put behind what the current stream has, and are not waited for."""
    x = torch.zeros(1 << 20, device="cuda")

    def calls():
        return (us.sum(x), us.mean(x), us.prod(x), us.any(x), us.all(x), us.max(x > 0), us.reduce(x.int(), "bit_or"), us.cumulative_sum(x)[-1],
                us.linear_recurrence(1.0, x)[-1], us.integral_image(x.view(1024, 1024))[-1, -1], us.segment_reduce(x, [0, 1 << 20], "plus")[0])

    def histogram():
        return us.histogram(x, 4, (0, 4))

    for stream in (torch.cuda.Stream(), torch.cuda.current_stream(), torch.cuda.Stream()):
        with torch.cuda.stream(stream):
            calls(), histogram()  # the workspace of the stream, and kernels that have not been loaded yet
            stream.synchronize()
            torch.cuda._sleep(200_000_000)
            x.fill_(3)
            results, counted = calls(), histogram()
            assert not stream.query(), "a call has waited"
            all_of_them = 3 << 20
            assert [float(one) for one in results] == [all_of_them, 3, np.inf, 1, 1, 1, 3, *4 * [all_of_them]]
            assert counted.outside == (0, 0, 0) and int(counted[0][3]) == 1 << 20
            x.fill_(0)
            stream.synchronize()


@needs_gpu
def test_streams_of_cupy():
    cupy = pytest.importorskip("cupy")
    x = cupy.zeros(1 << 20, cupy.float32)
    for _ in range(40):  # more streams than a thread keeps contexts for, each destroyed with its object
        stream = cupy.cuda.Stream(non_blocking=True)
        cupy.cuda.get_current_stream().synchronize()
        with stream:
            x.fill(2)
            assert float(us.sum(x)) == 2 << 20
            x.fill(0)
            stream.synchronize()


def test_graphs_of_torch(torch):
    """Calls can be captured once the same call has been made."""
    x = torch.arange(5000, dtype=torch.float64, device="cuda")
    total, sums = torch.zeros((), dtype=torch.float64, device="cuda"), torch.zeros_like(x)
    product, some = torch.zeros_like(total), torch.zeros((), dtype=torch.bool, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        us.sum(x, out=total), us.cumulative_sum(x, out=sums), us.prod(x, out=product), us.any(x, out=some)
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        us.sum(x, out=total)
        us.cumulative_sum(x, out=sums)
        us.prod(x, out=product)
        us.any(x, out=some)
    x.fill_(1)
    graph.replay()
    torch.cuda.synchronize()
    assert float(total) == 5000 and float(sums[-1]) == 5000 and float(product) == 1 and bool(some)


def test_threads(torch):
    host = random(70001, "float32")
    there = torch.from_numpy(host).cuda()
    want, wrong = us.sum(host), []

    def work():
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(200):
                if not same_bits(us.sum(there).cpu().numpy(), want):
                    wrong.append(1)

    torch.cuda.synchronize()
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_torch_by_the_protocol(torch):
    """A PyTorch that shows no table of functions."""
    older = type("Tensor", (torch.Tensor,), {"__module__": "torch.older", "__dlpack_c_exchange_api__": None})
    host = random(70001, "float32")
    there = torch.from_numpy(host).cuda().as_subclass(older)
    for fold in (us.sum, us.cumulative_sum, us.mean):
        result = fold(there)
        assert result.is_cuda and same_bits(result.cpu().numpy(), fold(host))


def test_other_libraries(torch):
    """What shows its elements by __cuda_array_interface__ alone is folded to `out`."""
    host = random(1000, "float32")
    keeps = torch.from_numpy(host).cuda()
    there = OfCuda(keeps.data_ptr(), (1000,))
    out = torch.empty(1000, device="cuda")
    assert us.cumulative_sum(there, out=out) is out
    assert same_bits(out.cpu().numpy(), us.cumulative_sum(host))
    with pytest.raises(TypeError, match="pass out"):
        us.sum(there)
    with pytest.raises(ValueError, match="read-only"):
        us.cumulative_sum(keeps, out=OfCuda(out.data_ptr(), (1000,), is_read_only=True))
    with pytest.raises(TypeError, match="complex64"):
        us.sum(OfCuda(keeps.data_ptr(), (500,), "<c8"))


@needs_gpu
def test_arrays_of_jax_stay_as_they_are():
    kind = Jax()
    x = kind.put(np.ones(10, "float32"))
    with pytest.raises(ValueError, match="read-only"):
        us.cumulative_sum(x, out=x)
    y = us.sum(x) + 1  # JAX waits for what it is given
    assert float(y) == 11


# --- functions that JAX transforms: the tests of test_jax.py that differ on a GPU -----------------------------------------------------

@pytest.fixture(scope="module")
def of_jax():
    if not HAS_GPU:
        pytest.skip("there is no GPU, or no engine for it")
    return Jax()


def agree_compiled(kind, call, *hosts, devices=None):
    """The call on arrays there, inside of jax.jit, has the bits of the one on arrays here."""
    want = call(*hosts)
    for device in devices or kind.module.devices("gpu")[:1]:
        got = kind.module.jit(call)(*(kind.module.device_put(x, device) for x in hosts))
        assert kind.is_own(got) and got.devices() == {device} and same_bits(kind.get(got), want), (kind.get(got), want)


@pytest.mark.parametrize("dtype", (*DTYPES, "bfloat16"))
def test_compiled_types(of_jax, dtype):
    """Lines of every type, those that the engine for GPUs has no kernel for among them."""
    for shape in ((0,), (1,), (1000,), (70001,), (300, 7), (3, 5000), (5000, 3), (5, 70, 13), (0, 4), (4, 0)):
        host = random(shape, "int8" if dtype == "bool" else "float32").astype(dtype)
        for axis in (None, *range(len(shape)), *(((0, 1), (2, 0), (-1,), ()) if len(shape) == 3 else ())):
            agree_compiled(of_jax, lambda x: us.sum(x, axis=axis), host)
        for axis in range(len(shape)):
            agree_compiled(of_jax, lambda x: us.cumulative_sum(x, axis=axis), host)
            agree_compiled(of_jax, lambda x: us.cumulative_sum(x, axis=axis, include_initial=True), host)


@pytest.mark.parametrize("dtype", ("float32", "float64", "float16", "bfloat16"))
def test_compiled_recurrences(of_jax, dtype):
    for shape, axis in (((1,), 0), ((70001,), 0), ((3, 5000), 1), ((5000, 3), 0), ((4, 300, 5), 1), ((2, 3, 4, 50), -1), ((0,), 0)):
        a, b = (random(shape, "float32", k).clip(-1, 1).astype(dtype) for k in (1, 2))
        lines = np.asarray(random(tuple(np.delete(shape, axis)), "float32", 3)).astype(dtype)
        for reverse in (False, True):
            agree_compiled(of_jax, lambda a, b, h: us.linear_recurrence(a, b, initial=h, axis=axis, reverse=reverse), a, b, lines)
        agree_compiled(of_jax, lambda b: us.linear_recurrence(np.asarray(0.5, dtype), b, axis=axis), b)


def test_compiled_for_types_of_32_bits(of_jax):
    """Without jax_enable_x64, sums of integers are the lower halves of those of 64 bits."""
    of_jax.module.config.update("jax_enable_x64", False)
    try:
        for dtype in ("int8", "uint16", "int32", "uint32"):
            host = random((5, 300), dtype)
            for axis in (None, 0, 1):
                got = of_jax.module.jit(lambda x: us.sum(x, axis=axis))(of_jax.put(host))
                assert got.dtype.itemsize == 4 and same_bits(of_jax.get(got), us.sum(host, axis=axis).astype(got.dtype))
    finally:
        of_jax.module.config.update("jax_enable_x64", True)


@pytest.mark.parametrize("axis", range(3))
def test_vmap_there(of_jax, axis):
    jax = of_jax.module
    host = random((4, 5, 600), "float32")
    there = of_jax.put(host)
    for call in (us.sum, lambda x: us.sum(x, axis=-1), lambda x: us.cumulative_sum(x, axis=0),
                 lambda x: us.linear_recurrence(np.float32(0.5), x, axis=1)):
        for transformed in (jax.vmap(call, in_axes=axis), jax.jit(jax.vmap(call, in_axes=axis))):
            got = transformed(there)
            assert of_jax.is_own(got)
            for row, one in zip(np.moveaxis(host, axis, 0), got):
                assert same_bits(of_jax.get(one), call(row))


def test_gradients_of_jax_there(of_jax):
    """At once, and in what is compiled, with the bits of the folds that they are."""
    jax = of_jax.module
    x, weights = (random(70001, "float32", k) for k in (4, 3))
    a, b, scale = (random((3, 500), "float32", k).clip(-1, 1) for k in (5, 6, 7))
    gradient = jax.grad(lambda x, w: (us.cumulative_sum(x) * w).sum())
    gradients = jax.grad(lambda a, b, w: (us.linear_recurrence(a, b, axis=1) * w).sum(), (0, 1))
    adjoint = us.linear_recurrence(np.concatenate([a[:, 1:], np.zeros((3, 1), "f4")], 1), scale, axis=1, reverse=True)
    h = us.linear_recurrence(a, b, axis=1)
    for how in (lambda f: f, jax.jit):
        got = how(gradient)(of_jax.put(x), of_jax.put(weights))
        assert of_jax.is_own(got) and same_bits(of_jax.get(got), us.scan(weights, "plus", reverse=True))
        to_a, to_b = how(gradients)(*map(of_jax.put, (a, b, scale)))
        assert same_bits(of_jax.get(to_b), adjoint)
        assert same_bits(of_jax.get(to_a), adjoint * np.concatenate([np.zeros((3, 1), "f4"), h[:, :-1]], 1))
        value, change = how(lambda x, w: jax.jvp(us.cumulative_sum, (x,), (w,)))(of_jax.put(x), of_jax.put(weights))
        assert same_bits(of_jax.get(value), us.cumulative_sum(x)) and same_bits(of_jax.get(change), us.cumulative_sum(weights))
    rows = jax.jit(jax.vmap(jax.grad(lambda x: us.cumulative_sum(x)[-1])))(of_jax.put(a))
    assert same_bits(of_jax.get(rows), np.ones_like(a))


def test_order_of_what_is_compiled(of_jax):
    """Folds take their place among XLA's kernels, in loops as well, on every GPU."""
    jax = of_jax.module
    host = np.arange(1 << 20) % 5.0  # whose sums are exact

    def between(x):
        return us.sum(us.cumulative_sum(x * 2) + us.cumulative_sum(x)) / 3

    def repeated(x):
        return jax.lax.fori_loop(0, 20, lambda k, x: us.cumulative_sum(x) - us.cumulative_sum(x) + us.sum(x) * 0 + x + 1, x)

    for device in jax.devices("gpu"):
        there = jax.device_put(host, device)
        for _ in range(5):
            assert float(jax.jit(between)(there)) == float(us.sum(us.cumulative_sum(host)))
        assert same_bits(of_jax.get(jax.jit(repeated)(there)), host + 20)
    agree_compiled(of_jax, us.sum, random(70001, "float32"), devices=jax.devices("gpu"))


def test_threads_of_what_is_compiled(of_jax):
    calls = [of_jax.module.jit(call) for call in (us.sum, us.cumulative_sum)]
    hosts = [random(size, "float32", size) for size in (1000, 70001, 300_000)]
    there = [of_jax.put(x) for x in hosts]
    wants = [(us.sum(x), us.cumulative_sum(x)) for x in hosts]
    wrong = []

    def work(k):
        for _ in range(50):
            wrong.extend(k for call, want in zip(calls, wants[k % 3]) if not same_bits(of_jax.get(call(there[k % 3])), want))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_errors_of_what_is_compiled(of_jax):
    """What the engine refuses is an error of XLA, with the sentence of the engine."""
    import upsweep.jax  # which registers the functions

    jax, lines = of_jax.module, of_jax.put(np.ones((2, 5, 1), "float16"))
    with pytest.raises(RuntimeError, match="INVALID_ARGUMENT: upsweep: an array has 2 dimensions in place of 3"):
        jax.ffi.ffi_call("upsweep_sum", jax.ShapeDtypeStruct((2, 1), "float32"))(lines[0]).block_until_ready()


def test_refusals(torch):
    x = torch.ones(6, device="cuda")
    with pytest.raises(TypeError, match="gradients"):
        us.max(torch.ones(3, device="cuda", requires_grad=True))
    with torch.no_grad():
        assert us.max(torch.ones(3, device="cuda", requires_grad=True)) == 1
    with pytest.raises(TypeError, match="DLPack"):
        us.sum(torch.ones(3, dtype=torch.complex64, device="cuda"))
    with pytest.raises(TypeError, match="GPU"):
        us.sum(x, out=np.zeros((), "float32"))
    with pytest.raises(TypeError, match="not converted"):
        us.cumulative_sum(x, out=torch.zeros(6, dtype=torch.float64, device="cuda"), dtype="float32")
    with pytest.raises(ValueError, match="shape"):
        us.cumulative_sum(x, out=torch.zeros(5, device="cuda"))
    with pytest.raises(ValueError, match="not finite"):
        us.histogram(x / 0)
    with pytest.raises(ValueError, match="negative"):
        us.bincount(torch.tensor([-1], device="cuda"))
    with pytest.raises(ValueError):
        us.max(x[:0])
    with pytest.raises(TypeError, match="weighted"):
        us.histogram(x, "auto", weights=x)
    with pytest.raises(ValueError, match="no axis"):
        us.cumulative_sum(x[0])


@needs_gpu
def test_targets(capsys):
    us.show_targets()
    assert _core.gpu_name() in capsys.readouterr().out
