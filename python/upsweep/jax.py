# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Folds inside of what JAX transforms: jit, grad, jvp and vmap of sum, cumulative_sum and linear_recurrence, on the CPU.

This module is imported when the first array comes that JAX traces; the functions of `upsweep` then call those of the same name here.
Arrays outside of transformed functions go straight to the engine.

Each fold is a primitive of JAX that calls back to Python (jax.pure_callback). A handler of XLA's foreign functions would save some
microseconds a call, but is compiled against headers of jaxlib, which is not there where the wheel is built.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from upsweep import _core
from upsweep._recorded import one_axis, refuse_out


def _primitive(name: str, kernel: Callable[..., np.ndarray], result: Callable[..., jax.core.ShapedArray]) -> Primitive:
    """A primitive whose kernel is a function of NumPy's arrays, and whose result has a shape and a type that can be told before."""
    primitive = Primitive(f"upsweep_{name}")
    primitive.def_abstract_eval(result)

    def called_back(*arrays: Any, **parameters: Any) -> Any:
        of = result(*arrays, **parameters)

        def call(*given: Any) -> np.ndarray:
            return np.asarray(kernel(*map(np.asarray, given), **parameters), of.dtype)

        return jax.pure_callback(call, jax.ShapeDtypeStruct(of.shape, of.dtype), *arrays)

    def at_once(*arrays: Any, **parameters: Any) -> Any:
        platforms = {device.platform for array in arrays if isinstance(array, jax.Array) for device in array.devices()} - {"cpu"}
        if platforms:
            raise NotImplementedError(f"{name}: transformed functions fold on the CPU, and the array is on a {platforms.pop()}; "
                                      "call it outside of jax.grad and jax.vmap, or move the array")
        of = result(*arrays, **parameters)
        return jnp.asarray(np.asarray(kernel(*map(np.asarray, arrays), **parameters), of.dtype))

    primitive.def_impl(at_once)
    mlir.register_lowering(primitive, mlir.lower_fun(called_back, multiple_results=False), platform="cpu")
    return primitive


def _aval(shape: Sequence[int], dtype: Any) -> jax.core.ShapedArray:
    return jax.core.ShapedArray(tuple(shape), np.dtype(dtype))


def _batch_first(arrays: Sequence[Any], dims: Sequence[Any]) -> list[Any]:
    """The arrays with the dimension of a vmap in front, where they have it not with extent 1."""
    return [jnp.moveaxis(x, dim, 0) if dim is not None else x[None] for x, dim in zip(arrays, dims)]


# --- sums, and their transpose, which is to broadcast --------------------------------------------------------------------------------

_sum = _primitive("sum", lambda x, axes: _core.sum(x, axis=axes, dtype=x.dtype),
                  lambda x, axes: _aval([extent for k, extent in enumerate(x.shape) if k not in axes], x.dtype))
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
    x = x.astype(_sum_dtype(x.dtype, dtype))
    given = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(one_axis("sum", one, x.ndim) for one in given)
    if len(set(axes)) != len(axes):
        raise ValueError("sum: an axis is named twice; name each axis once")
    result = _sum.bind(x, axes=axes)
    return jnp.expand_dims(result, axes) if keepdims else result


# --- running sums -------------------------------------------------------------------------------------------------------------------

_cumulative_sum = _primitive(
    "cumulative_sum", lambda x, axis, reverse: _core.scan(x, "plus", axis=axis, reverse=reverse, dtype=x.dtype),
    lambda x, axis, reverse: _aval(x.shape, x.dtype))
ad.deflinear2(_cumulative_sum, lambda ct, x, axis, reverse: [_cumulative_sum.bind(ct, axis=axis, reverse=not reverse)])


def _batched_cumulative_sum(arrays: Any, dims: Any, *, axis: int, reverse: bool) -> Any:
    return _cumulative_sum.bind(*_batch_first(arrays, dims), axis=axis + 1, reverse=reverse), 0


batching.primitive_batchers[_cumulative_sum] = _batched_cumulative_sum


def cumulative_sum(x: Any, axis: int | None = None, dtype: Any = None, include_initial: bool = False, out: Any = None) -> Any:
    refuse_out("cumulative_sum", out)
    axis = one_axis("cumulative_sum", axis, x.ndim)
    x = x.astype(_sum_dtype(x.dtype, dtype))
    result = _cumulative_sum.bind(x, axis=axis, reverse=False)
    if not include_initial:
        return result
    return jnp.concatenate([jnp.zeros_like(x, shape=[1 if k == axis else extent for k, extent in enumerate(x.shape)]), result], axis)


# --- linear recurrences -------------------------------------------------------------------------------------------------------------

def _recur(a: np.ndarray, b: np.ndarray, h0: np.ndarray, axis: int, reverse: bool) -> np.ndarray:
    out = np.empty(b.shape, b.dtype)
    _core.recur(a, b, h0, axis, reverse, out)
    return out


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

def _sum_dtype(elements: Any, asked: Any) -> Any:
    """That of sums: 64 bits for truths and integers, or as many as JAX has without jax_enable_x64."""
    if asked is not None:
        return jax.dtypes.canonicalize_dtype(asked)
    if jnp.issubdtype(elements, jnp.floating):
        return elements
    return jax.dtypes.canonicalize_dtype(np.uint64 if jnp.issubdtype(elements, jnp.unsignedinteger) else np.int64)
