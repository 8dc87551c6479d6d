# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Linear recurrences: shapes and types, as NumPy has them, for the engine."""
from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from upsweep import _core
from upsweep._interchange import adopt
from upsweep._pieces import is_float, is_half
from upsweep._recorded import operators_of


def linear_recurrence(a: npt.ArrayLike, b: npt.ArrayLike, /, *, initial: npt.ArrayLike | None = None, axis: int | None = None,
                      reverse: bool = False, out: np.ndarray | None = None) -> Any:
    """The states h[t] = a[t] * h[t - 1] + b[t] along an axis, in parallel.

    It is a scan of affine maps in the canonical order (docs/fold-order.md): the bits depend on the length alone, and are not quite those
    of a loop.

    Parameters
    ----------
    a, b : array
        Coefficients, of shapes that are broadcast against one another: a number for the same one everywhere.
    initial : array, optional
        The state before the first element, one for each line: a number, or of the shape of the result without the axis. 0 by default.
    axis : int
        May be left out for arrays of one dimension.
    reverse : bool
        From the last element to the first: h[t] = a[t] * h[t + 1] + b[t].
    out : array, optional
        Where results are written, of their type: `a` or `b`, or an array that shares no memory with them.

    Returns
    -------
    array
        Of the type that NumPy promotes to, float64 for integers. float16 and bfloat16 have states of float32, and are rounded once.
        Arrays in memory of a GPU are of floating-point numbers, and the result is one of them; beside the axis they have two
        dimensions that do not lie as fewer at most.

    Examples
    --------
    >>> import numpy as np, upsweep as us
    >>> us.linear_recurrence(0.5, np.array([1.0, 1.0, 1.0, 0.0]))
    array([1.   , 1.5  , 1.75 , 0.875])
    >>> us.linear_recurrence(np.array([2.0, 3.0]), np.array([1.0, 0.0]), initial=1.0)
    array([3., 9.])
    """
    call = "linear_recurrence"
    operators = next((of for of in map(operators_of, (a, b, initial)) if of is not None), None)
    if operators is not None:
        return operators.linear_recurrence(a, b, initial, axis, reverse, out)
    if not all(isinstance(x, (np.ndarray, int, float, type(None))) for x in (a, b, initial)):
        states = _core.recur_on_gpu(a, b, initial, axis, reverse, out)
        if states is not None:
            return states
    # Numbers of Python take the type of the arrays beside them.
    arrays = [adopt(call, x) if not isinstance(x, (int, float)) else (x, None) for x in (a, b)]
    export = next((of for _, of in arrays if of is not None), None)
    first, second = (x for x, _ in arrays)
    # NumPy takes a number for a float64 beside bfloat16, which is no type of its own.
    result = np.result_type(*([x for x in (first, second) if type(x) not in (bool, int, float)] or [first, second]))
    if not is_float(result):
        if result.kind not in "biu":
            raise TypeError(f"{call}: coefficients of dtype {result} are no real numbers; convert them")
        result = np.dtype(np.float64)
    elif result.itemsize > 8:
        raise TypeError(f"{call}: there are no states of {result}; convert to float64")
    work = np.dtype(np.float32) if is_half(result) else result
    first, second = np.broadcast_arrays(np.asarray(first).astype(work, copy=False), np.asarray(second).astype(work, copy=False))
    if axis is None and first.ndim != 1:
        raise ValueError(f"{call}: arrays of {first.ndim} dimensions have several axes or none; pass axis, and arrays of one dimension "
                         "at least")
    _core.any(np.empty((1,) * first.ndim, bool), axis=axis)  # AxisError
    along = 0 if axis is None else axis % first.ndim
    states = None
    if initial is not None:
        shape = first.shape[:along] + first.shape[along + 1:]
        states = np.broadcast_to(np.asarray(adopt(call, initial)[0]).astype(work, copy=False), shape)
    if out is not None and (not isinstance(out, np.ndarray) or out.dtype != result):
        raise TypeError(f"{call}: out is no array of {result}; pass one as the result has it")
    to = out if out is not None and work == result else np.empty(first.shape, work)
    _core.recur(first, second, states, along, reverse, to)
    if out is not None:
        if to is not out:
            np.copyto(out, to, casting="same_kind")
        return out
    to = to.astype(result, copy=False)
    return to if export is None else export(to)
