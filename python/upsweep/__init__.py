# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Reduce, scan and histogram of arrays, with the same bits everywhere.

Every function takes NumPy's arrays as they lie in memory, whatever their strides, and folds them on all cores. The result of
a fold of floating-point numbers depends on their number and order alone: not on the machine, the strides or the number of
threads.
"""
import copyreg

from upsweep._core import (all, any, argmax, argmin, bincount, cummax, cummin, cumulative_prod, cumulative_sum, histogram,
                           integral_image, max, mean, min, partial, partition, prod, reduce, reduce_by_key, run_length_decode,
                           run_length_encode, scan, scan_by_key, segment_reduce, segment_scan, select, sum, version)

# Functions go to other processes by their names, as those of Python do. nanobind leaves that to its users.
copyreg.pickle(type(sum), lambda function: function.__name__)

TYPE_CHECKING = False  # as typing has it, whose import takes as long as that of the library
if TYPE_CHECKING:
    from upsweep._chunked import ChunkedArray, open
    from upsweep._histogram import Histogram, JointHistogram, Outside
    from upsweep._histogramdd import histogramdd
    from upsweep._made_of_folds import diff, rectangle_sum, var
    from upsweep._monoid import monoid
    from upsweep._recurrence import linear_recurrence
    from upsweep._targets import show_targets

__version__ = version()

__all__ = ["ChunkedArray", "Histogram", "JointHistogram", "Outside", "__version__", "all", "any", "argmax", "argmin",
           "bincount", "cummax", "cummin", "cumulative_prod", "cumulative_sum", "diff", "histogram", "histogramdd",
           "integral_image", "linear_recurrence", "max", "mean", "min", "monoid", "open", "partial", "partition", "prod",
           "rectangle_sum", "reduce", "reduce_by_key", "run_length_decode", "run_length_encode", "scan", "scan_by_key",
           "segment_reduce", "segment_scan", "select", "show_targets", "sum", "var"]

# Imported when they are first asked for: they need NumPy, whose import takes longer than all else.
_LATER = {"ChunkedArray": "_chunked", "Histogram": "_histogram", "JointHistogram": "_histogram", "Outside": "_histogram",
          "diff": "_made_of_folds", "histogramdd": "_histogramdd", "linear_recurrence": "_recurrence", "monoid": "_monoid", "open": "_chunked",
          "rectangle_sum": "_made_of_folds", "show_targets": "_targets", "var": "_made_of_folds"}


def __getattr__(name: str) -> object:
    import importlib

    if name == "dask":
        return importlib.import_module("upsweep.dask")
    if name not in _LATER:
        raise AttributeError(f"module 'upsweep' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"upsweep.{_LATER[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
