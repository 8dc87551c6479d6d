# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Reduce, scan and histogram of arrays, with the same bits everywhere.

Every function takes NumPy's arrays as they lie in memory, whatever their strides, and folds them on all cores. The result of
a fold of floating-point numbers depends on their number and order alone: not on the machine, the strides or the number of
threads.
"""
import sys

from upsweep import _core
from upsweep._core import (all, any, argmax, argmin, bincount, cummax, cummin, cumulative_prod, cumulative_sum, histogram,
                           integral_image, logcumsumexp, max, mean, min, partial, partition, prod, reduce, reduce_by_key,
                           run_length_decode, run_length_encode, scan, scan_by_key, segment_reduce, segment_scan, select, sum, var, version)

# The same as built-in functions, which Python pickles by their names, and jax.jit and torch.compile take.
globals().update({name: function for name, function in _core._builtins.items() if name in globals()})

TYPE_CHECKING = False  # as typing has it, whose import takes as long as that of the library
if TYPE_CHECKING:
    from upsweep._chunked import ChunkedArray, open
    from upsweep._histogram import Histogram, Histograms, JointHistogram, Outside, segment_histogram
    from upsweep._histogramdd import histogramdd
    from upsweep._made_of_folds import diff, rectangle_sum
    from upsweep._monoid import monoid
    from upsweep._recurrence import linear_recurrence
    from upsweep._targets import show_targets

__version__ = version()

__all__ = ["ChunkedArray", "Histogram", "Histograms", "JointHistogram", "Outside", "__version__", "all", "any", "argmax", "argmin",
           "bincount", "cummax", "cummin", "cumulative_prod", "cumulative_sum", "diff", "histogram", "histogramdd",
           "integral_image", "linear_recurrence", "logcumsumexp", "max", "mean", "min", "monoid", "open", "partial", "partition", "prod",
           "rectangle_sum", "reduce", "reduce_by_key", "run_length_decode", "run_length_encode", "scan", "scan_by_key",
           "segment_histogram", "segment_reduce", "segment_scan", "select", "show_targets", "sum", "var"]

# Imported when they are first asked for: they need NumPy, whose import takes longer than all else.
_LATER = {"ChunkedArray": "_chunked", "Histogram": "_histogram", "Histograms": "_histogram", "JointHistogram": "_histogram", "Outside": "_histogram",
          "diff": "_made_of_folds", "histogramdd": "_histogramdd", "linear_recurrence": "_recurrence", "monoid": "_monoid", "open": "_chunked",
          "rectangle_sum": "_made_of_folds", "segment_histogram": "_histogram", "show_targets": "_targets"}


def __getattr__(name: str) -> object:
    import importlib

    if name in ("dask", "jax", "torch"):
        return importlib.import_module(f"upsweep.{name}")
    if name not in _LATER:
        raise AttributeError(f"module 'upsweep' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"upsweep.{_LATER[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


class _WhenTorchCompiles:
    """Tells torch.compile of these functions when its front end is imported, which is when something is compiled for the first time.

    It writes into its graphs the functions that it has been told of, and asks no package for more.
    """

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        if name != "torch._dynamo":
            return None
        import importlib.util

        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None:
            return None
        load = spec.loader.exec_module

        def load_and_tell(module: object) -> None:
            load(module)
            _tell_torch_compile()

        spec.loader.exec_module = load_and_tell
        return spec


def _tell_torch_compile() -> None:
    try:
        __getattr__("torch").allow_in_graph()
    except ImportError:  # A PyTorch that is too old for it.
        pass


if "torch._dynamo" in sys.modules:
    _tell_torch_compile()
else:
    sys.meta_path.insert(0, _WhenTorchCompiles())
