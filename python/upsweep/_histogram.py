# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""What histograms are handed back as, and those whose bins are not so many of equal width."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from upsweep import _core
from upsweep._gpu_arrays import to_numpy
from upsweep._interchange import adopt


class Outside(NamedTuple):
    """How many samples are in no bin, or what they weigh."""

    below: float
    above: float
    nan: float


class _Bins:
    """The axis of a histogram, as UHI describes it: bin k is [edges[k], edges[k + 1]), and the last one is closed."""

    def __init__(self, edges: np.ndarray):
        self.edges = edges

    @property
    def traits(self) -> Any:
        return _Traits(circular=False, discrete=False)

    def __len__(self) -> int:
        return len(self.edges) - 1

    def __getitem__(self, k: int) -> tuple[float, float]:
        if not -len(self) <= k < len(self):
            raise IndexError(f"there is no bin {k}")
        k %= len(self)
        return float(self.edges[k]), float(self.edges[k + 1])

    def __iter__(self) -> Iterator[tuple[float, float]]:
        return (self[k] for k in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Bins) and np.array_equal(self.edges, other.edges)


class _Traits(NamedTuple):
    circular: bool
    discrete: bool


class Histogram(tuple[Any, Any]):
    """The pair (counts, edges), as numpy.histogram gives it, and how many samples are in no bin.

    It is a UHI PlottableHistogram, which matplotlib's packages (mplhep, hist) draw, and a notebook shows it as a picture.

    Attributes
    ----------
    outside : Outside
        How many samples are below the first bin, above the last one, or NaN.

    Examples
    --------
    >>> import numpy as np, upsweep as us
    >>> h = us.histogram(np.array([1.0, 2.0, 2.5, 9.0]), bins=2, range=(1, 3))
    >>> h.values()
    array([1., 2.])
    >>> h.outside.above
    1
    """

    _outside: Any  # three numbers, or an array of a GPU that has them
    kind = "COUNT"

    @property
    def outside(self) -> Outside:
        outside = self._outside
        return Outside(*(outside if isinstance(outside, tuple) else outside.tolist()))  # a GPU's is waited for

    @property
    def edges(self) -> Any:
        return self[1]

    @property
    def axes(self) -> tuple[_Bins, ...]:
        return (_Bins(to_numpy(self[1])),)

    def values(self) -> np.ndarray:
        """The counts, or densities, as float64."""
        return np.asarray(to_numpy(self[0]), dtype=np.float64)

    def variances(self) -> np.ndarray | None:
        """Those of counts, which are the counts themselves; None for densities."""
        return self.values() if to_numpy(self[0]).dtype.kind == "i" else None

    def counts(self) -> np.ndarray | None:
        """The counts as float64; None for densities."""
        return self.variances()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(counts={self[0]!r}, edges={self[1]!r}, outside={self.outside!r})"

    def __reduce__(self) -> Any:
        return make, (self[0], self[1], *self.outside)

    def _repr_html_(self) -> str | None:
        from upsweep._picture import svg_of

        return svg_of(self)


class JointHistogram(Histogram):
    """The pair (counts, edges) of points, whose edges are a tuple of arrays, and how many points are in no bin.

    Attributes
    ----------
    outside : Outside
        How many points have a coordinate below the first bin, above the last one, or NaN.

    Examples
    --------
    >>> import numpy as np, upsweep as us
    >>> h = us.histogramdd(np.array([[1.0, 2.0], [2.0, 9.0]]), bins=2, range=((0, 4), (0, 4)))
    >>> h.values().sum(), h.outside.above
    (np.float64(1.0), 1)
    """

    @property
    def axes(self) -> tuple[_Bins, ...]:
        return tuple(_Bins(np.asarray(edges)) for edges in self[1])

    def __reduce__(self) -> Any:
        return make_joint, (self[0], self[1], *self._outside)

    def _repr_html_(self) -> None:  # A notebook shows the text.
        return None


class Histograms(Histogram):
    """The pair (counts, edges) of several histograms with the same bins, and how many samples of each are in no bin.

    Attributes
    ----------
    outside : Outside
        Arrays: how many samples of each histogram are below the first bin, above the last one, or NaN.

    Examples
    --------
    >>> import numpy as np, upsweep as us
    >>> h = us.histogram(np.array([[1, 2, 2], [3, 3, 9]]), bins=3, range=(1, 4), axis=1)
    >>> h.outside.above
    array([0, 1])
    """

    def __reduce__(self) -> Any:
        return make_several, (self[0], self[1], *self._outside)

    def _repr_html_(self) -> None:  # A notebook shows the text.
        return None


def make_on_gpu(counts: Any, edges: Any, outside: Any) -> Histogram:
    """`outside` is an array in memory of the GPU, which is read when somebody asks for it."""
    result = tuple.__new__(Histogram, (counts, edges))
    result._outside = outside
    return result


def make_several_on_gpu(counts: Any, edges: Any, beside: Any) -> Histograms:
    """`beside` has three numbers of each histogram in its last dimension."""
    return make_several(counts, edges, *(beside[..., k] for k in (0, 1, 2)))


def make_several(counts: Any, edges: Any, below: Any, above: Any, nan: Any) -> Histograms:
    result = tuple.__new__(Histograms, (counts, edges))
    result._outside = below, above, nan
    return result


def make_joint(counts: Any, edges: tuple[Any, ...], below: Any, above: Any, nan: Any) -> JointHistogram:
    result = tuple.__new__(JointHistogram, (counts, edges))
    result._outside = below, above, nan
    return result


def make_joint_on_gpu(counts: Any, edges: tuple[Any, ...], outside: Any) -> JointHistogram:
    result = tuple.__new__(JointHistogram, (counts, edges))
    result._outside = outside
    return result


def make(counts: Any, edges: Any, below: Any, above: Any, nan: Any) -> Histogram:
    result = tuple.__new__(Histogram, (counts, edges))
    result._outside = below, above, nan
    return result


def histogram(x: npt.ArrayLike, bins: Any, range: Any, weights: Any, density: bool, axis: Any) -> Histogram:
    """The calls of upsweep.histogram that its own code leaves: edges, rules for edges, weights, densities, axes, chunks."""
    if axis is not None:
        if weights is not None or density:
            raise TypeError("histogram: weights and densities are not summed along an axis; leave weights and density out")
        if hasattr(type(x), "_comes_in_chunks"):
            raise TypeError("histogram: along an axis, all chunks are needed at once; pass numpy.asarray(x)")
        array, export = adopt("histogram", x)
        counts, edges, beside = _core.histogram_along(array, _bins(array, bins, range), range, axis)
        shape = np.delete(array.shape, axis)
        return _several(counts, edges, beside.reshape(*shape, 3), export)
    if hasattr(type(x), "_comes_in_chunks"):
        from upsweep._chunked import histogram as of_chunks

        return of_chunks(x, bins, range, weights, density)
    array, export = adopt("histogram", x)
    if weights is not None:
        weights, _ = adopt("histogram", weights)
        if weights.shape != array.shape:
            raise ValueError(f"histogram: weights of shape {weights.shape} for samples of shape {array.shape}; pass one "
                             "weight a sample")
    if not isinstance(bins, (int, np.integer)) or isinstance(bins, bool):
        result = _core.histogram_between(array, _edges(array, bins, range, weights), weights)
    elif weights is None:
        result = _core.histogram(array, int(bins), range)
    else:
        result = _core.weighted_histogram(array, int(bins), range, weights)
    if density:
        result = densities(result)
    if export is not None:
        result = make(export(result[0]), export(result[1]), *result.outside)
    return result


def segment_histogram(x: npt.ArrayLike, offsets: npt.ArrayLike, /, bins: int | str | npt.ArrayLike = 10,
                      range: tuple[float, float] | None = None) -> Histograms:
    """Count the samples of each segment of an array in bins.

    Parameters
    ----------
    x : array
        Samples, of one dimension.
    offsets : array of integers
        Segment k has the samples from offsets[k] to before offsets[k + 1]: one more than there are segments, ascending.
    bins, range
        As for `histogram`: the same bins for all segments.

    Returns
    -------
    Histograms
        The pair (counts, edges): counts[k] are those of segment k. Its attribute `outside` has arrays that tell how many samples of
        each segment are in no bin.

    Examples
    --------
    >>> import numpy as np, upsweep as us
    >>> us.segment_histogram(np.array([1, 2, 2, 3, 3, 9]), [0, 3, 3, 6], bins=3, range=(1, 4))[0]
    array([[1, 2, 0],
           [0, 0, 0],
           [0, 0, 2]])
    """
    on_gpu = _core.segment_histogram_on_gpu(x, offsets, bins, range)
    if on_gpu is not None:
        return on_gpu
    array, export = adopt("segment_histogram", x)
    if array.ndim != 1:
        raise ValueError("segment_histogram: x has not one dimension; pass an array of one, as x.ravel()")
    cuts = np.asarray(adopt("segment_histogram", offsets)[0])
    if cuts.ndim != 1 or cuts.size == 0:
        raise ValueError("segment_histogram: offsets are not a line of one number and more; pass one more than there are segments")
    if cuts.dtype.kind not in "iu":
        raise TypeError("segment_histogram: offsets are no integers; convert them")
    if cuts.itemsize < 4:
        cuts = cuts.astype(np.int64)
    counts, edges, beside = _core.histogram_of_segments(array, cuts, _bins(array, bins, range), range)
    return _several(counts, edges, beside, export)


def _several(counts: np.ndarray, edges: np.ndarray, beside: np.ndarray, export: Any) -> Histograms:
    kept = export if export is not None else (lambda array: array)
    return make_several(kept(counts), kept(edges), *(kept(beside[..., k].copy()) for k in (0, 1, 2)))


def _bins(array: np.ndarray, bins: Any, range: Any) -> Any:
    """A number of bins, or the edges between which they are."""
    if isinstance(bins, (int, np.integer)) and not isinstance(bins, bool):
        return int(bins)
    return _edges(array, bins, range, None)


def _edges(array: np.ndarray, bins: Any, range: Any, weights: np.ndarray | None) -> np.ndarray:
    if isinstance(bins, str):
        return np.histogram_bin_edges(array, bins, range, weights)
    return checked_edges(bins)


def edges_by_rule(x: Any, rule: str, range: Any, weights: Any) -> np.ndarray:
    """Edges for samples in memory of a GPU: NumPy finds them, which sorts, on the host."""
    return _edges(to_numpy(x), rule, range, None if weights is None else to_numpy(weights))


def densities(of: Histogram) -> Histogram:
    """Counts divided by their sum and by the width of their bin."""
    counts, edges = of
    with np.errstate(invalid="ignore"):
        return make(counts / widths(edges) / counts.sum(), edges, *of.outside)


def densities_on_gpu(counts: Any, width: Any, edges: Any, outside: Any) -> Histogram:
    return make_on_gpu(counts / width / counts.sum(), edges, outside)


def widths(edges: np.ndarray) -> np.ndarray:
    return np.diff(edges).astype(np.float64)


def checked_edges(bins: Any) -> np.ndarray:
    edges = np.asarray(to_numpy(bins))
    if edges.ndim != 1 or edges.size < 2:
        raise ValueError("histogram: bins is neither a number, a word nor a sequence of two edges and more; pass one of these")
    if edges.dtype.kind not in "biuf":
        raise TypeError(f"histogram: edges of dtype {edges.dtype} have no order of numbers; pass numbers")
    return edges
