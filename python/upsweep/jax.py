# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Folds inside of what JAX transforms: jit, grad, jvp and vmap of sum, cumulative_sum and linear_recurrence, on CPUs and NVIDIA's GPUs.

This module is imported when the first array comes that JAX traces; the functions of `upsweep` then call those of the same name here.
Arrays outside of transformed functions go straight to the engine.

Each fold is a primitive of JAX, and in what is compiled a foreign function of XLA (python/src/jax_ffi.cpp), which takes arrays as
[outer, extent, inner], with the axis in the middle. There is nothing of Python in a call, and on a GPU nothing is waited for.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

if jax.__version_info__ < (0, 5):
    raise ImportError(f"upsweep.jax: transformed functions need JAX 0.5 or later, and this is {jax.__version__}; update jax")

import jax.ffi
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from upsweep import _core
from upsweep._recorded import one_axis, refuse_out

# Foreign functions by JAX's names of the platforms. There is none for CUDA where the package has no engine for GPUs.
_HANDLERS = {"cpu": _core.xla_handlers_on_cpu(), "cuda": _core.xla_handlers_on_gpu()}
_NAMES_OF_XLA = {"cpu": "cpu", "cuda": "CUDA"}


def _register_handlers() -> None:
    for platform, handlers in _HANDLERS.items():
        for name, handler in handlers.items():
            jax.ffi.register_ffi_target(f"upsweep_{name}", handler, platform=_NAMES_OF_XLA[platform])


_register_handlers()


# --- primitives ---------------------------------------------------------------------------------------------------------------------

def _primitive(name: str, fold: Callable[..., Any], result: Callable[..., jax.core.ShapedArray]) -> Primitive:
    """A primitive whose result has a shape and a type that can be told before.

    `fold` calls a foreign function with what the primitive is given, none of which is without elements, and the name of a platform.
    """
    primitive = Primitive(f"upsweep_{name}")
    primitive.def_abstract_eval(result)

    def folded(platform: str, *arrays: Any, **parameters: Any) -> Any:
        if any(0 in x.shape for x in arrays):
            of = result(*arrays, **parameters)
            return jnp.zeros(of.shape, of.dtype)
        return fold(platform, *arrays, **parameters)

    for platform, handlers in _HANDLERS.items():
        if handlers:
            rule = mlir.lower_fun(functools.partial(folded, platform), multiple_results=False)
            mlir.register_lowering(primitive, rule, platform=platform)
    mlir.register_lowering(primitive, functools.partial(_refuse_platform, name))

    @functools.cache
    def compiled(**parameters: Any) -> Callable[..., Any]:
        return jax.jit(functools.partial(primitive.bind, **parameters))

    def at_once(*arrays: Any, **parameters: Any) -> Any:
        with jax.disable_jit(False):  # Without jit, bind would end here again.
            return compiled(**parameters)(*arrays)

    primitive.def_impl(at_once)
    return primitive


def _refuse_platform(name: str, context: Any, *_: Any, **__: Any) -> Any:
    platforms = " or ".join(platform for platform in context.module_context.platforms if not _HANDLERS.get(platform))
    remedy = "move the array to the CPU"
    if "cuda" in platforms:
        remedy = f"build it where nvcc is by pip install . --config-settings=cmake.define.UPSWEEP_CUDA=ON, or {remedy}"
    raise NotImplementedError(f"{name}: this package has no engine for {platforms}; {remedy}")


def _aval(shape: Sequence[int], dtype: Any) -> jax.core.ShapedArray:
    return jax.core.ShapedArray(tuple(shape), np.dtype(dtype))


def _batch_first(arrays: Sequence[Any], dims: Sequence[Any]) -> list[Any]:
    """The arrays with the dimension of a vmap in front, where they have it not with extent 1."""
    return [jnp.moveaxis(x, dim, 0) if dim is not None else x[None] for x, dim in zip(arrays, dims)]


def _lines(x: Any, axes: tuple[int, ...]) -> Any:
    """The elements as foreign functions take them, [outer, extent, inner]: those along the axes, in their order, are a line."""
    first = axes[0] if axes else x.ndim
    if axes != tuple(range(first, first + len(axes))):
        kept = [k for k in range(x.ndim) if k not in axes]
        x, first = x.transpose(*kept, *axes), len(kept)
    behind = first + len(axes)
    return x.reshape(*(math.prod(x.shape[part]) for part in (slice(first), slice(first, behind), slice(behind, None))))


def _as_gpus_have_lines(platform: str, lines: Any) -> Any:
    """Several lines in a type of 32 or 64 bits, whose sums are the same once they are narrowed: GPUs fold lines of no others."""
    outer, _, inner = lines.shape
    if platform != "cuda" or outer * inner == 1 or (lines.dtype.itemsize >= 4 and lines.dtype != np.uint32):
        return lines
    return lines.astype(jnp.float32 if jnp.issubdtype(lines.dtype, jnp.floating) else jnp.int32)


def _narrowed(x: Any, dtype: np.dtype) -> Any:
    """Results in the type of the elements. NaN has the one pattern of bits that it has everywhere."""
    if x.dtype == dtype:
        return x
    narrow = x.astype(dtype)
    return jnp.where(jnp.isnan(x), jnp.array(jnp.nan, dtype), narrow) if jnp.issubdtype(dtype, jnp.floating) else narrow


# --- sums, and their transpose, which is to broadcast --------------------------------------------------------------------------------

def _sum_lines(platform: str, x: Any, *, axes: tuple[int, ...]) -> Any:
    """Sums of integers are of 64 bits, which JAX may not have: they are taken as words, of which the first is the lowest."""
    lines = _as_gpus_have_lines(platform, _lines(x, axes))
    outer, _, inner = lines.shape
    if jnp.issubdtype(x.dtype, jnp.floating):
        of = jax.ShapeDtypeStruct((outer, inner), jnp.float32 if x.dtype.itemsize == 2 else x.dtype)
        totals = _narrowed(jax.ffi.ffi_call("upsweep_sum", of)(lines), x.dtype)
    else:
        of = jax.ShapeDtypeStruct((outer, inner, 8 // x.dtype.itemsize), x.dtype)
        totals = jax.ffi.ffi_call("upsweep_sum", of)(lines)[..., 0]
    return totals.reshape([extent for k, extent in enumerate(x.shape) if k not in axes])


_sum = _primitive("sum", _sum_lines, lambda x, axes: _aval([extent for k, extent in enumerate(x.shape) if k not in axes], x.dtype))
_broadcast = Primitive("upsweep_broadcast")
_broadcast.def_abstract_eval(lambda x, shape, axes: _aval(shape, x.dtype))


def _broadcast_now(x: Any, *, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """Results of a sum over these axes, in the place of every element of an array of this shape."""
    return jax.lax.broadcast_in_dim(x, shape, [k for k in range(len(shape)) if k not in axes])


_broadcast.def_impl(_broadcast_now)
mlir.register_lowering(_broadcast, mlir.lower_fun(_broadcast_now, multiple_results=False))
ad.deflinear2(_sum, lambda ct, x, axes: [_broadcast.bind(ct, shape=x.aval.shape, axes=axes)])
ad.deflinear2(_broadcast, lambda ct, x, shape, axes: [_sum.bind(ct, axes=axes)])


def _batched_sum(arrays: Any, dims: Any, *, axes: tuple[int, ...]) -> Any:
    return _sum.bind(*_batch_first(arrays, dims), axes=tuple(k + 1 for k in axes)), 0


def _batched_broadcast(arrays: Any, dims: Any, *, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    x, = _batch_first(arrays, dims)
    return _broadcast.bind(x, shape=(x.shape[0], *shape), axes=tuple(k + 1 for k in axes)), 0


batching.primitive_batchers[_sum] = _batched_sum
batching.primitive_batchers[_broadcast] = _batched_broadcast


def sum(x: Any, axis: int | tuple[int, ...] | None = None, dtype: Any = None, keepdims: bool = False, out: Any = None) -> Any:
    refuse_out("sum", out)
    x = x.astype(_sum_dtype("sum", x.dtype, dtype))
    if x.dtype == bool:
        raise TypeError("sum: elements cannot be folded as bool; ask for another dtype")
    given = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(sorted(one_axis("sum", one, x.ndim) for one in given))
    if len(set(axes)) != len(axes):
        raise ValueError("sum: an axis is named twice; name each axis once")
    result = _sum.bind(x, axes=axes)
    return jnp.expand_dims(result, axes) if keepdims else result


# --- running sums -------------------------------------------------------------------------------------------------------------------

def _scan_lines(platform: str, x: Any, *, axis: int, reverse: bool) -> Any:
    lines = _as_gpus_have_lines(platform, _lines(x, (axis,)))
    of = jax.ShapeDtypeStruct(lines.shape, lines.dtype)
    return _narrowed(jax.ffi.ffi_call("upsweep_cumulative_sum", of)(lines, reverse=reverse), x.dtype).reshape(x.shape)


_cumulative_sum = _primitive("cumulative_sum", _scan_lines, lambda x, axis, reverse: _aval(x.shape, x.dtype))
ad.deflinear2(_cumulative_sum, lambda ct, x, axis, reverse: [_cumulative_sum.bind(ct, axis=axis, reverse=not reverse)])


def _batched_cumulative_sum(arrays: Any, dims: Any, *, axis: int, reverse: bool) -> Any:
    return _cumulative_sum.bind(*_batch_first(arrays, dims), axis=axis + 1, reverse=reverse), 0


batching.primitive_batchers[_cumulative_sum] = _batched_cumulative_sum


def cumulative_sum(x: Any, axis: int | None = None, dtype: Any = None, include_initial: bool = False, out: Any = None) -> Any:
    refuse_out("cumulative_sum", out)
    axis = one_axis("cumulative_sum", axis, x.ndim)
    dtype = _sum_dtype("cumulative_sum", x.dtype, dtype)
    # Numbers of another type become float32, in which the sums of those of 16 bits are, and are rounded once.
    x = x.astype(np.float32 if jnp.issubdtype(dtype, jnp.floating) and dtype.itemsize == 2 and x.dtype != dtype else dtype)
    result = _cumulative_sum.bind(x, axis=axis, reverse=False).astype(dtype)
    if not include_initial:
        return result
    return jnp.concatenate([jnp.zeros_like(result, shape=[1 if k == axis else extent for k, extent in enumerate(x.shape)]), result], axis)


# --- linear recurrences -------------------------------------------------------------------------------------------------------------

def _recur(platform: str, a: Any, b: Any, h0: Any, *, axis: int, reverse: bool) -> Any:
    lines = _lines(b, (axis,))
    outer, _, inner = lines.shape
    states = jax.ffi.ffi_call("upsweep_linear_recurrence", jax.ShapeDtypeStruct(lines.shape, lines.dtype))
    return states(_lines(a, (axis,)), lines, h0.reshape(outer, inner), reverse=reverse).reshape(b.shape)


# Of arrays of one type, and of one shape, but for h0, which lacks the axis.
_recurrence = _primitive("linear_recurrence", _recur, lambda a, b, h0, axis, reverse: _aval(b.shape, b.dtype))


def _neighbours(x: Any, axis: int, first: Any, from_below: bool) -> Any:
    """x[t - 1] along an axis, or x[t + 1], with `first` at the end that is left open."""
    first = jnp.expand_dims(first, axis)
    if from_below:
        return jnp.concatenate([first, jax.lax.slice_in_dim(x, 0, -1, axis=axis)], axis)
    return jnp.concatenate([jax.lax.slice_in_dim(x, 1, None, axis=axis), first], axis)


def _recurrence_jvp(primals: Any, tangents: Any, *, axis: int, reverse: bool) -> Any:
    """dh[t] = a[t] dh[t - 1] + (da[t] h[t - 1] + db[t])."""
    a, b, h0 = primals
    da, db, dh0 = tangents
    h = _recurrence.bind(a, b, h0, axis=axis, reverse=reverse)
    if type(da) is ad.Zero and type(db) is ad.Zero and type(dh0) is ad.Zero:
        return h, ad.Zero.from_primal_value(h)
    change = ad.instantiate_zeros(db)
    if type(da) is not ad.Zero and h.shape[axis]:
        change = change + da * _neighbours(h, axis, h0, not reverse)
    return h, _recurrence.bind(a, change, ad.instantiate_zeros(dh0), axis=axis, reverse=reverse)


def _recurrence_transpose(ct: Any, a: Any, b: Any, h0: Any, *, axis: int, reverse: bool) -> Any:
    """The recurrence from the other end, with the coefficients of the neighbours (docs/fold-order.md)."""
    if ad.is_undefined_primal(a):
        raise NotImplementedError("linear_recurrence: it is not linear in its coefficients")
    lines = tuple(extent for k, extent in enumerate(ct.aval.shape if type(ct) is ad.Zero else ct.shape) if k != axis)
    if type(ct) is ad.Zero or ct.shape[axis] == 0:
        zeros = jnp.zeros(lines, ct.aval.dtype if type(ct) is ad.Zero else ct.dtype)
        return None, ad.Zero(b.aval) if ad.is_undefined_primal(b) else None, zeros if ad.is_undefined_primal(h0) else None
    none = jnp.zeros(lines, ct.dtype)
    adjoint = _recurrence.bind(_neighbours(a, axis, none, reverse), ct, none, axis=axis, reverse=not reverse)
    at = ct.shape[axis] - 1 if reverse else 0
    to_h0 = jax.lax.index_in_dim(a * adjoint, at, axis, keepdims=False) if ad.is_undefined_primal(h0) else None
    return None, adjoint if ad.is_undefined_primal(b) else None, to_h0


def _batched_recurrence(arrays: Any, dims: Any, *, axis: int, reverse: bool) -> Any:
    arrays = _batch_first(arrays, dims)
    count = max(x.shape[0] for x in arrays)
    a, b, h0 = (jnp.broadcast_to(x, (count, *x.shape[1:])) for x in arrays)
    return _recurrence.bind(a, b, h0, axis=axis + 1, reverse=reverse), 0


ad.primitive_jvps[_recurrence] = _recurrence_jvp
ad.primitive_transposes[_recurrence] = _recurrence_transpose
batching.primitive_batchers[_recurrence] = _batched_recurrence


def linear_recurrence(a: Any, b: Any, initial: Any = None, axis: int | None = None, reverse: bool = False, out: Any = None) -> Any:
    refuse_out("linear_recurrence", out)
    dtype = jnp.result_type(a, b)
    if not jnp.issubdtype(dtype, jnp.floating):
        dtype = jax.dtypes.canonicalize_dtype(np.float64)
    work = np.dtype(np.float32) if dtype.itemsize == 2 else dtype
    shape = np.broadcast_shapes(np.shape(a), np.shape(b))
    axis = one_axis("linear_recurrence", axis, len(shape))
    lines = shape[:axis] + shape[axis + 1:]
    a, b, h0 = (_broadcast_to(jnp.asarray(x, work), to) for x, to in ((a, shape), (b, shape), (0 if initial is None else initial, lines)))
    return _recurrence.bind(a, b, h0, axis=axis, reverse=reverse).astype(dtype)


def _broadcast_to(x: Any, shape: tuple[int, ...]) -> Any:
    """jnp.broadcast_to whose gradient is a sum of this package."""
    more = len(shape) - x.ndim
    if more < 0 or np.broadcast_shapes(x.shape, shape) != shape:
        raise ValueError(f"linear_recurrence: an array of shape {x.shape} is not broadcast to {shape}; pass one that is")
    axes = tuple(k for k in range(len(shape)) if k < more or (x.shape[k - more] == 1 and shape[k] != 1))
    if not axes:
        return x
    kept = [x.shape[k - more] for k in range(len(shape)) if k not in axes]
    return _broadcast.bind(x.reshape(kept), shape=shape, axes=axes)


# --- arguments ----------------------------------------------------------------------------------------------------------------------

_DTYPES = ("bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)), "float16", "bfloat16", "float32", "float64")


def _sum_dtype(call: str, elements: Any, asked: Any) -> Any:
    """That of sums: 64 bits for truths and integers, or as many as JAX has without jax_enable_x64."""
    if asked is None and not jnp.issubdtype(elements, jnp.inexact):
        asked = np.uint64 if jnp.issubdtype(elements, jnp.unsignedinteger) else np.int64
    dtype = jax.dtypes.canonicalize_dtype(elements if asked is None else asked)
    if dtype.name not in _DTYPES:
        raise TypeError(f"{call}: elements of dtype {dtype} cannot be folded; convert to an integer of 8 to 64 bits, float16, bfloat16, "
                        "float32 or float64")
    return dtype
