// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

// What help() and the stubs show. The examples are run by the tests.

namespace upsweep::python::docs {

struct function {
    const char* signature;
    const char* text;
};

inline constexpr function sum{
    "def sum(x: numpy.typing.ArrayLike, /, *, axis: int | tuple[int, ...] | None = None, dtype: "
    "numpy.typing.DTypeLike | None = None, keepdims: bool = False, out: numpy.ndarray | None = None) -> "
    "typing.Any",
    R"(Sum of all elements, or along axes.

Parameters
----------
x : array
    Numbers or truths, with any strides.
axis : int or tuple of ints, optional
    The axes to sum over; all of them by default. The elements of several axes are taken in the order in which the last one
    runs fastest.
dtype : dtype, optional
    The type of the result. By default that of floating-point elements, and 64 bits for truths and integers.
keepdims : bool
    Keep the axes, with extent 1.
out : numpy.ndarray, optional
    Where results are written. It shares no memory with `x`.

Returns
-------
scalar or array
    With the bits of the canonical order: whatever the strides, the machine and the number of threads are. Sums of integers are
    exact modulo 2**64; float16 and bfloat16 are added in float32, and the sum is rounded once. A sum of no elements is 0.

Examples
--------
>>> import numpy as np, upsweep as us
>>> x = np.array([[1, 2, 3], [4, 5, 6]], dtype=np.float32)
>>> float(us.sum(x))
21.0
>>> us.sum(x, axis=0)
array([5., 7., 9.], dtype=float32)
)"};

inline constexpr function prod{
    "def prod(x: numpy.typing.ArrayLike, /, *, axis: int | tuple[int, ...] | None = None, dtype: "
    "numpy.typing.DTypeLike | None = None, keepdims: bool = False, out: numpy.ndarray | None = None) -> "
    "typing.Any",
    R"(Product of all elements, or along axes.

The parameters are those of `sum`. A product of no elements is 1.

Examples
--------
>>> import numpy as np, upsweep as us
>>> int(us.prod(np.array([2, 3, 7])))
42
)"};

inline constexpr function min{
    "def min(x: numpy.typing.ArrayLike, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = "
    "False, out: numpy.ndarray | None = None) -> typing.Any",
    R"(Least element of all, or along axes.

NaN if there is one among them, and -0.0 is less than 0.0. There is no least element of none: ValueError.

Parameters
----------
x : array
axis : int or tuple of ints, optional
keepdims : bool
out : numpy.ndarray, optional
    As for `sum`.

Returns
-------
scalar or array
    Of the type of `x`.

Examples
--------
>>> import numpy as np, upsweep as us
>>> int(us.min(np.array([3, -1, 2], dtype=np.int8)))
-1
)"};

inline constexpr function max{
    "def max(x: numpy.typing.ArrayLike, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = "
    "False, out: numpy.ndarray | None = None) -> typing.Any",
    R"(Greatest element of all, or along axes.

NaN if there is one among them, and 0.0 is greater than -0.0. There is no greatest element of none: ValueError.

The parameters are those of `min`.

Examples
--------
>>> import numpy as np, upsweep as us
>>> us.max(np.array([[3, 1], [2, 5]]), axis=1)
array([3, 5])
)"};

inline constexpr function argmin{
    "def argmin(x: numpy.typing.ArrayLike, /, *, axis: int | None = None, keepdims: bool = False, out: "
    "numpy.ndarray | None = None) -> typing.Any",
    R"(Where the least element is, of all or along an axis: the lowest index among equal ones.

NaN, if there is one, comes before all others, as in NumPy; -0.0 comes before 0.0, which NumPy takes for equal. Of no elements none
is the least: ValueError.

Parameters
----------
x : array
axis : int, optional
    By default the position is that in x.ravel().
keepdims : bool
out : numpy.ndarray, optional
    As for `sum`.

Returns
-------
scalar or array
    int64.

Examples
--------
>>> import numpy as np, upsweep as us
>>> int(us.argmin(np.array([3, -1, 2, -1])))
1
>>> us.argmin(np.array([[3, 1], [2, 5]]), axis=0)
array([1, 0])
)"};

inline constexpr function argmax{
    "def argmax(x: numpy.typing.ArrayLike, /, *, axis: int | None = None, keepdims: bool = False, out: "
    "numpy.ndarray | None = None) -> typing.Any",
    R"(Where the greatest element is, of all or along an axis: the lowest index among equal ones.

NaN, if there is one, comes before all others, as in NumPy; 0.0 comes before -0.0, which NumPy takes for equal. The parameters are
those of `argmin`.

Examples
--------
>>> import numpy as np, upsweep as us
>>> int(us.argmax(np.array([3.0, np.nan, 7.0])))
1
)"};

inline constexpr function all{
    "def all(x: numpy.typing.ArrayLike, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = "
    "False, out: numpy.ndarray | None = None) -> typing.Any",
    R"(Whether all elements are true, or those along axes.

Numbers are true unless they are zero; so is NaN. Of no elements all are true. The parameters are those of `min`.

Examples
--------
>>> import numpy as np, upsweep as us
>>> bool(us.all(np.array([1.0, 0.0, np.nan])))
False
)"};

inline constexpr function any{
    "def any(x: numpy.typing.ArrayLike, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = "
    "False, out: numpy.ndarray | None = None) -> typing.Any",
    R"(Whether any element is true, or any along axes.

Numbers are true unless they are zero; so is NaN. Of no elements none is true. The parameters are those of `min`.

Examples
--------
>>> import numpy as np, upsweep as us
>>> bool(us.any(np.array([1.0, 0.0, np.nan])))
True
)"};

inline constexpr function mean{
    "def mean(x: numpy.typing.ArrayLike, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool "
    "= False, out: numpy.ndarray | None = None) -> typing.Any",
    R"(Mean of all elements, or along axes.

The sum, divided once by the number of elements. Sums of integers are exact modulo 2**64, and then converted to float64; float16
and bfloat16 are added and divided in float32, and rounded once. A mean of no elements is NaN. The parameters are those of `min`.

Examples
--------
>>> import numpy as np, upsweep as us
>>> float(us.mean(np.array([1, 2, 4, 5])))
3.0
)"};

inline constexpr function var{
    "def var(x: numpy.typing.ArrayLike, /, *, axis: int | tuple[int, ...] | None = None, correction: float = 0.0, "
    "keepdims: bool = False) -> typing.Any",
    R"(Variance of all elements, or along axes.

The sum of the squares of the distances from the mean, divided by the number of elements less `correction`. One pass, in which
means and sums of squares of float64 are merged (Chan, Golub and LeVeque 1983), in the canonical order.

Parameters
----------
x : array
axis : int or tuple of ints, optional
correction : float
    What is subtracted from the number of elements: 1 for the variance of what the elements are a sample of. Where none are
    left the variance is NaN, or infinite.
keepdims : bool
    Keep the axes, with extent 1.

Returns
-------
scalar or array
    Of the type of floating-point elements (float16 and bfloat16: by way of float32), float64 for integers.

Examples
--------
>>> import numpy as np, upsweep as us
>>> float(us.var(np.array([1.0, 2.0, 3.0, 6.0])))
3.5
)"};

inline constexpr function cumulative_sum{
    "def cumulative_sum(x: numpy.typing.ArrayLike, /, *, axis: int | None = None, dtype: "
    "numpy.typing.DTypeLike | None = None, include_initial: bool = False, out: numpy.ndarray | None = "
    "None) -> typing.Any",
    R"(Sums of the elements up to each one, along an axis.

Parameters
----------
x : array
    Of one dimension at least.
axis : int
    The axis. May be left out for arrays of one dimension.
dtype : dtype, optional
    The type of the results; elements are converted to it before they are added. By default that of `out` or of floating-point
    elements, and 64 bits for truths and integers.
include_initial : bool
    Begin with the sum of no elements: the axis of the result is longer by one.
out : numpy.ndarray, optional
    Where results are written: `x` itself, or an array that shares no memory with it.

Returns
-------
array
    Each element has the bits that `sum` gives of the elements up to it. Integers wrap in the width of the result.

Examples
--------
>>> import numpy as np, upsweep as us
>>> us.cumulative_sum(np.array([1, 2, 3], dtype=np.uint8))
array([1, 3, 6], dtype=uint64)
>>> us.cumulative_sum(np.array([1.0, 2.0, 3.0]), include_initial=True)
array([0., 1., 3., 6.])
)"};

inline constexpr function cumulative_prod{
    "def cumulative_prod(x: numpy.typing.ArrayLike, /, *, axis: int | None = None, dtype: "
    "numpy.typing.DTypeLike | None = None, include_initial: bool = False, out: numpy.ndarray | None = "
    "None) -> typing.Any",
    R"(Products of the elements up to each one, along an axis.

The parameters are those of `cumulative_sum`.

Examples
--------
>>> import numpy as np, upsweep as us
>>> us.cumulative_prod(np.array([1, 2, 3, 4]))
array([ 1,  2,  6, 24])
)"};

inline constexpr function cummin{
    "def cummin(x: numpy.typing.ArrayLike, /, *, axis: int | None = None, out: numpy.ndarray | None = "
    "None) -> typing.Any",
    R"(Least of the elements up to each one, along an axis.

NaN from the first NaN on.

Parameters
----------
x : array
axis : int
    May be left out for arrays of one dimension.
out : numpy.ndarray, optional
    As for `cumulative_sum`.

Returns
-------
array
    Of the type of `x`.

Examples
--------
>>> import numpy as np, upsweep as us
>>> us.cummin(np.array([3, 4, 1, 2]))
array([3, 3, 1, 1])
)"};

inline constexpr function cummax{
    "def cummax(x: numpy.typing.ArrayLike, /, *, axis: int | None = None, out: numpy.ndarray | None = "
    "None) -> typing.Any",
    R"(Greatest of the elements up to each one, along an axis.

NaN from the first NaN on. The parameters are those of `cummin`.

Examples
--------
>>> import numpy as np, upsweep as us
>>> us.cummax(np.array([3, 4, 1, 5]))
array([3, 4, 4, 5])
)"};

inline constexpr function logcumsumexp{
    "def logcumsumexp(x: numpy.typing.ArrayLike, /, *, axis: int | None = None, out: numpy.ndarray | None = "
    "None) -> typing.Any",
    R"(Logarithm of the running sum of the exponentials, along an axis.

It overflows nowhere: each step is the greater of two and ln(1 + e^-d) of their distance d, in float64, rounded once.

Parameters
----------
x : array
    Of floating-point numbers. -inf adds nothing.
axis, out
    As for `cummin`.

Returns
-------
array
    Of the type of `x`.

Examples
--------
>>> import numpy as np, upsweep as us
>>> us.logcumsumexp(np.array([1000.0, 1000.0, -np.inf]))
array([1000.        , 1000.69314718, 1000.69314718])
>>> us.reduce(np.log(np.array([1.0, 2.0, 3.0])), 'log_sum_exp')
np.float64(1.791759469228055)
)"};

inline constexpr function reduce{
    "def reduce(x: numpy.typing.ArrayLike, /, op: str | numpy.ufunc | upsweep._monoid.monoid, *, axis: int | "
    "tuple[int, ...] | "
    "None = None, identity: typing.Any = None, dtype: numpy.typing.DTypeLike | None = None, keepdims: "
    "bool = False, out: numpy.ndarray | None = None) -> typing.Any",
    R"(Fold of all elements by an operator, or along axes.

Parameters
----------
x : array
op : str, numpy.ufunc or upsweep.monoid
    'plus', 'multiplies', 'minimum', 'maximum', 'bit_and', 'bit_or', 'bit_xor', 'logical_and', 'logical_or' or 'log_sum_exp';
    or the ufunc that is the same, as numpy.add. The operators of bits are for truths and integers, logarithms for
    floating-point numbers.
axis : int or tuple of ints, optional
identity : number, optional
    The fold of no elements, where the operator itself has none: 'minimum' and 'maximum' raise ValueError without it.
dtype : dtype, optional
    Of sums and products, as for `sum`.
keepdims : bool
out : numpy.ndarray, optional
    As for `sum`.

Returns
-------
scalar or array

Examples
--------
>>> import numpy as np, upsweep as us
>>> int(us.reduce(np.array([0b110, 0b011]), 'bit_xor'))
5
>>> us.reduce(np.array([[1, 5], [4, 2]]), np.maximum, axis=0)
array([4, 5])
)"};

inline constexpr function scan{
    "def scan(x: numpy.typing.ArrayLike, /, op: str | numpy.ufunc | upsweep._monoid.monoid, *, axis: int | None = "
    "None, exclusive: "
    "bool = False, reverse: bool = False, initial: typing.Any = None, dtype: numpy.typing.DTypeLike | "
    "None = None, out: numpy.ndarray | None = None) -> typing.Any",
    R"(Folds of the elements up to each one by an operator, along an axis.

Parameters
----------
x : array
op : str or numpy.ufunc
    As for `reduce`.
axis : int
    May be left out for arrays of one dimension.
exclusive : bool
    Fold the elements before each one, without it. The first result is `initial`, or what the operator gives of no elements.
reverse : bool
    Fold from the last element to the first.
initial : number, optional
    Put before the first element.
dtype : dtype, optional
out : numpy.ndarray, optional
    As for `cumulative_sum`.

Returns
-------
array
    Of the type of `x`, of 64 bits for sums and products of truths and integers, of bool for logical operators.

Examples
--------
>>> import numpy as np, upsweep as us
>>> us.scan(np.array([1, 2, 3]), 'plus', exclusive=True, initial=10)
array([10, 11, 13])
>>> us.scan(np.array([1, 2, 3]), np.add, reverse=True)
array([6, 5, 3])
)"};

inline constexpr function histogram{
    "def histogram(x: numpy.typing.ArrayLike, /, bins: int | str | numpy.typing.ArrayLike = 10, range: "
    "tuple[float, float] | None = None, *, weights: numpy.typing.ArrayLike | None = None, density: bool = "
    "False, axis: int | None = None) -> upsweep._histogram.Histogram",
    R"(Count samples in bins.

Parameters
----------
x : array
    Samples, in any number of dimensions.
bins : int, sequence of numbers, or str
    So many bins of equal width, the last one closed; or bins between these edges, which ascend; or how NumPy finds edges
    ('auto', 'fd', ...: see numpy.histogram_bin_edges).
range : (float, float), optional
    Where bins of equal width begin and end. By default the least and the greatest sample.
weights : array, optional
    What each sample counts, in the shape of `x`. Floating-point sums are those of the real numbers, rounded once; sums of integers
    are of 64 bits.
density : bool
    Give counts divided by their sum and by the width of their bin.
axis : int, optional
    Count along this axis alone: each choice of the other indices has counts of its own, with the same bins, which take the place
    of the axis. Not with weights, and no density.

Returns
-------
Histogram
    The pair (counts, edges) as numpy.histogram gives it, with the same samples in the same bins. Its attribute `outside` tells
    how many samples are in no bin, or what they weigh: below, above, or NaN. Along an axis these are arrays.

Examples
--------
>>> import numpy as np, upsweep as us
>>> counts, edges = us.histogram(np.array([1.0, 2.0, 2.5, 4.0]), bins=3)
>>> counts
array([1, 2, 1])
>>> edges
array([1., 2., 3., 4.])
>>> us.histogram(np.array([1.0, 7.0, np.nan]), bins=2, range=(0, 4)).outside
Outside(below=0, above=1, nan=1)
>>> us.histogram(np.array([[1, 2, 2], [3, 3, 9]]), bins=3, range=(1, 4), axis=1)[0]
array([[1, 2, 0],
       [0, 0, 2]])
)"};

inline constexpr function bincount{
    "def bincount(x: numpy.typing.ArrayLike, /, weights: numpy.typing.ArrayLike | None = None, minlength: "
    "int = 0) -> typing.Any",
    R"(Count how often each of the integers 0, 1, ... occurs.

Parameters
----------
x : array
    Integers of one dimension, none of them negative.
weights : array, optional
    What each integer counts, as for `histogram`.
minlength : int
    How many counts there are at least.

Returns
-------
array
    counts[k] of k, up to the greatest integer.

Examples
--------
>>> import numpy as np, upsweep as us
>>> us.bincount(np.array([0, 2, 2, 5]))
array([1, 0, 2, 0, 0, 1])
)"};

inline constexpr function partial{"def __init__(self, x: numpy.typing.ArrayLike | None, /, op: str | numpy.ufunc | "
                                  "upsweep._monoid.monoid, *, start: int = 0, "
                                  "dtype: numpy.typing.DTypeLike | None = None) -> None",
                                  R"(The fold of some elements of an array, as a value.

Parts of an array are folded by whatever thread, process or machine, beginning anywhere, and their partials merged in any order:
the value has the bits of `reduce` over the whole. Partials can be pickled; those of the same elements are equal, and have the
same bytes on every machine.

Parameters
----------
x : array or None
    The elements, in the order in which the last index runs fastest.
op : str or numpy.ufunc
    As for `reduce`.
start : int
    The position of the first element in the whole array.
dtype : dtype
    The type of the elements, where `x` is None.

Examples
--------
>>> import numpy as np, upsweep as us
>>> x = np.arange(100, dtype=np.float32) / 7
>>> back = us.partial(x[60:], 'plus', start=60)
>>> back.merge(us.partial(x[:60], 'plus'))
>>> bool(back.value() == us.sum(x))
True
)"};

inline constexpr function segment_reduce{
    "def segment_reduce(x: numpy.typing.ArrayLike, offsets: numpy.typing.ArrayLike, /, op: str | "
    "numpy.ufunc) -> typing.Any",
    R"(Fold each segment of an array.

Parameters
----------
x : array
    Of one dimension.
offsets : array of integers
    Segment k has the elements x[offsets[k]:offsets[k + 1]]: one offset more than there are segments, in ascending order.
op : str or numpy.ufunc
    As for `reduce`.

Returns
-------
array
    One fold for each segment, with the bits of `reduce` over its elements alone. That of no elements is what the operator gives
    of none, and an infinity or the type's limit for 'minimum' and 'maximum'.

Examples
--------
>>> import numpy as np, upsweep as us
>>> us.segment_reduce(np.array([1, 2, 4, 8, 16]), [0, 2, 2, 5], 'plus')
array([ 3,  0, 28])
)"};

inline constexpr function segment_scan{
    "def segment_scan(x: numpy.typing.ArrayLike, offsets: numpy.typing.ArrayLike, /, op: str | "
    "numpy.ufunc, *, exclusive: bool = False, initial: typing.Any = None, dtype: numpy.typing.DTypeLike | "
    "None = None, out: numpy.ndarray | None = None) -> typing.Any",
    R"(Scan each segment of an array.

Parameters
----------
x : array
offsets : array of integers
op : str or numpy.ufunc
    As for `segment_reduce`.
exclusive : bool
initial : number, optional
dtype : dtype, optional
out : numpy.ndarray, optional
    As for `scan`; `initial` begins each segment.

Returns
-------
array
    As many elements as `x`, with the bits of `scan` over each segment alone. Elements in no segment are 0, or in `out` what they
    were.

Examples
--------
>>> import numpy as np, upsweep as us
>>> us.segment_scan(np.array([1, 2, 4, 8, 16]), [0, 2, 5], 'plus')
array([ 1,  3,  4, 12, 28])
)"};

inline constexpr function select{"def select(x: numpy.typing.ArrayLike, mask: numpy.typing.ArrayLike, /) -> typing.Any",
                                 R"(The elements for which a mask is true, in their order: x[mask], on all cores.

Parameters
----------
x : array
mask : array of bool
    Of the shape of `x`.

Returns
-------
array
    Of one dimension.

Examples
--------
>>> import numpy as np, upsweep as us
>>> x = np.array([3, -1, 2, -5])
>>> us.select(x, x > 0)
array([3, 2])
)"};

inline constexpr function partition{
    "def partition(x: numpy.typing.ArrayLike, mask: numpy.typing.ArrayLike, /) -> tuple[typing.Any, int]",
    R"(The elements for which a mask is true, and behind them the others, each in their order.

This is no partial sort, as numpy.partition is.

Parameters
----------
x : array
mask : array of bool
    Of the shape of `x`.

Returns
-------
array, int
    All elements, in one dimension, and for how many of them the mask is true.

Examples
--------
>>> import numpy as np, upsweep as us
>>> x = np.array([3, -1, 2, -5])
>>> us.partition(x, x > 0)
(array([ 3,  2, -1, -5]), 2)
)"};

inline constexpr function reduce_by_key{
    "def reduce_by_key(keys: numpy.typing.ArrayLike, values: numpy.typing.ArrayLike, /, op: str | "
    "numpy.ufunc) -> tuple[typing.Any, typing.Any]",
    R"(Fold the values of each run of equal keys.

A run is a stretch of keys of which each equals the one before it, so sort by the keys first to have each key once. Each NaN
is a run of its own.

Parameters
----------
keys, values : array
    Of one dimension and as many elements.
op : str or numpy.ufunc
    As for `reduce`.

Returns
-------
keys, totals : array
    The first key of each run, and the fold of its values with the bits of `reduce` over them alone.

Examples
--------
>>> import numpy as np, upsweep as us
>>> us.reduce_by_key(np.array([7, 7, 3, 7]), np.array([1.0, 2.0, 4.0, 8.0]), 'plus')
(array([7, 3, 7]), array([3., 4., 8.]))
)"};

inline constexpr function scan_by_key{
    "def scan_by_key(keys: numpy.typing.ArrayLike, values: numpy.typing.ArrayLike, /, op: str | "
    "numpy.ufunc, *, exclusive: bool = False, initial: typing.Any = None, dtype: numpy.typing.DTypeLike | "
    "None = None, out: numpy.ndarray | None = None) -> typing.Any",
    R"(Scan the values of each run of equal keys.

Parameters
----------
keys, values : array
op : str or numpy.ufunc
    As for `reduce_by_key`.
exclusive : bool
initial : number, optional
dtype : dtype, optional
out : numpy.ndarray, optional
    As for `scan`; `initial` begins each run. `out` may be `values`.

Returns
-------
array
    As many elements as `values`, with the bits of `scan` over each run alone.

Examples
--------
>>> import numpy as np, upsweep as us
>>> us.scan_by_key(np.array([7, 7, 3, 7]), np.array([1, 2, 4, 8]), 'plus')
array([1, 3, 4, 8])
)"};

inline constexpr function run_length_encode{
    "def run_length_encode(x: numpy.typing.ArrayLike, /) -> tuple[typing.Any, typing.Any]",
    R"(Values and lengths of the runs of equal elements.

Each NaN is a run of its own; 0.0 and -0.0 are equal, and the first of them is given.

Parameters
----------
x : array
    Of one dimension.

Returns
-------
values, lengths : array

Examples
--------
>>> import numpy as np, upsweep as us
>>> us.run_length_encode(np.array([5, 5, 5, 2, 2, 5]))
(array([5, 2, 5]), array([3, 2, 1]))
)"};

inline constexpr function run_length_decode{
    "def run_length_decode(values: numpy.typing.ArrayLike, lengths: numpy.typing.ArrayLike, /) -> "
    "typing.Any",
    R"(Each value as often as its length says, as numpy.repeat.

Parameters
----------
values, lengths : array
    Of one dimension and as many elements. Lengths are not negative.

Returns
-------
array

Examples
--------
>>> import numpy as np, upsweep as us
>>> us.run_length_decode(np.array([5, 2]), np.array([3, 1]))
array([5, 5, 5, 2])
)"};

inline constexpr function integral_image{
    "def integral_image(x: numpy.typing.ArrayLike, /, *, dtype: numpy.typing.DTypeLike | None = None, "
    "out: numpy.ndarray | None = None) -> typing.Any",
    R"(Sums of all elements above and to the left, in the last two dimensions.

From such an image `rectangle_sum` has the sum of any rectangle by three operations (Crow 1984).

Parameters
----------
x : array
    Of two dimensions at least.
dtype : dtype, optional
    The type of the sums. By default that in which they are accumulated: 64 bits for truths and integers, float32 for floating-point
    numbers of 16 bits, else that of the elements.
out : numpy.ndarray, optional
    As for `cumulative_sum`.

Returns
-------
array
    The running sums along each row, of which the running sums down each column are taken.

Examples
--------
>>> import numpy as np, upsweep as us
>>> us.integral_image(np.array([[1, 2], [3, 4]]))
array([[ 1,  3],
       [ 4, 10]])
)"};

} // namespace upsweep::python::docs
