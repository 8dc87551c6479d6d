# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Arrays that stand for a computation: PyTorch's with a gradient, and what torch.compile, jax.jit and their kin pass in."""
from __future__ import annotations

import sys
from typing import Any

import numpy as np

_PLAIN: tuple[type, ...] = ()  # the types of tensors that are nothing but tensors, as soon as the first comes
_torch: Any = None  # upsweep.torch, from then on, and what is asked about each tensor
_has_gradients: Any = None
_has_modes: Any = None
_transform: Any = None
_forward_ad: Any = None


def operators_of(x: Any) -> Any:
    """upsweep.torch or upsweep.jax if x takes part in what that library records, and None if x has elements to be read.

    It is asked before every call for an array that is not NumPy's. A plain tensor passes the first two lines, in a quarter of a
    microsecond.
    """
    if type(x) in _PLAIN:
        return _torch if _is_recorded(x) or x.is_neg() else None
    torch = sys.modules.get("torch")
    if isinstance(x, getattr(torch, "Tensor", ())):
        if not _PLAIN:
            _meet_tensors()
            return operators_of(x)
        return _torch  # A subclass: what torch.compile traces with, or a stranger.
    jax = sys.modules.get("jax")
    if hasattr(jax, "core") and isinstance(x, jax.core.Tracer):
        import upsweep.jax

        return upsweep.jax
    return None


def as_numpy(call: str, x: Any) -> tuple[Any, Any] | None:
    """What _interchange.adopt gives of a tensor in memory of the host, by PyTorch's own short way; None for what is none.

    TypeError if x is recorded: who asks has no operator for it.
    """
    operators = operators_of(x)
    if operators is not None:
        if operators.__name__ == "upsweep.jax":
            raise TypeError(f"{call}: the array is traced by JAX, for which this call has no rule; call it outside of what is transformed")
        if type(x) not in _PLAIN or _is_recorded(x):
            raise TypeError(f"{call}: the tensor requires a gradient or is traced, and there is no operator of PyTorch for this call; "
                            "pass x.detach(), outside of what is compiled")
        x = x.resolve_neg()  # Its memory holds the negatives.
    elif type(x) not in _PLAIN or not x.is_cpu:
        return None
    return _torch.as_numpy(x)


def _is_recorded(x: Any) -> bool:
    """Whether PyTorch records what is made of a plain tensor: for a gradient, a compiler or a transform."""
    return (x.requires_grad and _has_gradients()) or _has_modes() or _transform() is not None or _forward_ad._current_level >= 0


def ends_gradient(x: Any) -> bool:
    """Whether the gradient of an array that requires one would end in a call that has none."""
    if not _PLAIN and "torch" in sys.modules:
        _meet_tensors()
    return type(x) not in _PLAIN or _has_gradients()


def _meet_tensors() -> None:
    global _PLAIN, _torch, _forward_ad, _has_gradients, _has_modes, _transform
    import upsweep.torch as torch

    _torch = torch
    _forward_ad, _has_gradients, _has_modes, _transform = torch.forward_ad, torch.has_gradients, torch.has_modes, torch.transform
    _PLAIN = torch.PLAIN


# --- arguments of the functions of upsweep.torch and upsweep.jax ----------------------------------------------------------------------

def one_axis(call: str, axis: int | None, rank: int) -> int:
    if rank == 0:
        raise ValueError(f"{call}: an array without dimensions has no axis; pass an array of one dimension at least")
    if axis is None:
        if rank != 1:
            raise ValueError(f"{call}: an array of several dimensions is scanned along one of them; pass axis")
        return 0
    if not -rank <= axis < rank:
        raise np.exceptions.AxisError(axis, rank)
    return axis % rank


def refuse_out(call: str, out: Any) -> None:
    if out is not None:
        raise TypeError(f"{call}: what is recorded for a gradient, compiled or transformed is not written to out; leave it out")
