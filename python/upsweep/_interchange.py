# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Arrays that are not NumPy's: as what they are read, and how a result becomes an array of their kind.

In this order: NumPy's own subclasses and what NumPy makes an array of (lists, numbers, memoryview, pandas.Series) give results
of NumPy; an array of another library, told by ``__dlpack__``, is read where it lies and gives an array of that library.
"""
from __future__ import annotations

import sys
from typing import Any

import numpy as np

from upsweep._recorded import as_numpy

_CPU_DEVICES = (1, 3)  # kDLCPU, kDLCUDAHost
_DEVICES = {2: "GPU", 10: "GPU", 13: "GPU"}  # kDLCUDA, kDLROCM, kDLCUDAManaged


def adopt(call: str, x: Any) -> tuple[Any, Any]:
    """(array, export): a numpy.ndarray of the elements of x, and a function from NumPy's arrays to the kind of x, or None."""
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError(f"{call}: a mask says which elements there are, and would be ignored; "
                        "pass x.compressed() or x.filled(value)")
    if isinstance(x, (np.ndarray, np.generic)):
        return np.asarray(x), None
    if hasattr(type(x), "_comes_in_chunks"):
        mapped = x.mapped()
        if mapped is None:
            raise TypeError(f"{call}: the array comes in chunks, and is taken by sum, prod, min, max, any, all, mean, var, reduce, "
                            "histogram, bincount and partial, of all elements; pass np.asarray(x) if it fits in memory")
        return mapped, None
    tensor = as_numpy(call, x)
    if tensor is not None:
        return tensor
    if hasattr(x, "__dlpack__"):
        device, number = x.__dlpack_device__()
        if device not in _CPU_DEVICES:
            raise TypeError(f"{call}: the array lies in memory of {_DEVICES.get(int(device), 'device')} {number}, and this fold is "
                            "one of the host; copy the array there, by x.cpu() or x.get() for example")
        namespace = _namespace_of(x)
        try:
            return np.from_dlpack(x), lambda result: _exported(result, namespace)
        except (BufferError, RuntimeError):  # NumPy's DLPack has no bfloat16
            return np.asarray(x), lambda result: _exported(result, namespace)
    if hasattr(x, "__cuda_array_interface__"):
        raise TypeError(f"{call}: the array lies in memory of a GPU, and this fold is one of the host; copy the array there")
    return np.asarray(x), None


def _exported(result: Any, namespace: Any) -> Any:
    return namespace.from_dlpack(result) if result.dtype.isbuiltin == 1 else namespace.asarray(result)


def _namespace_of(x: Any) -> Any:
    """The library that x is of."""
    if hasattr(x, "__array_namespace__"):
        return x.__array_namespace__()
    return sys.modules[type(x).__module__.partition(".")[0]]
