# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Arrays that stand for a computation: PyTorch's with a gradient, and what torch.compile, jax.jit and their kin pass in."""
from __future__ import annotations

import sys
from typing import Any

_Tensor: Any = None  # PyTorch's, and what is asked of it, when there is one
_forward_ad: Any = None
_has_modes: Any = None
_transform: Any = None


def operators_of(x: Any) -> Any:
    """upsweep.torch or upsweep.jax if x takes part in what that library records, and None if x has elements to be read.

    It is asked before every call for an array that is not NumPy's, so that 0.3 us are much: a plain tensor passes the first two lines.
    """
    if type(x) is _Tensor:
        if not (x.requires_grad or x.is_neg() or _has_modes() or _transform() is not None or _forward_ad._current_level >= 0):
            return None
        import upsweep.torch

        return upsweep.torch
    torch = sys.modules.get("torch")
    if isinstance(x, getattr(torch, "Tensor", ())):
        if _Tensor is None:
            _meet(torch)
            return operators_of(x)
        import upsweep.torch  # A subclass: a parameter, what torch.compile traces with, or a stranger.

        return upsweep.torch
    jax = sys.modules.get("jax")
    if hasattr(jax, "core") and isinstance(x, jax.core.Tracer):
        import upsweep.jax

        return upsweep.jax
    return None


def elements_of(call: str, x: Any) -> Any:
    """x, or a copy of a tensor that is the negative of what its memory holds. TypeError if there are no elements to be read."""
    operators = operators_of(x)
    if operators is None:
        return x
    if type(x) is _Tensor and not (x.requires_grad or _has_modes() or _transform() is not None or _forward_ad._current_level >= 0):
        return x.resolve_neg()
    raise TypeError(f"{call}: the array takes part in a gradient or in a function that is compiled, for which this call has no operator; "
                    "call it outside, and pass x.detach()" if operators.__name__ == "upsweep.torch" else
                    f"{call}: the array stands for one in a function that is transformed or compiled, for which this call has no operator; "
                    "call it outside")


def _meet(torch: Any) -> None:
    global _Tensor, _forward_ad, _has_modes, _transform
    _forward_ad = torch.autograd.forward_ad
    _has_modes = torch._C._len_torch_dispatch_stack  # torch.utils._python_dispatch: make_fx, FakeTensorMode
    _transform = torch._C._functorch.peek_interpreter_stack  # torch.func: vmap, grad, jvp
    _Tensor = torch.Tensor
