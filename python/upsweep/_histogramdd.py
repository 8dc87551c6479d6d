# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Histograms of points of several dimensions, with the bins and edges of numpy.histogramdd."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from upsweep import _core
from upsweep._gpu_arrays import converted, functions_of, lies_on_gpu, to_numpy
from upsweep._histogram import JointHistogram, checked_edges, make_joint, make_joint_on_gpu
from upsweep._interchange import adopt


def histogramdd(sample: npt.ArrayLike | Sequence[npt.ArrayLike], /, bins: int | Sequence[Any] = 10,
                range: Sequence[tuple[float, float] | None] | None = None, *, weights: npt.ArrayLike | None = None,
                density: bool = False) -> JointHistogram:
    """Count points in bins of several dimensions, as numpy.histogramdd.

    Parameters
    ----------
    sample : array of shape (N, D), or sequence of D arrays
        A point in each row; or the coordinates, each in an array of one dimension.
    bins : int, or sequence of D numbers or sequences of edges
        So many bins of equal width in each dimension, the last one closed; or bins between these edges, which ascend.
    range : sequence of D pairs or None, optional
        Where bins of equal width begin and end. By default the least and the greatest coordinate.
    weights : array of shape (N,), optional
        What each point counts. Floating-point sums are those of the real numbers, rounded once.
    density : bool
        Give counts divided by their sum and by the volume of their bin.

    Returns
    -------
    JointHistogram
        The pair (counts, edges), and `outside`: a point of which a coordinate is in no bin counts once, as NaN if one is NaN, else as
        above if one is above its bins, else as below.

    Examples
    --------
    >>> import numpy as np, upsweep as us
    >>> points = np.array([[0.0, 0.0], [0.5, 2.5], [1.0, 3.0], [7.0, 1.0]])
    >>> counts, edges = us.histogramdd(points, bins=(2, 3), range=((0, 2), (0, 3)))
    >>> counts
    array([[1, 0, 1],
           [0, 0, 1]])
    >>> us.histogramdd(points, bins=(2, 3), range=((0, 2), (0, 3))).outside
    Outside(below=0, above=1, nan=0)
    """
    call = "histogramdd"
    if lies_on_gpu(sample[0] if isinstance(sample, (list, tuple)) and len(sample) else sample):
        return _on_gpu(call, sample, bins, range, weights, density)
    coordinates, export = _coordinates(call, sample)
    edges = _all_edges(call, coordinates, bins, range)
    doubles = [np.ascontiguousarray(of, np.float64) for of in edges]
    shape = [len(of) - 1 for of in edges]
    if weights is None:
        flat, *outside = _core.joint_histogram(coordinates, doubles)
    else:
        each_weight, _ = adopt(call, weights)
        if each_weight.shape != coordinates[0].shape:
            raise ValueError(f"{call}: weights of shape {each_weight.shape} for {len(coordinates[0])} points; pass one a point")
        # Bins of points are counted by their numbers, and behind them what is below, above and NaN.
        points = _bins_of_points(np, [samples.astype(np.float64) for samples in coordinates], doubles)
        sums = _core.bincount(points, each_weight, math.prod(shape) + 3)
        flat, outside = sums[:-3], sums[-3:].tolist()
    counts = flat.reshape(shape)
    if density:
        counts = _densities(np, counts, doubles)
    if export is not None:
        counts, edges = export(counts), [export(of) for of in edges]
    return make_joint(counts, tuple(edges), *outside)


def _all_edges(call: str, coordinates: list[Any], bins: Any, range: Any) -> list[np.ndarray]:
    each = [bins] * len(coordinates) if isinstance(bins, (int, np.integer)) else list(bins)
    ranges = [None] * len(coordinates) if range is None else list(range)
    if len(each) != len(coordinates) or len(ranges) != len(coordinates):
        raise ValueError(f"{call}: points of {len(coordinates)} dimensions have as many bins and ranges; pass one for each")
    return [_edges(call, *of) for of in zip(coordinates, each, ranges)]


def _on_gpu(call: str, sample: Any, bins: Any, range: Any, weights: Any, density: bool) -> JointHistogram:
    """Of points in memory of a GPU: the bins of their coordinates are found by their library, and counted as numbers."""
    functions = functions_of(call, sample[0] if isinstance(sample, (list, tuple)) else sample)
    if isinstance(sample, (list, tuple)):
        coordinates = list(sample)
    else:
        coordinates = [sample] if sample.ndim == 1 else [sample[:, d] for d in np.arange(sample.shape[1])] if sample.ndim == 2 else []
    if not coordinates or any(x.ndim != 1 or x.shape != coordinates[0].shape for x in coordinates):
        raise ValueError(f"{call}: the coordinates are not arrays of one dimension and one length; pass one for each dimension, or rows of them")
    if weights is not None and tuple(weights.shape) != tuple(coordinates[0].shape):
        raise ValueError(f"{call}: weights of shape {tuple(weights.shape)} for {len(coordinates[0])} points; pass one a point")
    edges = _all_edges(call, coordinates, bins, range)
    doubles = [of.astype(np.float64) for of in edges]
    shape = [len(of) - 1 for of in edges]
    total = math.prod(shape)
    points = _bins_of_points(functions, [converted(samples, "f64") for samples in coordinates], doubles)
    sums = _core.bincount(points, weights, total + 3)
    counts = sums[:total].reshape(shape)
    if density:
        counts = _densities(functions, converted(counts, "f64"), doubles)
    return make_joint_on_gpu(counts, tuple(functions.asarray(of) for of in edges), sums[total:])


def _coordinates(call: str, sample: Any) -> tuple[list[np.ndarray], Any]:
    if isinstance(sample, (list, tuple)):
        adopted = [adopt(call, one) for one in sample]
        if not adopted or any(array.ndim != 1 or array.shape != adopted[0][0].shape for array, _ in adopted):
            raise ValueError(f"{call}: the coordinates are not arrays of one dimension and one length; pass one for each dimension")
        return [array for array, _ in adopted], adopted[0][1]
    array, export = adopt(call, sample)
    if array.ndim == 1:
        return [array], export
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"{call}: points of shape {array.shape} are no rows of coordinates; pass an array of shape (N, D)")
    return list(array.T), export


def _edges(call: str, samples: np.ndarray, bins: Any, range: tuple[float, float] | None) -> np.ndarray:
    if not isinstance(bins, (int, np.integer)):
        return checked_edges(bins)
    if bins < 1:
        raise ValueError(f"{call}: there are no bins in a dimension; pass 1 or more")
    if range is None:
        low, high = (to_numpy(end(samples))[()] for end in (_core.min, _core.max)) if len(samples) else (0, 1)
    else:
        low, high = range
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError(f"{call}: a range is not finite; pass range, with a pair of finite numbers for each dimension")
    if low > high:
        raise ValueError(f"{call}: the lower end of a range is above the upper one; pass (low, high)")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, int(bins) + 1)


def _bins_of_points(functions: Any, coordinates: list[Any], edges: list[np.ndarray]) -> Any:
    """The number of each point's bin, the last dimension varying fastest; behind all bins those of points below, above and NaN.

    Coordinates and edges are float64, and `functions` those of the coordinates' library.
    """
    number = worst = 0  # 1 below, 2 above, 3 NaN
    for samples, of in zip(coordinates, edges):
        first, last = float(of[0]), float(of[-1])
        bins = functions.searchsorted(functions.asarray(of), samples, side="right") - 1
        number = number * (len(of) - 1) + functions.where(samples == last, len(of) - 2, bins)
        where = 1 * (samples < first) + 2 * (samples > last) + 3 * (samples != samples)
        worst = functions.where(where > worst, where, worst)
    total = math.prod(len(of) - 1 for of in edges)
    return functions.where(worst > 0, total + worst - 1, number)


def _densities(functions: Any, counts: Any, edges: list[np.ndarray]) -> Any:
    """Counts, divided by their sum and by the volume of their bin."""
    counts = counts / counts.sum()
    for d, of in enumerate(edges):
        counts = counts / functions.asarray(np.diff(of).reshape([-1 if k == d else 1 for k in np.arange(len(edges))]))
    return counts
