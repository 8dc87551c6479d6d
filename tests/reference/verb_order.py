# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""What the verbs beyond reduce and scan compute, and in which order, in NumPy: docs/fold-order.md and no line of the library.

An element that is made of several numbers is a row of an array, so that fold_order.folds folds arrays of them as they are.
"""
import math

import numpy as np

from fold_order import block_totals, folds, log_sum_exp  # noqa: F401: one of the operators of verbs.py


# --- positions ------------------------------------------------------------------------------------------------------

def argument(x, greatest=False):
    """The first element that precedes all others: NaN before all else, -0.0 less than +0.0."""
    if x.dtype.kind != "f":
        return int(np.argmax(x) if greatest else np.argmin(x))
    if np.isnan(x).any():
        return int(np.flatnonzero(np.isnan(x))[0])
    best = np.flatnonzero(x == (x.max() if greatest else x.min()))
    signs = np.signbit(x[best])
    wanted = signs != greatest  # -0.0 of the least, +0.0 of the greatest, where there are both
    return int(best[wanted][0] if wanted.any() else best[0])


# --- linear recurrences ---------------------------------------------------------------------------------------------

def product(x, y):
    """Of zero and infinity it is zero."""
    with np.errstate(all="ignore"):
        return np.where(((x == 0) & np.isinf(y)) | (np.isinf(x) & (y == 0)), x.dtype.type(0), x * y)


def composed(first, then):
    with np.errstate(all="ignore"):
        return np.stack([product(then[:, 0], first[:, 0]), product(then[:, 0], first[:, 1]) + then[:, 1]], 1)


def applied(totals, states):
    with np.errstate(all="ignore"):
        return product(totals[:, 0], states) + totals[:, 1]


def linear_recurrence(a, b, before):
    """h[m - 1] is `before`, to which the totals of the blocks that the digits of m name are applied, the largest first."""
    h = np.empty_like(a)
    for k, totals in reversed(list(enumerate(block_totals(np.stack([a, b], 1), composed)))):
        size = 1 << k
        h[size - 1:size] = applied(totals[:1], np.array([before], a.dtype))
        ends = h[3 * size - 1::2 * size]
        ends[:] = applied(totals[2::2], h[2 * size - 1::2 * size][:len(ends)])
    return h


def linear_recurrence_gradient(a, h, gradient, before):
    """The gradients of a, b and the state before the first element."""
    with np.errstate(all="ignore"):
        shifted = np.concatenate([a[1:], np.zeros(1, a.dtype)])  # the last element has none behind it
        of_b = linear_recurrence(shifted[::-1], gradient[::-1], a.dtype.type(0))[::-1]
        return of_b * np.concatenate([np.array([before], a.dtype), h[:-1]]), of_b, a[:1] * of_b[:1]


# --- images ---------------------------------------------------------------------------------------------------------

def integral_image(x):
    rows = np.stack([folds(row, np.add) for row in x])
    return np.stack([folds(np.ascontiguousarray(column), np.add) for column in rows.T], 1)


def rectangle_sums(sums, rectangles):
    bordered = np.zeros((sums.shape[0] + 1, sums.shape[1] + 1), sums.dtype)
    bordered[1:, 1:] = sums
    r0, c0, r1, c1 = rectangles.T
    result = (bordered[r1, c1] - bordered[r0, c1]) - (bordered[r1, c0] - bordered[r0, c0])
    return np.where((r0 == r1) | (c0 == c1), sums.dtype.type(0), result)


def rectangle_variances(sums, squares, rectangles):
    with np.errstate(all="ignore"):
        n = ((rectangles[:, 2] - rectangles[:, 0]) * (rectangles[:, 3] - rectangles[:, 1])).astype(np.float64)
        mean = rectangle_sums(sums, rectangles).astype(np.float64) / n
        variance = rectangle_sums(squares, rectangles).astype(np.float64) / n - mean * mean
        return np.where(variance < 0, 0.0, variance)


# --- operators ------------------------------------------------------------------------------------------------------

def moments_of(x):
    return np.stack([np.ones(len(x)), x.astype(np.float64), np.zeros(len(x))], 1)


def merged_moments(a, b):
    """Of elements that are there."""
    count = a[:, 0] + b[:, 0]
    share = b[:, 0] / count
    distance = b[:, 1] - a[:, 1]
    return np.stack([count, a[:, 1] + distance * share,
                     (a[:, 2] + b[:, 2]) + distance * distance * (a[:, 0] * share)], 1)


def variances(x, correction):
    """Of columns of float64, folded in the canonical order."""
    n, start, fold = len(x), 0, None
    with np.errstate(all="ignore"):
        for k in reversed(range(n.bit_length())):
            if not n >> k & 1:
                continue
            mean, squares = x[start:start + 2**k], np.zeros((2**k, *x.shape[1:]))
            for level in range(k):
                distance = mean[1::2] - mean[::2]
                mean, squares = (mean[::2] + distance * 0.5,
                                 (squares[::2] + squares[1::2]) + distance * distance * (2.0**level * 0.5))
            block = np.stack([np.full(x.shape[1:], 2.0**k), mean[0], squares[0]], -1).reshape(-1, 3)
            fold = block if fold is None else merged_moments(fold, block)
            start += 2**k
        squares = np.zeros(math.prod(x.shape[1:])) if fold is None else fold[:, 2]
        return (squares / np.float64(max(n - correction, 0.0))).reshape(x.shape[1:])


def max_plus(first, then):
    with np.errstate(all="ignore"):
        def added(x, y):
            return np.where((x == -np.inf) | (y == -np.inf), -np.inf, x + y).astype(x.dtype)
        return np.stack([added(first[:, 0], then[:, 0]), np.maximum(added(first[:, 1], then[:, 0]), then[:, 1])], 1)


def last_valid(a, b):
    return np.where(np.isnan(b), np.where(np.isnan(a), a.dtype.type(np.nan), a), b)

