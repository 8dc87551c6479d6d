# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Folds of PyTorch's tensors as operators of PyTorch, `torch.ops.upsweep`: with gradients, and for torch.compile.

This module is imported when the first tensor comes, or torch.compile. The functions of `upsweep` call those of the same name here for a tensor
that takes part in either; other tensors go straight to the engine (_recorded.py). Gradients are folds of Upsweep themselves, in the
canonical order, and have gradients of their own.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

import upsweep as us
from upsweep import _core
from upsweep._recorded import one_axis, refuse_out

if not hasattr(torch.library, "register_autograd"):
    raise ImportError(f"upsweep takes tensors of PyTorch 2.4 and newer, and this is {torch.__version__}; install a newer one, or pass x.numpy()")

_LIBRARY = torch.library.Library("upsweep", "DEF")

# What upsweep/_recorded.py asks about each tensor, too.
PLAIN = (Tensor, torch.nn.Parameter)
has_gradients = torch.is_grad_enabled
forward_ad = torch.autograd.forward_ad
has_modes = torch._C._len_torch_dispatch_stack  # torch.utils._python_dispatch: make_fx, FakeTensorMode
transform = torch._C._functorch.peek_interpreter_stack  # torch.func: vmap, grad


# --- what an operator is ----------------------------------------------------------------------------------------------------------

class _Operator:
    """A kernel that is an operator of PyTorch, and is called by the shortest way.

    Between tensors that are nothing but tensors, what PyTorch makes of an operator with a gradient (20 us a call) is left out for its
    kernel and one torch.autograd.Function (5 us). Compilers see the operator, and transforms of torch.func a function of theirs.
    """

    def __init__(self, schema: str, kernel: Any, fake: Any, save: Any, gradient: Any):
        name = schema.partition("(")[0]
        self.kernel = kernel
        _LIBRARY.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
        for key in ("CPU", "CUDA"):
            _LIBRARY.impl(name, kernel, key)
        torch.library.register_fake(f"upsweep::{name}", fake, lib=_LIBRARY)
        torch.library.register_autograd(f"upsweep::{name}", gradient, setup_context=save, lib=_LIBRARY)
        self.registered = getattr(torch.ops.upsweep, name).default

        def forward(ctx: Any, *args: Any) -> Tensor:
            output = kernel(*args)
            save(ctx, args, output)
            return output

        self.recorded = type(name, (torch.autograd.Function,), {
            "forward": staticmethod(forward), "backward": staticmethod(gradient)})
        # Without what Function.apply asks in Python before: __call__ has asked.
        self.record = super(torch.autograd.Function, self.recorded).apply
        self.transformed = type(name, (torch.autograd.Function,), {
            "forward": staticmethod(self.registered), "setup_context": staticmethod(save), "backward": staticmethod(gradient),
            "generate_vmap_rule": True})

    def __call__(self, *args: Any) -> Tensor:
        if transform() is not None:
            return self.transformed.apply(*args)
        needs_gradient = False
        for x in args:
            if isinstance(x, Tensor):
                if type(x) not in PLAIN or x.is_neg() or not (x.is_cpu or x.is_cuda):
                    return self.registered(*args)
                needs_gradient = needs_gradient or x.requires_grad
        if has_modes() or forward_ad._current_level >= 0:
            return self.registered(*args)
        return self.record(*args) if needs_gradient and has_gradients() else self.kernel(*args)


def _operator(schema: str, fake: Callable[..., Tensor], save: Callable[..., None],
              gradient: Callable[..., Any]) -> Callable[[Any], _Operator]:
    """Makes an operator of the kernel below, for tensors in any memory that the engine reaches.

    Parameters
    ----------
    fake : function
        Gives an empty tensor as the kernel's: of its shape, strides and type.
    save, gradient : function
        What torch.library.register_autograd calls setup_context and backward.
    """
    return lambda kernel: _Operator(schema, kernel, fake, save, gradient)


# --- tensors as arrays of the engine ----------------------------------------------------------------------------------------------

def _array(x: Tensor) -> Any:
    """What the functions of the engine take: a NumPy array of the same memory, or a tensor of a GPU."""
    if x.is_cpu:
        return as_numpy(x)[0]
    return x.detach() if type(x) not in PLAIN or (x.requires_grad and has_gradients()) else x


def as_numpy(x: Tensor) -> tuple[np.ndarray, Callable[[np.ndarray], Tensor]]:
    """The elements of a plain tensor in memory of the host, and what makes a tensor of a result."""
    if x.requires_grad:
        x = x.detach()
    if x.dtype != torch.bfloat16:
        return x.numpy(), _from_numpy
    try:
        import ml_dtypes
    except ImportError as failure:
        raise ImportError("tensors of bfloat16 take the package ml_dtypes; install it, or pass x.float()") from failure
    return x.view(torch.int16).numpy().view(ml_dtypes.bfloat16), _from_numpy


def _from_numpy(result: np.ndarray) -> Tensor:
    if result.dtype.isbuiltin == 1:
        return torch.from_numpy(result)
    return torch.from_numpy(result.view(np.int16)).view(torch.bfloat16)


def _tensor(result: Any, dtype: torch.dtype) -> Tensor:
    made = result if isinstance(result, Tensor) else _from_numpy(np.asarray(result))
    return made if made.dtype == dtype else made.to(dtype)


def _torch_dtype(dtype: Any) -> torch.dtype | None:
    if dtype is None or isinstance(dtype, torch.dtype):
        return dtype
    return getattr(torch, np.dtype(dtype).name)


def _is_half(dtype: torch.dtype) -> bool:
    return dtype in (torch.float16, torch.bfloat16)


def _sum_dtype(dtype: torch.dtype) -> torch.dtype:
    """That of sums and products: 64 bits for truths and integers."""
    if dtype.is_floating_point:
        return dtype
    return torch.int64 if dtype.is_signed or dtype == torch.bool else torch.uint64


# --- arguments --------------------------------------------------------------------------------------------------------------------

def _axes(call: str, axis: int | Sequence[int] | None, rank: int) -> list[int] | None:
    if axis is None:
        return None
    given = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    axes = [one_axis(call, one, rank) for one in given]
    if len(set(axes)) != len(axes):
        raise ValueError(f"{call}: an axis is named twice; name each axis once")
    return axes


# --- sums and means ---------------------------------------------------------------------------------------------------------------

def _reduced(x: Tensor, axes: list[int] | None, keepdims: bool, dtype: torch.dtype) -> Tensor:
    folded = range(x.dim()) if axes is None else axes
    shape = [1 if k in folded else extent for k, extent in enumerate(x.shape) if keepdims or k not in folded]
    return x.new_empty(shape, dtype=dtype)


def _broadcast(of: Tensor, shape: Sequence[int], axes: list[int] | None, keepdims: bool) -> Tensor:
    """Results of a reduction, in the place of every element that was reduced to them."""
    if not keepdims:
        for axis in range(len(shape)) if axes is None else sorted(axes):
            of = of.unsqueeze(axis)
    return of.expand(shape)


def _sum_fake(x: Tensor, axes: list[int] | None, dtype: torch.dtype | None, keepdims: bool) -> Tensor:
    return _reduced(x, axes, keepdims, dtype or _sum_dtype(x.dtype))


def _sum_save(ctx: Any, inputs: Any, output: Tensor) -> None:
    x, ctx.axes, _, ctx.keepdims = inputs
    ctx.shape, ctx.dtype = x.shape, x.dtype


def _sum_gradient(ctx: Any, g: Tensor) -> Any:
    return _broadcast(g, ctx.shape, ctx.axes, ctx.keepdims).to(ctx.dtype), None, None, None


@_operator("sum(Tensor x, int[]? axes, ScalarType? dtype, bool keepdims) -> Tensor", _sum_fake, _sum_save, _sum_gradient)
def _sum(x: Tensor, axes: list[int] | None, dtype: torch.dtype | None, keepdims: bool) -> Tensor:
    axis = None if axes is None else tuple(axes)
    return _tensor(_core.sum(_array(x), axis=axis, dtype=dtype, keepdims=keepdims), dtype or _sum_dtype(x.dtype))


def sum(x: Tensor, axis: Any = None, dtype: Any = None, keepdims: bool = False, out: Any = None) -> Tensor:
    refuse_out("sum", out)
    return _sum(x, _axes("sum", axis, x.dim()), _torch_dtype(dtype), keepdims)


def _mean_fake(x: Tensor, axes: list[int] | None, keepdims: bool) -> Tensor:
    return _reduced(x, axes, keepdims, x.dtype if x.dtype.is_floating_point else torch.float64)


def _mean_save(ctx: Any, inputs: Any, output: Tensor) -> None:
    x, ctx.axes, ctx.keepdims = inputs
    ctx.shape = x.shape


def _mean_gradient(ctx: Any, g: Tensor) -> Any:
    count = 1
    for axis in range(len(ctx.shape)) if ctx.axes is None else ctx.axes:
        count *= ctx.shape[axis]
    return _broadcast(g / count, ctx.shape, ctx.axes, ctx.keepdims), None, None


@_operator("mean(Tensor x, int[]? axes, bool keepdims) -> Tensor", _mean_fake, _mean_save, _mean_gradient)
def _mean(x: Tensor, axes: list[int] | None, keepdims: bool) -> Tensor:
    axis = None if axes is None else tuple(axes)
    return _tensor(_core.mean(_array(x), axis=axis, keepdims=keepdims), x.dtype if x.dtype.is_floating_point else torch.float64)


def mean(x: Tensor, axis: Any = None, keepdims: bool = False, out: Any = None) -> Tensor:
    refuse_out("mean", out)
    return _mean(x, _axes("mean", axis, x.dim()), keepdims)


# --- scans ------------------------------------------------------------------------------------------------------------------------

def _scanned(x: Tensor, dtype: torch.dtype, axis: int, has_initial: bool) -> Tensor:
    if not has_initial:
        return torch.empty_like(x, dtype=dtype)
    return x.new_empty([extent + 1 if k == axis else extent for k, extent in enumerate(x.shape)], dtype=dtype)


def _scan(op: str, x: Tensor, dtype: torch.dtype, axis: int, has_initial: bool, reverse: bool) -> Tensor:
    """has_initial puts the fold of no elements first: at the end, where the scan begins there."""
    if not (x.is_cpu or has_initial):
        made = _core.scan(_array(x), op, axis=axis, reverse=reverse, dtype=dtype)
        return made if made.stride() == x.stride() else torch.empty_like(x, dtype=dtype).copy_(made)
    result = _scanned(x, dtype, axis, has_initial)
    elements = result.narrow(axis, 0 if reverse else 1, x.shape[axis]) if has_initial else result
    if x.is_cpu:
        _core.scan(_array(x), op, axis=axis, reverse=reverse, out=_array(elements))
    else:
        elements.copy_(_core.scan(_array(x), op, axis=axis, reverse=reverse, dtype=dtype))
    if has_initial:
        result.select(axis, x.shape[axis] if reverse else 0).fill_(1 if op == "multiplies" else 0)
    return result


def _cumulative_sum_fake(x: Tensor, axis: int, dtype: torch.dtype | None, has_initial: bool, reverse: bool) -> Tensor:
    return _scanned(x, dtype or _sum_dtype(x.dtype), axis, has_initial)


def _cumulative_sum_save(ctx: Any, inputs: Any, output: Tensor) -> None:
    x, ctx.axis, _, ctx.has_initial, ctx.reverse = inputs
    ctx.extent, ctx.dtype = x.shape[ctx.axis], x.dtype


def _cumulative_sum_gradient(ctx: Any, g: Tensor) -> Any:
    if ctx.has_initial:
        g = g.narrow(ctx.axis, 0 if ctx.reverse else 1, ctx.extent)
    return _cumulative_sum(g, ctx.axis, None, False, not ctx.reverse).to(ctx.dtype), None, None, None, None


@_operator("cumulative_sum(Tensor x, int axis, ScalarType? dtype, bool has_initial, bool reverse) -> Tensor", _cumulative_sum_fake,
           _cumulative_sum_save, _cumulative_sum_gradient)
def _cumulative_sum(x: Tensor, axis: int, dtype: torch.dtype | None, has_initial: bool, reverse: bool) -> Tensor:
    return _scan("plus", x, dtype or _sum_dtype(x.dtype), axis, has_initial, reverse)


def cumulative_sum(x: Tensor, axis: int | None = None, dtype: Any = None, include_initial: bool = False, out: Any = None) -> Tensor:
    refuse_out("cumulative_sum", out)
    return _cumulative_sum(x, one_axis("cumulative_sum", axis, x.dim()), _torch_dtype(dtype), include_initial, False)


def _cumulative_prod_fake(x: Tensor, axis: int, dtype: torch.dtype | None, has_initial: bool) -> Tensor:
    return _scanned(x, dtype or _sum_dtype(x.dtype), axis, has_initial)


def _cumulative_prod_save(ctx: Any, inputs: Any, output: Tensor) -> None:
    x, ctx.axis, _, ctx.has_initial = inputs
    ctx.save_for_backward(x, output)


def _cumulative_prod_gradient(ctx: Any, g: Tensor) -> Any:
    """A product is a recurrence, y[t] = x[t] y[t - 1], and has the gradient of one: no quotient, and so none by zero."""
    x, y = ctx.saved_tensors
    extent = x.shape[ctx.axis]
    if ctx.has_initial:
        g, y = (one.narrow(ctx.axis, 1, extent) for one in (g, y))
    adjoint = _adjoint(x.to(g.dtype), g, ctx.axis, False)
    before = _shifted(y.to(adjoint.dtype), ctx.axis, 1, torch.ones_like)
    return (adjoint * before).to(x.dtype), None, None, None


@_operator("cumulative_prod(Tensor x, int axis, ScalarType? dtype, bool has_initial) -> Tensor", _cumulative_prod_fake,
           _cumulative_prod_save, _cumulative_prod_gradient)
def _cumulative_prod(x: Tensor, axis: int, dtype: torch.dtype | None, has_initial: bool) -> Tensor:
    return _scan("multiplies", x, dtype or _sum_dtype(x.dtype), axis, has_initial, False)


def cumulative_prod(x: Tensor, axis: int | None = None, dtype: Any = None, include_initial: bool = False, out: Any = None) -> Tensor:
    refuse_out("cumulative_prod", out)
    return _cumulative_prod(x, one_axis("cumulative_prod", axis, x.dim()), _torch_dtype(dtype), include_initial)


# --- running maxima ---------------------------------------------------------------------------------------------------------------

def _extremum_fake(x: Tensor, axis: int) -> Tensor:
    return torch.empty_like(x)


def _extremum_save(ctx: Any, inputs: Any, output: Tensor) -> None:
    _, ctx.axis = inputs
    ctx.save_for_backward(output)


def _extremum_gradient(ctx: Any, g: Tensor) -> Any:
    """Each element has the sum over the stretch in which it is the extremum; of equal ones it is the first's."""
    y, = ctx.saved_tensors
    if y.shape[ctx.axis] == 0:
        return g, None
    first, rest = y.narrow(ctx.axis, 0, 1), y.narrow(ctx.axis, 1, y.shape[ctx.axis] - 1)
    before = y.narrow(ctx.axis, 0, y.shape[ctx.axis] - 1)
    is_first = torch.cat([torch.ones_like(first, dtype=torch.bool), (rest != before) & ~(rest.isnan() & before.isnan())], ctx.axis)
    position = torch.arange(y.shape[ctx.axis], device=y.device).view([-1 if k == ctx.axis else 1 for k in range(y.dim())])
    starts = _cummax(torch.where(is_first, position, 0), ctx.axis)
    return _sum_stretches(g, starts, ctx.axis), None


@_operator("cummax(Tensor x, int axis) -> Tensor", _extremum_fake, _extremum_save, _extremum_gradient)
def _cummax(x: Tensor, axis: int) -> Tensor:
    return _scan("maximum", x, x.dtype, axis, False, False)


@_operator("cummin(Tensor x, int axis) -> Tensor", _extremum_fake, _extremum_save, _extremum_gradient)
def _cummin(x: Tensor, axis: int) -> Tensor:
    return _scan("minimum", x, x.dtype, axis, False, False)


def cummax(x: Tensor, axis: int | None = None, out: Any = None) -> Tensor:
    refuse_out("cummax", out)
    return _cummax(x, one_axis("cummax", axis, x.dim()))


def cummin(x: Tensor, axis: int | None = None, out: Any = None) -> Tensor:
    refuse_out("cummin", out)
    return _cummin(x, one_axis("cummin", axis, x.dim()))


def _sum_stretches_fake(x: Tensor, starts: Tensor, axis: int) -> Tensor:
    return x.new_empty(x.shape)


def _sum_stretches_save(ctx: Any, inputs: Any, output: Tensor) -> None:
    _, starts, ctx.axis = inputs
    ctx.save_for_backward(starts)


def _sum_stretches_gradient(ctx: Any, g: Tensor) -> Any:
    starts, = ctx.saved_tensors
    return torch.gather(g, ctx.axis, starts), None, None


@_operator("sum_stretches(Tensor x, Tensor starts, int axis) -> Tensor", _sum_stretches_fake, _sum_stretches_save, _sum_stretches_gradient)
def _sum_stretches(x: Tensor, starts: Tensor, axis: int) -> Tensor:
    """Sums over the stretches along an axis that begin at the same position, at that position; zero elsewhere."""
    lines, begin = x.movedim(axis, -1), starts.movedim(axis, -1)
    flags = begin == torch.arange(begin.shape[-1], device=x.device)
    at = flags.reshape(-1).nonzero().squeeze(1)
    totals = _segment_reduce(lines.reshape(-1), torch.cat([at, at.new_tensor([x.numel()])]), "plus")
    sums = torch.zeros(x.numel(), dtype=x.dtype, device=x.device).index_put_((at,), totals)
    return x.new_empty(x.shape).copy_(sums.view(lines.shape).movedim(-1, axis))


# --- running sums of exponentials -------------------------------------------------------------------------------------------------

def _logcumsumexp_fake(x: Tensor, axis: int) -> Tensor:
    return torch.empty_like(x)


def _logcumsumexp_save(ctx: Any, inputs: Any, output: Tensor) -> None:
    x, ctx.axis = inputs
    ctx.save_for_backward(x, output)


def _logcumsumexp_gradient(ctx: Any, g: Tensor) -> Any:
    """e^(x[i] - y[i]) r[i], where r[i] = g[i] + e^(y[i] - y[i + 1]) r[i + 1]: no exponent is positive, and so none overflows."""
    x, y = ctx.saved_tensors
    if _is_half(x.dtype):
        x, y = x.float(), y.float()
    none = y == -torch.inf  # where there is nothing yet
    after = _shifted(y, ctx.axis, -1, lambda last: torch.full_like(last, torch.inf))
    decay = torch.where(none, 0, (torch.where(none, 0, y) - after).exp())
    sums = _linear_recurrence(decay, g.to(y.dtype), None, ctx.axis, True)
    share = torch.where(x == -torch.inf, 0, (x - torch.where(none, 0, y)).exp())
    return (share * sums).to(g.dtype), None


@_operator("logcumsumexp(Tensor x, int axis) -> Tensor", _logcumsumexp_fake, _logcumsumexp_save, _logcumsumexp_gradient)
def _logcumsumexp(x: Tensor, axis: int) -> Tensor:
    return _scan("log_sum_exp", x, x.dtype, axis, False, False)


def logcumsumexp(x: Tensor, axis: int | None = None, out: Any = None) -> Tensor:
    refuse_out("logcumsumexp", out)
    return _logcumsumexp(x, one_axis("logcumsumexp", axis, x.dim()))


# --- linear recurrences -----------------------------------------------------------------------------------------------------------

def _shifted(x: Tensor, axis: int, by: int, end: Callable[[Tensor], Tensor], first: Tensor | None = None) -> Tensor:
    """x[t - by] along an axis, by = 1 or -1, and at the end that is left open `first`, or what end() makes."""
    extent = x.shape[axis]
    if extent == 0:
        return x
    kept = x.narrow(axis, 0 if by == 1 else 1, extent - 1)
    edge = end(x.narrow(axis, 0, 1)) if first is None else first
    return torch.cat([edge, kept] if by == 1 else [kept, edge], axis)


def _adjoint(a: Tensor, g: Tensor, axis: int, reverse: bool) -> Tensor:
    """The gradients of the states: the recurrence from the other end with the coefficients of the neighbours (docs/fold-order.md)."""
    if _is_half(g.dtype):
        a, g = a.float(), g.float()
    return _linear_recurrence(_shifted(a, axis, 1 if reverse else -1, torch.zeros_like), g, None, axis, not reverse)


def _sum_to(x: Tensor, shape: Sequence[int]) -> Tensor:
    """The gradient of what was broadcast from this shape."""
    more = x.dim() - len(shape)
    axes = [k for k in range(x.dim()) if k < more or (shape[k - more] == 1 and x.shape[k] != 1)]
    return _sum(x, axes, None, True).reshape(shape) if axes else x


def _state_dtype(a: Tensor, b: Tensor) -> torch.dtype:
    dtype = torch.promote_types(a.dtype, b.dtype)
    return dtype if dtype.is_floating_point else torch.float64


def _linear_recurrence_fake(a: Tensor, b: Tensor, initial: Tensor | None, axis: int, reverse: bool) -> Tensor:
    return a.new_empty(torch.broadcast_shapes(a.shape, b.shape), dtype=_state_dtype(a, b))


def _linear_recurrence_save(ctx: Any, inputs: Any, output: Tensor) -> None:
    a, b, initial, ctx.axis, ctx.reverse = inputs
    ctx.save_for_backward(a, b, initial, output)


def _linear_recurrence_gradient(ctx: Any, g: Tensor) -> Any:
    a, b, initial, h = ctx.saved_tensors
    axis, shape = ctx.axis, h.shape
    adjoint = _adjoint(a.to(g.dtype).expand(shape), g, axis, ctx.reverse)
    to_a = to_b = to_initial = None
    if ctx.needs_input_grad[1]:
        to_b = _sum_to(adjoint.to(g.dtype), b.shape).to(b.dtype)
    if ctx.needs_input_grad[0]:
        lines = [extent for k, extent in enumerate(shape) if k != axis]
        first = None if initial is None else initial.to(adjoint.dtype).expand(lines).unsqueeze(axis)
        before = _shifted(h.to(adjoint.dtype), axis, -1 if ctx.reverse else 1, torch.zeros_like, first)
        to_a = _sum_to((adjoint * before).to(g.dtype), a.shape).to(a.dtype)
    if ctx.needs_input_grad[2]:
        if shape[axis] == 0:
            to_initial = torch.zeros_like(initial)
        else:
            at = shape[axis] - 1 if ctx.reverse else 0
            product = a.to(adjoint.dtype).expand(shape).select(axis, at) * adjoint.select(axis, at)
            to_initial = _sum_to(product.to(g.dtype), initial.shape).to(initial.dtype)
    return to_a, to_b, to_initial, None, None


@_operator("linear_recurrence(Tensor a, Tensor b, Tensor? initial, int axis, bool reverse) -> Tensor", _linear_recurrence_fake,
           _linear_recurrence_save, _linear_recurrence_gradient)
def _linear_recurrence(a: Tensor, b: Tensor, initial: Tensor | None, axis: int, reverse: bool) -> Tensor:
    dtype = _state_dtype(a, b)
    a, b = (_array(x if x.dtype == dtype else x.to(dtype)) for x in (a, b))
    states = None if initial is None else _array(initial)
    return _tensor(us.linear_recurrence(a, b, initial=states, axis=axis, reverse=reverse), dtype).contiguous()


def linear_recurrence(a: Any, b: Any, initial: Any = None, axis: int | None = None, reverse: bool = False, out: Any = None) -> Tensor:
    refuse_out("linear_recurrence", out)
    like = a if isinstance(a, Tensor) else b if isinstance(b, Tensor) else initial
    # Numbers of Python take the type of the tensors beside them.
    number = like.dtype if like.dtype.is_floating_point else torch.float64
    a, b, initial = (x if x is None or isinstance(x, Tensor)
                     else torch.full((), x, dtype=number, device=like.device) if isinstance(x, (int, float))
                     else torch.as_tensor(np.asarray(x), device=like.device) for x in (a, b, initial))
    rank = len(torch.broadcast_shapes(a.shape, b.shape))
    return _linear_recurrence(a, b, initial, one_axis("linear_recurrence", axis, rank), reverse)


# --- segments ---------------------------------------------------------------------------------------------------------------------

_WORDS = {"add": "plus", "sum": "plus", "min": "minimum", "max": "maximum", "multiply": "multiplies", "prod": "multiplies",
          "all": "logical_and", "any": "logical_or"}


def _segment_reduce_fake(x: Tensor, offsets: Tensor, op: str) -> Tensor:
    dtype = _sum_dtype(x.dtype) if op in ("plus", "multiplies") else torch.bool if op.startswith("logical") else x.dtype
    return x.new_empty([offsets.shape[0] - 1], dtype=dtype)


def _segment_reduce_save(ctx: Any, inputs: Any, output: Tensor) -> None:
    x, offsets, ctx.op = inputs
    ctx.extent = x.shape[0]
    ctx.save_for_backward(offsets, *((x, output) if ctx.op != "plus" else ()))


def _segment_reduce_gradient(ctx: Any, g: Tensor) -> Any:
    """That of an extremum is shared by the elements that are equal to it."""
    offsets = ctx.saved_tensors[0]
    if ctx.op == "plus":
        return _segment_broadcast(g, offsets, ctx.extent), None, None
    if ctx.op not in ("minimum", "maximum"):
        raise RuntimeError(f"segment_reduce: {ctx.op!r} has no gradient here; pass 'plus', 'minimum' or 'maximum', or x.detach()")
    x, y = ctx.saved_tensors[1:]
    y = _segment_broadcast(y, offsets, ctx.extent)
    is_extremum = (x == y) | (x.isnan() & y.isnan())
    share = g / _segment_reduce(is_extremum.to(g.dtype), offsets, "plus")
    return torch.where(is_extremum, _segment_broadcast(share, offsets, ctx.extent), 0), None, None


@_operator("segment_reduce(Tensor x, Tensor offsets, str op) -> Tensor", _segment_reduce_fake, _segment_reduce_save, _segment_reduce_gradient)
def _segment_reduce(x: Tensor, offsets: Tensor, op: str) -> Tensor:
    return _tensor(_core.segment_reduce(_array(x), _array(offsets), op), _segment_reduce_fake(x, offsets, op).dtype)


def segment_reduce(x: Tensor, offsets: Any, op: Any) -> Tensor:
    op = op if isinstance(op, str) else op.__name__
    op = _WORDS.get(op, op.replace("bitwise_", "bit_"))
    if x.dim() != 1:
        raise ValueError("segment_reduce: x has not one dimension; pass an array of one, as x.ravel()")
    return _segment_reduce(x, torch.as_tensor(offsets, device=x.device), op)


def _segment_broadcast_fake(x: Tensor, offsets: Tensor, extent: int) -> Tensor:
    return x.new_empty([extent])


def _segment_broadcast_save(ctx: Any, inputs: Any, output: Tensor) -> None:
    ctx.save_for_backward(inputs[1])


def _segment_broadcast_gradient(ctx: Any, g: Tensor) -> Any:
    return _segment_reduce(g, ctx.saved_tensors[0], "plus"), None, None


@_operator("segment_broadcast(Tensor x, Tensor offsets, SymInt extent) -> Tensor", _segment_broadcast_fake,
           _segment_broadcast_save, _segment_broadcast_gradient)
def _segment_broadcast(x: Tensor, offsets: Tensor, extent: int) -> Tensor:
    """One element for each segment, in the place of all its elements; zero where there is no segment."""
    values = _tensor(_core.run_length_decode(_array(x), _array(offsets.diff())), x.dtype)
    if values.shape[0] == extent:
        return values
    result = x.new_zeros([extent])
    begin = int(offsets[0])
    result[begin:begin + values.shape[0]] = values
    return result


# --- integral images --------------------------------------------------------------------------------------------------------------

def _integral_image_fake(x: Tensor, dtype: torch.dtype | None, reverse: bool) -> Tensor:
    wide = torch.float32 if _is_half(x.dtype) else _sum_dtype(x.dtype)
    return x.new_empty(x.shape, dtype=dtype or wide)


def _integral_image_save(ctx: Any, inputs: Any, output: Tensor) -> None:
    x, _, ctx.reverse = inputs
    ctx.dtype = x.dtype


def _integral_image_gradient(ctx: Any, g: Tensor) -> Any:
    return _integral_image(g, None, not ctx.reverse).to(ctx.dtype), None, None


@_operator("integral_image(Tensor x, ScalarType? dtype, bool reverse) -> Tensor", _integral_image_fake, _integral_image_save,
           _integral_image_gradient)
def _integral_image(x: Tensor, dtype: torch.dtype | None, reverse: bool) -> Tensor:
    """reverse: the sums of what is below and to the right."""
    result = _integral_image_fake(x, dtype, reverse)
    if result.is_cpu:
        turn = (..., slice(None, None, -1), slice(None, None, -1)) if reverse else ...
        _core.integral_image(_array(x)[turn], out=_array(result)[turn])
        return result
    sums = _core.integral_image(_array(x.flip(-1, -2) if reverse else x), dtype=result.dtype)
    return sums.flip(-1, -2) if reverse else sums


def integral_image(x: Tensor, dtype: Any = None, out: Any = None) -> Tensor:
    refuse_out("integral_image", out)
    if x.dim() < 2:
        raise ValueError("integral_image: an image has rows and columns; pass an array of two dimensions at least")
    return _integral_image(x, _torch_dtype(dtype), False)


# --- torch.compile ----------------------------------------------------------------------------------------------------------------

def allow_in_graph() -> None:
    """Lets torch.compile write calls of upsweep's functions into its graph, which it then traces by the operators above."""
    for name in ("sum", "mean", "cumulative_sum", "cumulative_prod", "cummax", "cummin", "logcumsumexp", "linear_recurrence",
                 "segment_reduce", "integral_image"):
        torch.compiler.allow_in_graph(getattr(us, name))
