# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Arrays in memory of a GPU whose library shows no table of C functions (``__dlpack_c_exchange_api__``): where their elements lie, on
which stream the library works, and how it makes an array. Types go by the names of the C ABI.
"""
from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np


_NAMES = {"bool": "bool", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
          **{f"{sign}{bits}": f"{'u' if sign == 'u' else ''}int{bits}" for sign in "iu" for bits in (8, 16, 32, 64)}}
_OF_NUMPY = {name: short for short, name in _NAMES.items()}
_GPU_DEVICES = (2, 13)  # kDLCUDA, kDLCUDAManaged


class _Torch:
    """A PyTorch before 2.9."""

    is_read_only = False
    makes_arrays = True

    def stream(self, x: Any) -> tuple[int, Any]:
        return sys.modules["torch"].cuda.current_stream(x.device).cuda_stream, None

    def device(self, x: Any) -> int:
        return x.device.index

    def has_capsule(self, x: Any) -> bool:
        return True

    def empty(self, shape: Sequence[int], dtype: str, device: int) -> tuple[Any, int]:
        torch = sys.modules["torch"]
        array = torch.empty(shape, dtype=getattr(torch, _NAMES[dtype]), device=f"cuda:{device}")
        return array, array.data_ptr()


class _CuPy:
    is_read_only = False
    makes_arrays = True

    def stream(self, x: Any) -> tuple[int, Any]:
        stream = sys.modules["cupy"].cuda.get_current_stream(x.device.id)
        return stream.ptr, stream

    def device(self, x: Any) -> int:
        return x.device.id

    def has_capsule(self, x: Any) -> bool:
        return min(x.strides, default=0) >= 0  # CuPy 14 divides negative strides as unsigned numbers

    def empty(self, shape: Sequence[int], dtype: str, device: int) -> tuple[Any, int]:
        cupy = sys.modules["cupy"]
        if cupy.cuda.runtime.getDevice() == device:
            array = cupy.empty(shape, _dtype(dtype))
        else:
            with cupy.cuda.Device(device):
                array = cupy.empty(shape, _dtype(dtype))
        return array, array.data.ptr

    def permuted(self, array: Any, axes: Sequence[int]) -> Any:
        return array.transpose(axes)


class _Importing:
    """Any other library with ``from_dlpack``, JAX among them, which has no current stream: the memory is ours, and is handed over."""

    makes_arrays = True

    def __init__(self, namespace: Any, is_read_only: bool):
        self.namespace = namespace
        self.is_read_only = is_read_only

    def stream(self, x: Any) -> tuple[int, Any]:
        return 0, None

    def device(self, x: Any) -> int:
        return x.__dlpack_device__()[1]

    def has_capsule(self, x: Any) -> bool:
        return True

    def empty(self, shape: Sequence[int], dtype: str, device: int) -> None:
        return None

    def take(self, memory: Any) -> Any:
        return self.namespace.from_dlpack(memory)


class _Unknown:
    """A library that shows elements, and nothing by which an array of its could be made."""

    is_read_only = False
    makes_arrays = False

    def __init__(self, name: str):
        self.name = name

    def stream(self, x: Any) -> tuple[int, Any]:
        interface = getattr(x, "__cuda_array_interface__", None)
        return (interface or {}).get("stream") or 0, None

    def device(self, x: Any) -> int:
        return -1  # the current one

    def has_capsule(self, x: Any) -> bool:
        return hasattr(x, "__dlpack__")

    def empty(self, shape: Sequence[int], dtype: str, device: int) -> None:
        raise TypeError(f"an array of type {self.name} cannot be made; pass out, or convert it to CuPy or PyTorch")


def _dtype(name: str) -> Any:
    if name == "bf16":
        import ml_dtypes

        return ml_dtypes.bfloat16
    return _NAMES[name]


def _library_of(x: Any) -> Any:
    root = type(x).__module__.partition(".")[0]
    if root == "torch":
        return _Torch()
    if root == "cupy":
        return _CuPy()
    if root in ("jax", "jaxlib"):
        import jax

        return _Importing(jax.numpy, True)
    namespace = x.__array_namespace__() if hasattr(x, "__array_namespace__") else sys.modules.get(root)
    if hasattr(x, "__dlpack__") and hasattr(namespace, "from_dlpack"):
        return _Importing(namespace, False)
    return _Unknown(type(x).__name__)


def opened(call: str, x: Any) -> tuple[Any, int, Any, Any]:
    """(elements, stream, what keeps the stream, library) of an array in memory of a GPU. The elements are a capsule of DLPack, or
    (address, type, shape, strides in elements or None, whether they are read-only, device or -1, which is the current one)."""
    library = _library_of(x)
    stream, keeper = library.stream(x)
    if library.has_capsule(x):
        try:
            return _capsule_of(x, stream or 1), stream, keeper, library  # DLPack's number of the default stream
        except BufferError:
            if not hasattr(x, "__cuda_array_interface__"):
                raise
    return _described(call, x.__cuda_array_interface__, library.device(x)), stream, keeper, library


def _capsule_of(x: Any, stream: int) -> Any:
    try:
        return x.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:  # a library of the time before max_version
        return x.__dlpack__(stream=stream)


def _described(call: str, interface: dict[str, Any], device: int) -> tuple[Any, ...]:
    if interface.get("mask") is not None:
        raise TypeError(f"{call}: a mask says which elements there are, and would be ignored; pass the elements that count")
    dtype = np.dtype(interface["typestr"])
    name = _OF_NUMPY.get(dtype.name)
    if name is None or not dtype.isnative:
        raise TypeError(f"{call}: arrays of dtype {dtype} cannot be folded; convert to bool, an integer of 8 to 64 bits, float16, "
                        "bfloat16, float32 or float64")
    strides = interface.get("strides")
    if strides is not None:
        if any(stride % dtype.itemsize for stride in strides):
            raise TypeError(f"{call}: strides are no multiples of the size of an element; copy the array")
        strides = tuple(stride // dtype.itemsize for stride in strides)
    address, is_read_only = interface["data"]
    return address or 0, name, tuple(interface["shape"]), strides, bool(is_read_only), device


def converted(x: Any, dtype: str) -> Any:
    """A copy of another type, by the library of x, on its stream."""
    if _is_of_torch(x) or not hasattr(x, "astype"):
        return x.to(getattr(sys.modules["torch"], _NAMES[dtype]))
    return x.astype(_dtype(dtype))


def transposed(x: Any, order: Sequence[int]) -> Any:
    """A copy without gaps of the axes in this order, by the library of x, on its stream."""
    if _is_of_torch(x):
        return x.detach().permute(*order).contiguous()
    moved = x.transpose(order)
    return moved if type(x).__module__.partition(".")[0] in ("jax", "jaxlib") else moved.copy()


def _is_of_torch(x: Any) -> bool:
    return isinstance(x, getattr(sys.modules.get("torch"), "Tensor", ()))


def lies_on_gpu(x: Any) -> bool:
    return not isinstance(x, np.ndarray) and hasattr(x, "__dlpack_device__") and int(x.__dlpack_device__()[0]) in _GPU_DEVICES


class _OfTorch:
    """What NumPy's functions are called in PyTorch, for arrays beside x."""

    def __init__(self, x: Any):
        self.torch = sys.modules["torch"]
        self.x = x

    def asarray(self, array: Any) -> Any:
        return self.torch.as_tensor(array, device=self.x.device)

    def where(self, condition: Any, one: Any, other: Any) -> Any:
        return self.torch.where(condition, one, other)

    def searchsorted(self, edges: Any, x: Any, side: str) -> Any:
        return self.torch.searchsorted(edges, x.contiguous(), right=side == "right")

    def diff(self, x: Any, n: int, axis: int, prepend: Any = None, append: Any = None) -> Any:
        return self.torch.diff(x, n, axis, self._end(x, axis, prepend), self._end(x, axis, append))

    def _end(self, x: Any, axis: int, given: Any) -> Any:
        if not isinstance(given, (int, float)):
            return given
        return x.new_full([1 if k == axis % x.dim() else extent for k, extent in enumerate(x.shape)], given)


def functions_of(call: str, x: Any) -> Any:
    """Functions for arrays of the library of x, on its device, by the names of NumPy."""
    root = type(x).__module__.partition(".")[0]
    if _is_of_torch(x):
        return _OfTorch(x)
    if root in ("jax", "jaxlib"):
        import jax.numpy

        return jax.numpy
    namespace = sys.modules[root]
    if not hasattr(namespace, "diff"):
        raise TypeError(f"{call}: {root} has no arithmetic for its arrays in memory of a GPU; convert the array to CuPy or PyTorch")
    return namespace


def signed(x: Any) -> Any:
    """Unsigned integers of PyTorch, which has no arithmetic for them, as signed ones of the same bits."""
    name = str(x.dtype)
    return x.view(getattr(sys.modules["torch"], name[len("torch.u"):])) if name.startswith("torch.uint") and name != "torch.uint8" else x


def diff_of(x: Any, n: int, axis: int, prepend: Any, append: Any) -> Any:
    """Differences by the library of x: one subtraction an element has the same bits everywhere."""
    functions = functions_of("diff", x)
    of_torch = isinstance(functions, _OfTorch)
    ends = {name: functions.asarray(given, x.dtype) if isinstance(given, (int, float)) and not of_torch else given
            for name, given in (("prepend", prepend), ("append", append)) if given is not None}
    return functions.diff(x, n, axis, **ends)


def to_numpy(x: Any) -> np.ndarray:
    """A copy in memory of the host, for which the GPU is waited for."""
    if lies_on_gpu(x):
        if hasattr(x, "get"):  # CuPy
            return x.get()
        if _is_of_torch(x):
            import upsweep.torch

            return upsweep.torch.as_numpy(x.cpu())[0]
    return np.asarray(x)
