# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""JAX on the CPU: what is transformed has the bits of NumPy's arrays, and gradients that are folds, too. On a GPU: test_gpu_jax.py."""
import concurrent.futures
import functools
import importlib
import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest
import upsweep as us
from samples import DTYPES, INTEGERS, random, same_bits
from upsweep import _core

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
test_util = pytest.importorskip("jax.test_util")


@pytest.fixture(scope="module", autouse=True)
def of_64_bits():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    with jax.default_device(jax.devices("cpu")[0]):
        yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture
def of_32_bits():
    jax.config.update("jax_enable_x64", False)
    yield
    jax.config.update("jax_enable_x64", True)


FUNCTIONS = {
    "sum": (lambda x: us.sum(x), (5, 7)),
    "sum-1": (lambda x: us.sum(x, axis=(-1, 0), keepdims=True), (5, 7, 2)),
    "sum-float32": (lambda x: us.sum(x, axis=0, dtype=np.float32), (5, 7)),
    "cumulative_sum": (lambda x: us.cumulative_sum(x), (9,)),
    "cumulative_sum-0": (lambda x: us.cumulative_sum(x, axis=0, include_initial=True), (5, 7)),
    "linear_recurrence": (lambda a, b: us.linear_recurrence(a, b), (9,), (9,)),
    "linear_recurrence-initial": (lambda a, b, h: us.linear_recurrence(a, b, initial=h, axis=1), (5, 7), (5, 7), (5,)),
    "linear_recurrence-reverse": (lambda a, b, h: us.linear_recurrence(a, b, initial=h, axis=0, reverse=True), (7, 1), (7, 5), ()),
    "linear_recurrence-number": (lambda b: us.linear_recurrence(0.5, b, axis=-1), (5, 7)),
}


@pytest.fixture(params=FUNCTIONS)
def function(request):
    call, *shapes = FUNCTIONS[request.param]
    return call, [random(shape, "float64", k) / 4 for k, shape in enumerate(shapes)]


def test_results(function):
    call, arrays = function
    want = call(*arrays)
    given = [jnp.asarray(x) for x in arrays]
    for got in (call(*given), jax.jit(call)(*given), jax.vjp(call, *given)[0]):
        assert isinstance(got, jax.Array) and same_bits(got, want)


def test_gradients(function):
    """Forward and reverse."""
    call, arrays = function
    if call(*arrays).dtype == np.float64:
        test_util.check_grads(call, [jnp.asarray(x) for x in arrays], order=1)


def test_gradients_of_gradients():
    call, *shapes = FUNCTIONS["linear_recurrence-initial"]
    test_util.check_grads(lambda *xs: us.sum(us.cumulative_sum(call(*xs), axis=0)),
                          [jnp.asarray(random(shape, "float64", k) / 4) for k, shape in enumerate(shapes)], order=2, modes=("rev",))


def test_vmap(function):
    """Each row has the bits of the call on it alone, and gradients as well."""
    call, arrays = function
    rows = [jnp.stack([jnp.asarray(x) * k for k in (1, 2, 3)], axis=-1) for x in arrays]
    got = jax.vmap(call, in_axes=-1)(*rows)
    for k in range(3):
        assert same_bits(got[k], call(*(x * (k + 1) for x in arrays)))
    if len(arrays) > 1:
        first, *others = arrays
        got = jax.vmap(lambda x: call(x, *map(jnp.asarray, others)))(jnp.stack([first, first]))
        assert same_bits(got[1], call(*arrays))
    if got.ndim > 1:
        gradients = jax.jit(jax.vmap(jax.grad(lambda *xs: call(*xs)[..., -1].sum()), in_axes=-1))(*rows)
        assert same_bits(gradients[1], jax.grad(lambda *xs: call(*xs)[..., -1].sum())(*(x[..., 1] for x in rows)))


def test_gradients_are_folds():
    """With the bits of the canonical order."""
    weights = random(1000, "float32", 3)
    x = random(1000, "float32", 4)
    got = jax.grad(lambda x: (us.cumulative_sum(x) * weights).sum())(x)
    assert same_bits(got, us.scan(weights, "plus", reverse=True))

    a, b, weights = (random((3, 500), "float32", k) / 4 for k in (5, 6, 7))
    to_a, to_b = jax.jit(jax.grad(lambda a, b: (us.linear_recurrence(a, b, axis=1) * weights).sum(), (0, 1)))(a, b)
    adjoint = us.linear_recurrence(np.concatenate([a[:, 1:], np.zeros((3, 1), "f4")], 1), weights, axis=1, reverse=True)
    h = us.linear_recurrence(a, b, axis=1)
    assert same_bits(to_b, adjoint)
    assert same_bits(to_a, adjoint * np.concatenate([np.zeros((3, 1), "f4"), h[:, :-1]], 1))
    to_number = jax.grad(lambda c: (us.linear_recurrence(c, b, axis=1) * weights).sum())(np.float32(0.5))
    to_each = jax.grad(lambda c: (us.linear_recurrence(c, b, axis=1) * weights).sum())(np.full((3, 500), 0.5, "f4"))
    assert same_bits(to_number, us.sum(np.asarray(to_each)))


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
def test_types(dtype):
    x = jnp.asarray(random((5, 300), "float32")).astype(dtype)
    for call in (us.sum, lambda x: us.sum(x, axis=0), lambda x: us.cumulative_sum(x, axis=1), lambda x: us.linear_recurrence(x, x, axis=0)):
        assert same_bits(jax.jit(call)(x), call(np.asarray(x)))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "uint32", "float16", "bfloat16", "float32"])
def test_types_without_those_of_64_bits(of_32_bits, dtype):
    """Sums of integers are those of 64 bits, of which the lower half is kept."""
    x = jnp.asarray(random((5, 300), "float32")).astype(dtype)
    for call in (us.sum, lambda x: us.sum(x, axis=0), lambda x: us.cumulative_sum(x, axis=1)):
        got, want = jax.jit(call)(x), call(np.asarray(x))
        assert got.dtype.itemsize <= 4 and same_bits(got, want.astype(got.dtype))


@pytest.mark.parametrize("dtype", [*INTEGERS, "float16", "bfloat16", "float32"])
def test_types_that_are_asked_for(dtype):
    x = jnp.asarray(random((5, 300), "int32"))
    for call in (lambda x: us.sum(x, axis=1, dtype=dtype), lambda x: us.sum(x, dtype=dtype),
                 lambda x: us.cumulative_sum(x, axis=1, dtype=dtype)):
        assert same_bits(jax.jit(call)(x), call(np.asarray(x)))


@pytest.mark.parametrize("dtype", [*INTEGERS, "float16", "bfloat16", "float32", "float64"])
def test_types_of_lines_of_gpus(dtype):
    """A GPU folds lines in types of 32 and 64 bits alone, to which others are converted: the bits are those of their own type."""
    from upsweep import jax as operators

    x = jnp.asarray(random((5, 300, 2), "float32")).astype(dtype).at[0, 7].set(np.nan if np.dtype(dtype).kind not in "iu" else 3)
    for axes in ((1,), (0, 2)):
        got = jax.jit(functools.partial(operators._sum_lines, "cuda", axes=axes))(x)
        assert same_bits(got, us.sum(np.asarray(x), axis=axes, dtype=dtype))
    for reverse in (False, True):
        got = jax.jit(functools.partial(operators._scan_lines, "cuda", axis=1, reverse=reverse))(x)
        assert same_bits(got, us.scan(np.asarray(x), "plus", axis=1, reverse=reverse, dtype=dtype))


@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1, (0, 1), (1, 2), (2, 0), (-3, -1), (0, 1, 2), ()])
def test_axes(axis):
    x = random((5, 70, 3), "float32")
    for keepdims in (False, True):
        call = functools.partial(us.sum, axis=axis, keepdims=keepdims)
        assert same_bits(jax.jit(call)(x), call(x))
        assert jax.jit(jax.grad(lambda x: call(x).sum()))(x).shape == x.shape
    if isinstance(axis, int):
        assert same_bits(jax.jit(lambda x: us.cumulative_sum(x, axis=axis))(x), us.cumulative_sum(x, axis=axis))
        gradient = jax.jit(jax.grad(lambda x: us.cumulative_sum(x, axis=axis).sum()))(x)
        assert same_bits(gradient, us.scan(np.ones_like(x), "plus", axis=axis, reverse=True))


@pytest.mark.parametrize("axis", range(3))
def test_vmap_over_every_axis(axis):
    x = random((4, 5, 6), "float32")
    calls = (us.sum, functools.partial(us.sum, axis=0), functools.partial(us.cumulative_sum, axis=1),
             functools.partial(us.linear_recurrence, np.float32(0.5), axis=0))
    for call in calls:
        for transformed in (jax.vmap(call, in_axes=axis), jax.jit(jax.vmap(call, in_axes=axis))):
            for row, got in zip(np.moveaxis(x, axis, 0), transformed(x)):
                assert same_bits(got, call(row))
    twice = jax.vmap(jax.vmap(us.cumulative_sum, in_axes=axis % 2, out_axes=axis % 2), in_axes=axis)
    assert same_bits(twice(x)[2], us.cumulative_sum(np.take(x, 2, axis), axis=1 - axis % 2))


def test_transformations_of_transformations():
    """Jit of grad, grad of jit, vmap of grad and grad of vmap are one function."""
    def loss(x):
        return (us.cumulative_sum(x) * us.sum(x)).sum()

    x = random((3, 50), "float64")
    want = jnp.stack([jax.grad(loss)(row) for row in x])
    for transformed in (jax.vmap(jax.grad(loss)), jax.vmap(jax.jit(jax.grad(loss))), jax.jit(jax.vmap(jax.grad(jax.jit(loss)))),
                        jax.grad(lambda x: jax.vmap(loss)(x).sum())):
        assert np.allclose(transformed(x), want, rtol=1e-12)
    value, change = jax.jvp(us.cumulative_sum, (x[0],), (x[1],))
    assert same_bits(value, us.cumulative_sum(x[0])) and same_bits(change, us.cumulative_sum(x[1]))
    with jax.disable_jit():
        assert np.allclose(jax.grad(loss)(jnp.asarray(x[0])), want[0], rtol=1e-12)


def test_calls_have_nothing_of_python():
    compiled = jax.jit(lambda x: us.sum(us.linear_recurrence(0.5, us.cumulative_sum(x)))).lower(jnp.ones(5)).as_text()
    for name in ("sum", "cumulative_sum", "linear_recurrence"):
        assert f"@upsweep_{name}" in compiled
    assert "callback" not in compiled


@pytest.mark.parametrize("size", [1, 1000, 3_000_000])
def test_denormal_numbers(size):
    """XLA's threads take them for zero; folds do not."""
    x = np.where(np.arange(size) % 3 == 1, np.float32(-3e-42), np.float32(1e-42))
    for call in (us.sum, us.cumulative_sum, lambda x: us.linear_recurrence(np.float32(0.5), x)):
        assert same_bits(jax.jit(call)(x), call(x))


def test_threads():
    calls = [jax.jit(us.sum), jax.jit(us.cumulative_sum), jax.grad(lambda x: us.cumulative_sum(x)[-1])]
    hosts = [random(size, "float32", size) for size in (1000, 70001, 300_000)]
    wants = [(us.sum(x), us.cumulative_sum(x), np.ones_like(x)) for x in hosts]

    def work(k):
        return all(same_bits(call(hosts[k % 3]), want) for call, want in zip(calls, wants[k % 3]))

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(120)))


def test_many_elements():
    """Calls for large arrays do not wait for one another."""
    x = jnp.asarray(random(3_000_000, "float32"))
    f = jax.jit(lambda x: us.sum(us.cumulative_sum(x) + us.cumulative_sum(2 * x)))
    assert f(x) == us.sum(us.cumulative_sum(x) + us.cumulative_sum(2 * x))


def test_no_elements():
    for call in (us.sum, us.cumulative_sum, lambda x: us.linear_recurrence(x, x, initial=0.5)):
        assert jax.grad(lambda x: call(x).sum())(jnp.zeros(0)).shape == (0,)
    for shape in ((0, 3), (3, 0), (2, 0, 4)):
        x = np.zeros(shape, "float32")
        for axis in (*range(len(shape)), None):
            assert same_bits(jax.jit(lambda x: us.sum(x, axis=axis))(x), us.sum(x, axis=axis))
        for axis in range(len(shape)):
            for call in (lambda x: us.cumulative_sum(x, axis=axis), lambda x: us.linear_recurrence(x, x, axis=axis)):
                assert same_bits(jax.jit(call)(x), call(x))


def test_refusals():
    x = jnp.ones((3, 4))
    with pytest.raises(TypeError, match="no rule"):
        jax.jit(us.max)(x)
    with pytest.raises(ValueError, match="pass axis"):
        jax.jit(us.cumulative_sum)(x)
    with pytest.raises(np.exceptions.AxisError):
        jax.jit(lambda x: us.sum(x, axis=2))(x)
    with pytest.raises(TypeError, match="out"):
        jax.jit(lambda x: us.sum(x, out=np.empty(())))(x)
    with pytest.raises(ValueError, match="broadcast"):
        jax.jit(lambda x: us.linear_recurrence(x, x, initial=x, axis=0))(x)
    with pytest.raises(TypeError, match="bool"):
        jax.jit(lambda x: us.sum(x, dtype=bool))(x)
    for call in (us.sum, us.cumulative_sum):
        with pytest.raises(TypeError, match="complex"):
            jax.jit(lambda x: call(x))(x[0] * 1j)


# --- foreign functions of XLA ---------------------------------------------------------------------------------------------------------

def foreign(name, shape, *arrays, dtype="float32", **attributes):
    """A call that upsweep/jax.py would not make."""
    import upsweep.jax  # which registers the functions

    return jax.ffi.ffi_call(f"upsweep_{name}", jax.ShapeDtypeStruct(shape, dtype))(*arrays, **attributes)


def test_errors_of_the_engine_are_those_of_xla():
    x = jnp.ones((1, 5, 1), "float32")
    for words, call in (
            ("INVALID_ARGUMENT: upsweep: an array has 1 dimensions in place of 3; reshape it", lambda: foreign("sum", (1, 1), x[0, :, 0])),
            ("INVALID_ARGUMENT: upsweep: the result has 20 bytes", lambda: foreign("sum", (5,), x)),
            ("UNIMPLEMENTED: upsweep: arrays of XLA's element type 15 cannot be folded", lambda: foreign("sum", (1, 1), x * 1j)),
            ("INVALID_ARGUMENT: upsweep: the attribute reverse is missing", lambda: foreign("cumulative_sum", (1, 5, 1), x)),
            ("INVALID_ARGUMENT: upsweep: there are fewer arrays", lambda: foreign("linear_recurrence", (1, 5, 1), x, reverse=False)),
            ("UNIMPLEMENTED: scan: results of type i32 cannot hold elements of type f32",
             lambda: foreign("cumulative_sum", (1, 5, 1), x, dtype="int32", reverse=False))):
        with pytest.raises(RuntimeError, match=words):
            call()


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_other_platforms(platform):
    """What is compiled for one that the package has no engine for is refused; for a GPU, the engine can be built."""
    for call in (us.sum, us.cumulative_sum, lambda x: us.linear_recurrence(0.5, x)):
        traced = jax.jit(call).trace(jnp.ones(5))
        if platform == "cuda" and _core.xla_handlers_on_gpu():
            assert "@upsweep_" in traced.lower(lowering_platforms=(platform,)).as_text()
            continue
        with pytest.raises(NotImplementedError, match=f"no engine for {platform}.*CPU") as refusal:
            traced.lower(lowering_platforms=(platform,))
        assert ("UPSWEEP_CUDA=ON" in str(refusal.value)) == (platform == "cuda")


def test_old_versions_of_jax(monkeypatch):
    import upsweep.jax

    monkeypatch.setattr(jax, "__version_info__", (0, 4, 38))
    with pytest.raises(ImportError, match="need JAX 0.5 or later"):
        importlib.reload(upsweep.jax)


LAYOUTS = {  # ours, XLA's, and pairs of members
    "extension": ("Extension_Base", "size struct_size type type next next"),
    "version": ("Api_Version", "size struct_size extensions extension_start major major_version minor minor_version"),
    "error_request": ("Error_Create_Args", "size struct_size message message code errc"),
    "buffer": ("Buffer", "size struct_size dtype dtype data data rank rank shape dims"),
    "name": ("ByteSpan", "first ptr length len"),
    "scalar": ("Scalar", "dtype dtype value value"),
    "buffers": ("Args", "size struct_size count size types types at args"),
    "attributes": ("Attrs", "size struct_size count size types types names names at attrs"),
    "stream_request": ("Stream_Get_Args", "context ctx stream stream"),
    "device_request": ("DeviceOrdinal_Get_Args", "context ctx device device_ordinal"),
    "call_frame": ("CallFrame", "size struct_size extensions extension_start api api context ctx stage stage arguments args results rets "
                                "attributes attrs"),
    "metadata": ("Metadata", "size struct_size version api_version traits traits"),
    "metadata_request": ("Metadata_Extension", "base extension_base metadata metadata"),
    "api": ("Api", "size struct_size version api_version create_error XLA_FFI_Error_Create get_stream XLA_FFI_Stream_Get "
                   "get_device XLA_FFI_DeviceOrdinal_Get"),
}
CONSTANTS = {
    **{f"data_type::{ours}": f"DataType_{theirs}" for ours, theirs in zip(
        "boolean i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 bf16".split(), "PRED S8 S16 S32 S64 U8 U16 U32 U64 F16 F32 F64 BF16".split())},
    **{f"error_code::{ours}": f"Error_Code_{ours.upper()}" for ours in
       ("invalid_argument", "resource_exhausted", "unimplemented", "internal", "unavailable")},
    "scalar_attribute": "AttrType_SCALAR", "metadata_extension": "Extension_Metadata", "major_version": "API_MAJOR",
}


def test_declarations_are_those_of_xla(tmp_path):
    """python/src/xla_ffi.hpp against the header of the installed jaxlib."""
    compiler = os.environ.get("CXX", "g++").split()[0]
    sources = pathlib.Path(__file__).parents[1] / "src"
    if shutil.which(compiler) is None:
        pytest.skip("no C++ compiler")
    lines = ["#include <cstddef>", "#include <xla/ffi/api/c_api.h>", '#include "xla_ffi.hpp"', "namespace ours = upsweep::python::xla_ffi;"]
    for ours, (theirs, members) in LAYOUTS.items():
        members = members.split()
        for one, other in zip(members[::2], members[1::2]):
            lines.append(f"static_assert(offsetof(ours::{ours}, {one}) == offsetof(XLA_FFI_{theirs}, {other}) && "
                         f"sizeof(ours::{ours}::{one}) == sizeof(XLA_FFI_{theirs}::{other}));")
    if "DeviceOrdinal" not in (pathlib.Path(jax.ffi.include_dir()) / "xla/ffi/api/c_api.h").read_text():  # jaxlib 0.5
        lines = [line for line in lines if "DeviceOrdinal" not in line]
    lines += [f"static_assert(int(ours::{ours}) == int(XLA_FFI_{theirs}));" for ours, theirs in CONSTANTS.items()]
    (tmp_path / "layout.cpp").write_text("\n".join(lines))
    subprocess.run([compiler, "-std=c++20", "-fsyntax-only", f"-I{sources}", f"-I{jax.ffi.include_dir()}", tmp_path / "layout.cpp"],
                   check=True)
