# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Folds of arrays that come in pieces, by partials: with the types and the bits of one call for the whole."""
from __future__ import annotations

from typing import Any

import numpy as np

from upsweep import _core


def is_half(dtype: np.dtype) -> bool:
    return dtype.itemsize == 2 and dtype.kind not in "iu"


def is_float(dtype: np.dtype) -> bool:
    return dtype.kind == "f" or is_half(dtype)


class Fold:
    """How an array of this dtype is folded in pieces. TypeError where upsweep.reduce would raise it.

    Parameters
    ----------
    op : str
    elements : numpy.dtype
        Of the pieces.
    asked : numpy.dtype, optional
        The argument `dtype` of sums and products.
    """

    def __init__(self, op: str, elements: np.dtype, asked: np.dtype | None = None):
        self.op = op
        self.result = _core.reduce(np.zeros(1, elements), op, dtype=asked).dtype
        # Numbers that are folded as floating-point ones of another type are converted first. Integers are exact in any.
        self.elements = np.dtype(asked) if asked is not None and is_float(np.dtype(asked)) else elements

    def none(self) -> _core.partial:
        """The partial of no elements."""
        return _core.partial(None, self.op, dtype=self.elements)

    def feed(self, to: _core.partial, piece: np.ndarray, start: int) -> None:
        to.feed(piece.astype(self.elements, copy=False), start)

    def partial(self, piece: np.ndarray, start: int) -> _core.partial:
        return _core.partial(piece.astype(self.elements, copy=False), self.op, start=start)

    def value(self, of: _core.partial) -> Any:
        return of.value().astype(self.result)


class MeanFold(Fold):
    """The same of means, which are sums until the end."""

    def __init__(self, elements: np.dtype):
        # Halves are divided in float32 as well, and rounded once.
        super().__init__("plus", elements, np.dtype(np.float32) if is_half(elements) else None)
        self.mean = elements if is_float(elements) else np.dtype(np.float64)

    def value(self, of: _core.partial) -> Any:
        total = super().value(of)
        wide = total.dtype.type if is_float(total.dtype) else np.float64
        with np.errstate(all="ignore"):
            mean = wide(total) / wide(of.count)
            return (wide(np.nan) if np.isnan(mean) else mean).astype(self.mean)
