# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Folds of Dask's arrays, with the bits of one call for the array in memory: whatever the chunks and the workers are.

Elements are folded where they are, chunk by chunk, and partials are merged (upsweep.partial). Results are computed when Dask is
asked to.
"""
from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np
import numpy.typing as npt

import dask
import dask.array
from upsweep import _core
from upsweep._histogram import Histogram, densities
from upsweep._pieces import Bins, Fold, MeanFold, is_float, is_half, merged

__all__ = ["all", "any", "cumulative_prod", "cumulative_sum", "histogram", "max", "mean", "min", "prod", "sum"]

_Axis = int | tuple[int, ...] | None
_MERGED_AT_ONCE = 16


def sum(x: dask.array.Array, /, *, axis: _Axis = None, dtype: npt.DTypeLike | None = None,
        keepdims: bool = False) -> dask.array.Array:
    """Sum of all elements, or along axes, with the bits of upsweep.sum.

    Parameters
    ----------
    x : dask.array.Array
    axis : int or tuple of ints, optional
        All axes by default. An axis that is named is rechunked to one chunk: each line is folded as a whole.
    dtype, keepdims
        As of upsweep.sum.

    Returns
    -------
    dask.array.Array

    Examples
    --------
    >>> import numpy as np, upsweep as us, dask.array as da
    >>> x = np.random.default_rng(1).normal(size=100_000)
    >>> us.dask.sum(da.from_array(x, chunks=777)).compute() == us.sum(x)
    np.True_
    """
    return _reduce("sum", "plus", x, axis, dtype, keepdims)


def prod(x: dask.array.Array, /, *, axis: _Axis = None, dtype: npt.DTypeLike | None = None,
         keepdims: bool = False) -> dask.array.Array:
    """Product of all elements, or along axes, with the bits of upsweep.prod. The parameters are those of `sum`."""
    return _reduce("prod", "multiplies", x, axis, dtype, keepdims)


def min(x: dask.array.Array, /, *, axis: _Axis = None, keepdims: bool = False) -> dask.array.Array:
    """Least element of all, or along axes, as upsweep.min. The parameters are those of `sum`."""
    return _reduce("min", "minimum", x, axis, None, keepdims)


def max(x: dask.array.Array, /, *, axis: _Axis = None, keepdims: bool = False) -> dask.array.Array:
    """Greatest element of all, or along axes, as upsweep.max. The parameters are those of `sum`."""
    return _reduce("max", "maximum", x, axis, None, keepdims)


def all(x: dask.array.Array, /, *, axis: _Axis = None, keepdims: bool = False) -> dask.array.Array:
    """Whether all elements are true, or those along axes. The parameters are those of `sum`."""
    return _reduce("all", "logical_and", x, axis, None, keepdims)


def any(x: dask.array.Array, /, *, axis: _Axis = None, keepdims: bool = False) -> dask.array.Array:
    """Whether any element is true, or any along axes. The parameters are those of `sum`."""
    return _reduce("any", "logical_or", x, axis, None, keepdims)


def mean(x: dask.array.Array, /, *, axis: _Axis = None, keepdims: bool = False) -> dask.array.Array:
    """Mean of all elements, or along axes, with the bits of upsweep.mean. The parameters are those of `sum`."""
    return _reduce("mean", None, x, axis, None, keepdims)


def cumulative_sum(x: dask.array.Array, /, *, axis: int | None = None, dtype: npt.DTypeLike | None = None) -> dask.array.Array:
    """Sums of the elements up to each one, along an axis, with the bits of upsweep.cumulative_sum.

    The chunks of an array of one dimension stay as they are: elements are read twice, first for the sums before each chunk. The axis
    of an array of several dimensions is rechunked to one chunk.

    Examples
    --------
    >>> import numpy as np, upsweep as us, dask.array as da
    >>> x = np.random.default_rng(1).normal(size=10_000)
    >>> sums = us.dask.cumulative_sum(da.from_array(x, chunks=777))
    >>> np.array_equal(sums.compute(), us.cumulative_sum(x))
    True
    """
    return _scan("cumulative_sum", "plus", x, axis, dtype)


def cumulative_prod(x: dask.array.Array, /, *, axis: int | None = None, dtype: npt.DTypeLike | None = None) -> dask.array.Array:
    """Products of the elements up to each one, along an axis, as `cumulative_sum`."""
    return _scan("cumulative_prod", "multiplies", x, axis, dtype)


def histogram(x: dask.array.Array, /, bins: int | npt.ArrayLike = 10, range: tuple[float, float] | None = None, *,
              density: bool = False) -> Any:
    """Count samples in bins, as upsweep.histogram.

    Parameters
    ----------
    x : dask.array.Array
    bins : int or sequence of numbers
    range : (float, float), optional
        Without it samples are read twice, first for the least and the greatest.
    density : bool

    Returns
    -------
    dask.delayed.Delayed
        Of an upsweep.Histogram.

    Examples
    --------
    >>> import numpy as np, upsweep as us, dask.array as da
    >>> counts, edges = us.dask.histogram(da.arange(100, chunks=7), bins=4).compute()
    >>> counts
    array([25, 25, 25, 25])
    """
    _check("histogram", x)
    blocks = _blocks(x)
    ends = None
    if Bins.need_ends(bins, range):
        ends = dask.delayed(_ends, pure=False)([_partials(Fold(op, x.dtype), x) for op in ("minimum", "maximum")], x.dtype)
    else:
        Bins(x.dtype, bins, range)  # which refuses what is wrong now
    all_bins = dask.delayed(Bins, pure=False)(x.dtype, bins, range, ends)
    count = dask.delayed(_count_samples, pure=False)
    total = _merged([count(all_bins, block) for block, _ in blocks], _merge_histograms)
    return dask.delayed(densities, pure=False)(total) if density else total


# --- how ------------------------------------------------------------------------------------------------------------------------


def _check(call: str, x: Any) -> None:
    if not isinstance(x, dask.array.Array):
        raise TypeError(f"dask.{call}: {type(x).__name__} is no array of Dask; pass a dask.array.Array")
    if math.isnan(x.size):
        raise ValueError(f"dask.{call}: the sizes of the chunks are not known; call x.compute_chunk_sizes()")


def _blocks(x: dask.array.Array) -> list[tuple[Any, tuple[int, ...]]]:
    """Each chunk, delayed, with the index of its first element."""
    blocks = x.to_delayed()
    firsts = [np.concatenate(([0], np.cumsum(sizes)))[:-1].tolist() for sizes in x.chunks]
    return [(blocks[k], tuple(first[i] for first, i in zip(firsts, k))) for k in np.ndindex(*blocks.shape)]


def _merged(parts: list[Any], merge: Any) -> Any:
    """One delayed value of many, in any order, by a tree of tasks."""
    task = dask.delayed(merge, pure=False)
    while len(parts) > 1:
        parts = [task(parts[k:k + _MERGED_AT_ONCE]) for k in builtins.range(0, len(parts), _MERGED_AT_ONCE)]
    return parts[0]


def _merge_partials(parts: list[_core.partial]) -> _core.partial:
    total = _core.partial.from_bytes(bytes(parts[0]))  # The other may be asked for again.
    for part in parts[1:]:
        total.merge(part)
    return total


def _merge_histograms(parts: list[Histogram]) -> Histogram:
    total = parts[0]
    for part in parts[1:]:
        total = merged(total, part)
    return total


def _count_samples(bins: Bins, block: np.ndarray) -> Histogram:
    return bins.of(np.asarray(block))


def _ends(least_and_greatest: list[_core.partial], dtype: np.dtype) -> np.ndarray:
    return np.array([end.value() for end in least_and_greatest] if least_and_greatest[0].count else [], dtype)


def _partial_of_block(fold: Fold, block: np.ndarray, first: tuple[int, ...], shape: tuple[int, ...]) -> _core.partial:
    """Of a chunk whose elements are some of an array of this shape, in C order: run after run of those side by side there."""
    block = np.asarray(block)
    total = fold.none()
    cut = block.ndim  # Behind this dimension the chunk has all of the array.
    while cut > 0 and block.shape[cut - 1] == shape[cut - 1]:
        cut -= 1
    leading = cut - 1 if cut > 0 else 0
    strides = [math.prod(shape[k + 1:]) for k in builtins.range(len(shape))]
    for index in np.ndindex(*block.shape[:leading]):
        where = (*index, *[0] * (len(shape) - leading))
        position = builtins.sum((a + b) * stride for a, b, stride in zip(first, where, strides))
        fold.feed(total, block[index], position)
    return total


def _partials(fold: Fold, x: dask.array.Array) -> Any:
    """The partial of all elements, delayed."""
    task = dask.delayed(_partial_of_block, pure=False)
    return _merged([task(fold, block, first, x.shape) for block, first in _blocks(x)], _merge_partials)


def _along(block: np.ndarray, name: str, options: dict[str, Any]) -> np.ndarray:
    return getattr(_core, name)(np.asarray(block), **options)


def _reduce(name: str, op: str | None, x: dask.array.Array, axis: _Axis, dtype: npt.DTypeLike | None,
            keepdims: bool) -> dask.array.Array:
    _check(name, x)
    fold = MeanFold(x.dtype) if op is None else Fold(op, x.dtype, None if dtype is None else np.dtype(dtype))
    if op in ("minimum", "maximum") and x.size == 0:
        _core.reduce(np.empty(0, x.dtype), op)  # ValueError
    result = fold.mean if isinstance(fold, MeanFold) else fold.result
    axes = tuple(builtins.range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    _core.any(np.empty((1,) * x.ndim, bool), axis=axes)  # AxisError
    axes = tuple(a % x.ndim for a in axes)
    if len(axes) == x.ndim:
        value = dask.delayed(fold.value, pure=False)(_partials(fold, x))
        y = dask.array.from_delayed(value, (), result)
        return y.reshape((1,) * x.ndim) if keepdims else y
    x = x.rechunk({a: -1 for a in axes})
    options = {"axis": axes, "keepdims": True} | ({} if dtype is None else {"dtype": dtype})
    chunks = tuple((1,) if a in axes else sizes for a, sizes in enumerate(x.chunks))
    y = x.map_blocks(_along, name, options, dtype=result, chunks=chunks, meta=np.empty((0,) * x.ndim, result))
    return y if keepdims else dask.array.squeeze(y, axis=axes)


def _scan(name: str, op: str, x: dask.array.Array, axis: int | None, dtype: npt.DTypeLike | None) -> dask.array.Array:
    _check(name, x)
    if x.ndim == 0 or (axis is None and x.ndim != 1):
        raise ValueError(f"dask.{name}: an array of {x.ndim} dimensions is scanned along one of them; pass axis")
    options = {"axis": 0 if axis is None else axis} | ({} if dtype is None else {"dtype": dtype})
    result = getattr(_core, name)(np.empty((1,) * x.ndim, x.dtype), **options).dtype  # AxisError and TypeError, too
    if x.ndim > 1 or x.npartitions == 1:
        x = x.rechunk({options["axis"]: -1})
        return x.map_blocks(_along, name, options, dtype=result, meta=np.empty((0,) * x.ndim, result))

    # Halves are folded in float32, and each result is rounded once.
    work = np.dtype(np.float32) if is_half(result) else result
    fold = Fold(op, work)
    partial_of, merge, run = (dask.delayed(f, pure=False) for f in (_partial_of_elements, _merge_partials, _running))
    before = None
    parts = []
    for (block, (first,)), size in zip(_blocks(x), x.chunks[0]):
        values = run(block, before, first, fold, result)
        parts.append(dask.array.from_delayed(values, (size,), result))
        part = partial_of(fold, block, first)
        before = part if before is None else merge([before, part])
    return dask.array.concatenate(parts)


def _partial_of_elements(fold: Fold, block: np.ndarray, first: int) -> _core.partial:
    return fold.partial(np.asarray(block), first)


def _running(block: np.ndarray, before: _core.partial | None, first: int, fold: Fold, result: np.dtype) -> np.ndarray:
    """The folds up to each element of a chunk, from the partial of all elements before it."""
    block = np.asarray(block).astype(fold.elements, copy=False)
    if before is None or before.count == 0:
        return _core.scan(block, fold.op).astype(result, copy=False)
    if not is_float(fold.elements):  # Integers are exact in any order.
        return _core.scan(block, fold.op, initial=before.value().astype(result), dtype=result)
    # The fold up to an element is that up to the aligned block of the canonical order in which it lies, and then the fold within that
    # block. So each aligned block is scanned behind a line as long as itself: its first element is the fold before it, all others
    # are neutral. The fold up to its last element, which completes larger blocks, is that of the partial.
    neutral = fold.elements.type(-0.0 if fold.op == "plus" else 1)
    folds = np.empty(len(block), fold.elements)
    total = _merge_partials([before])
    begin = 0
    while begin != len(block):
        position = first + begin
        size = builtins.min(position & -position, 1 << (len(block) - begin).bit_length() - 1)
        piece = block[begin:begin + size]
        line = np.full(2 * size, neutral)
        line[0] = total.value()
        line[size:] = piece
        folds[begin:begin + size] = _core.scan(line, fold.op)[size:]
        total.feed(piece, position)
        begin += size
        folds[begin - 1] = total.value()
    return folds.astype(result, copy=False)
