# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""What is made of folds and of arithmetic by NumPy."""
from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from upsweep._gpu_arrays import diff_of, functions_of, lies_on_gpu, signed, to_numpy
from upsweep._interchange import adopt


def diff(x: npt.ArrayLike, /, *, axis: int = -1, n: int = 1, prepend: npt.ArrayLike | None = None,
         append: npt.ArrayLike | None = None) -> Any:
    """Differences of neighbours along an axis, `n` times over. The inverse of `cumulative_sum`, to the bit for integers.

    It is numpy.diff, one subtraction an element, for arrays of any kind.

    Parameters
    ----------
    x : array
    axis : int
    n : int
    prepend, append : array, optional
        What is put before and behind the axis first: numbers, or arrays with the other extents of `x`.

    Returns
    -------
    array
        Of the type of `x`, and shorter by `n` along the axis.

    Examples
    --------
    >>> import numpy as np, upsweep as us
    >>> us.diff(us.cumulative_sum(np.array([3, 1, 4])), prepend=0)
    array([3, 1, 4])
    """
    if lies_on_gpu(x):
        return diff_of(x, n, axis, prepend, append)
    array, export = adopt("diff", x)
    ends = {}
    for name, end in (("prepend", prepend), ("append", append)):
        if end is not None:  # Numbers of Python take the type of the array.
            ends[name] = np.asarray(end, array.dtype) if isinstance(end, (int, float)) else adopt("diff", end)[0]
    result = np.diff(array, n, axis, **ends)
    return result if export is None else export(result)


def rectangle_sum(integral: npt.ArrayLike, rows: tuple[Any, Any], columns: tuple[Any, Any], /) -> Any:
    """Sum over rectangles of an image, from its `integral_image`.

    Parameters
    ----------
    integral : array
        What `integral_image` gives of the image.
    rows, columns : (int, int) or pair of arrays of integers
        Where the rectangle begins, and before which row and column it ends, as those of a slice; arrays for many rectangles at
        once. 0 <= begin <= end <= extent.

    Returns
    -------
    scalar or array
        Three operations for each rectangle, whose errors are those of the four sums that it is made of.

    Examples
    --------
    >>> import numpy as np, upsweep as us
    >>> image = np.arange(12).reshape(3, 4)
    >>> int(us.rectangle_sum(us.integral_image(image), (1, 3), (0, 2)))
    26
    >>> int(image[1:3, 0:2].sum())
    26
    """
    if lies_on_gpu(integral):
        array, functions = signed(integral), functions_of("rectangle_sum", integral)
    else:
        (array, export), functions = adopt("rectangle_sum", integral), np
    if array.ndim < 2:
        raise ValueError("rectangle_sum: an integral image has rows and columns; pass what integral_image gives")
    bounds = []
    for name, pair, extent in (("rows", rows, array.shape[-2]), ("columns", columns, array.shape[-1])):
        begin, end = (to_numpy(bound) for bound in pair)
        if begin.dtype.kind not in "iu" or end.dtype.kind not in "iu":
            raise TypeError(f"rectangle_sum: {name} are no integers; pass where they begin and end")
        if not (np.all(begin >= 0) and np.all(begin <= end) and np.all(end <= extent)):
            raise ValueError(f"rectangle_sum: {name} are not within the {extent} of the image, or end before they begin; pass "
                             "0 <= begin <= end <= extent")
        bounds.append((begin.astype(np.int64), end.astype(np.int64)))
    (top, bottom), (left, right) = bounds

    def sum_before(row: Any, column: Any) -> Any:
        """Of all elements above this row and left of this column."""
        row, column = np.broadcast_arrays(row, column)
        if 0 in array.shape[-2:]:
            return functions.asarray(np.zeros(array.shape[:-2] + row.shape, np.int64))
        is_some, *at = (functions.asarray(place) for place in (row * column != 0, np.maximum(row - 1, 0), np.maximum(column - 1, 0)))
        return functions.where(is_some, array[(..., *at)], 0)

    result = sum_before(bottom, right) - sum_before(top, right) - sum_before(bottom, left) + sum_before(top, left)
    if functions is not np:
        return result if array is integral else result.view(integral.dtype)
    result = result.astype(array.dtype, copy=False)
    return result[()] if export is None else export(np.asarray(result))
