# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Folds of arrays that come in pieces, by partials: with the types and the bits of one call for the whole."""
from __future__ import annotations

from typing import Any

import numpy as np

from upsweep import _core
from upsweep._histogram import Histogram, checked_edges, make


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


class Bins:
    """The bins of a histogram of samples that come in pieces.

    Parameters
    ----------
    samples : numpy.dtype
    bins, range : as of upsweep.histogram
    ends : numpy.ndarray, optional
        The least and the greatest sample, or nothing where there are no samples; needed for so many bins without a range.
    """

    def __init__(self, samples: np.dtype, bins: Any, range: Any, ends: np.ndarray | None = None):
        if isinstance(bins, str):
            raise TypeError(f"histogram: the rule {bins!r} needs all samples at once; pass a number of bins, or edges")
        self.edges, self.bins, self.range = None, bins, range
        if not isinstance(bins, (int, np.integer)) or isinstance(bins, bool):
            self.edges = checked_edges(bins)
        elif range is None and ends is not None:
            bins_of_ends = _core.histogram(ends, int(bins))  # which are those of all samples; refuses ends that are not finite
            if samples == np.float32:
                self.edges = np.asarray(bins_of_ends.edges)  # NumPy computes them in the type of the samples.
            else:
                self.range = (float(ends[0]), float(ends[1])) if len(ends) else (0, 1)
        self.none = _core.histogram_between(np.empty(0, samples), self.edges, None) if self.edges is not None else \
            _core.histogram(np.empty(0, samples), int(bins), self.range)

    @staticmethod
    def need_ends(bins: Any, range: Any) -> bool:
        return range is None and isinstance(bins, (int, np.integer)) and not isinstance(bins, bool)

    def of(self, piece: np.ndarray) -> Histogram:
        if self.edges is not None:
            return _core.histogram_between(piece, self.edges, None)
        return _core.histogram(piece, int(self.bins), self.range)


def merged(a: Histogram, b: Histogram) -> Histogram:
    """The histogram of the samples of both, whose bins are the same."""
    return make(a[0] + b[0], a[1], *(one + other for one, other in zip(a.outside, b.outside)))
