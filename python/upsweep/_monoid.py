# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Operators of the user: compiled for the CPU by the machine's C++ compiler, once, and kept on disk; for GPUs by _monoid_on_gpu.py."""
from __future__ import annotations

import ctypes
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from upsweep import _core
from upsweep._interchange import adopt

# A process that is forked from this one has none of the threads in which this one may have folded.
_PROCESS = os.getpid()
_RANK = 8
_MESSAGE_BYTES = 1024
_C_TYPES = {"bool": "bool", "float32": "float", "float64": "double",
            **{f"{sign}int{bits}": f"std::{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)}}
_FLAGS = ("-std=c++20", "-O3", "-shared", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-w")


class _Array(ctypes.Structure):
    """array of monoid.hpp"""

    _fields_ = [("data", ctypes.c_void_p), ("extents", ctypes.c_int64 * _RANK), ("strides", ctypes.c_int64 * _RANK)]


class monoid:
    """An associative operator with an identity, for reduce and scan.

    It is compiled when arrays of a dtype are first folded by it: for arrays in memory of the host by the compiler that the environment
    variable CXX names, else g++ or clang++ (with C++20); for arrays of a GPU by NVRTC and nvJitLink, CUDA's libraries, as PyTorch and
    JAX bring them along. What has been compiled is kept in the folder upsweep of the user's caches ($XDG_CACHE_HOME, or ~/.cache).

    Parameters
    ----------
    expression : str, optional
        An expression of C++ in `a` and `b`, the values of the earlier and of the later elements: "a * b % 7", "max(a, b)". The functions
        of <cmath> and <algorithm> can be called. It is converted to the type of the elements, T.
    identity : number
        The value with which every other one stays as it is, to the bit. The fold of no elements.
    cpp : str, optional
        Instead of an expression, the body of a function of `a` and `b` that returns a T.
    dtype : dtype, optional
        The type T to which elements are converted. By default their own: bool, integers, float32 or float64.

    The function must be associative. It is called for neighbours in the canonical order, and so need not commute. Sums, products,
    quotients and square roots have the same bits on a CPU and on a GPU; exp, sin and their like are those of the machine.

    Examples
    --------
    >>> import numpy as np, upsweep as us
    >>> product = us.monoid("a * b % 7", identity=1)
    >>> int(us.reduce(np.array([3, 4, 5]), product))
    4
    """

    _is_monoid = True  # which reduce and scan ask for

    def __init__(self, expression: str | None = None, /, identity: Any = None, *, cpp: str | None = None,
                 dtype: npt.DTypeLike | None = None):
        if (expression is None) == (cpp is None):
            raise TypeError("monoid: a function is an expression, or cpp; pass one of them")
        if identity is None:
            raise TypeError("monoid: there is no identity; pass the value with which every other one stays as it is")
        self.body = f"return static_cast<T>({expression}\n);" if cpp is None else cpp
        self.identity = identity
        self.dtype = None if dtype is None else np.dtype(dtype)
        self._operators_on_gpu: dict[tuple[str, int], Any] = {}
        self._text = repr(expression) if cpp is None else f"cpp={cpp!r}"
        if self.dtype is not None:
            _c_type(self.dtype)

    def __repr__(self) -> str:
        dtype = "" if self.dtype is None else f", dtype={self.dtype}"
        return f"upsweep.monoid({self._text}, identity={self.identity!r}{dtype})"

    # --- what reduce and scan call ------------------------------------------------------------------------------------------------

    def _reduce(self, x: Any, axis: Any, identity: Any, dtype: Any, keepdims: bool, out: np.ndarray | None) -> Any:
        array, export = self._elements("reduce", x, dtype)
        _core.any(np.empty((1,) * array.ndim, bool), axis=axis)  # AxisError and ValueError
        axes = tuple(range(array.ndim)) if axis is None else tuple(
            k % array.ndim for k in (axis if isinstance(axis, tuple) else (axis,)))
        kept = [k for k in range(array.ndim) if k not in axes]
        shape = tuple(array.shape[k] for k in kept)
        lines = array.transpose([*kept, *sorted(axes)]).reshape((*shape, -1) if array.size else (*shape, 0))
        results = np.empty(shape, array.dtype)
        if lines.size == 0:
            results[...] = self.identity if identity is None else identity
        else:
            lines = lines if lines.ndim <= _RANK else lines.reshape(-1, lines.shape[-1])
            to = results.reshape(lines.shape[:-1])
            neutral = np.asarray(self.identity, array.dtype)
            _call(_compiled("reduce", self.body, array.dtype), _described(lines), _described(to[..., None]), neutral)
        if keepdims:
            results = results.reshape([1 if k in axes else extent for k, extent in enumerate(array.shape)])
        if out is not None:
            return _written("reduce", results, out)
        if export is not None:
            return export(results)
        return results[()] if results.ndim == 0 else results

    def _scan(self, x: Any, axis: int | None, exclusive: bool, reverse: bool, initial: Any, dtype: Any,
              out: np.ndarray | None) -> Any:
        array, export = self._elements("scan", x, dtype)
        if axis is None and array.ndim != 1:
            raise ValueError(f"scan: an array of {array.ndim} dimensions is scanned along one of them; pass axis")
        _core.any(np.empty((1,) * array.ndim, bool), axis=axis)  # AxisError
        along = 0 if axis is None else axis % array.ndim
        results = np.empty(array.shape, array.dtype)
        lines, to = (np.moveaxis(one, along, -1) for one in (array, results))
        if reverse:
            lines, to = lines[..., ::-1], to[..., ::-1]
        if lines.ndim > _RANK:
            raise TypeError(f"scan: arrays of more than {_RANK} dimensions are not scanned by operators of the user; reshape them")
        if lines.size:
            neutral = np.asarray(self.identity, array.dtype)
            first = None if initial is None else np.asarray(initial, array.dtype)
            if first is not None and first.ndim:
                raise ValueError("scan: initial is an array; pass one number")
            _call(_compiled("scan", self.body, array.dtype), _described(lines), _described(to), neutral,
                  ctypes.c_void_p(None if first is None else first.ctypes.data), ctypes.c_bool(exclusive))
        if out is not None:
            return _written("scan", results, out)
        return results if export is None else export(results)

    def _on_gpu(self, dtype: str, capability: int) -> Any:
        """The operator for arrays in memory of a GPU, which python/src/gpu_operators.cpp folds. The dtype has its name in the C ABI."""
        key = dtype, capability
        if key not in self._operators_on_gpu:
            from upsweep._gpu_arrays import _NAMES
            from upsweep._monoid_on_gpu import operator_on_gpu

            self._operators_on_gpu[key] = operator_on_gpu(self.body, np.dtype(_NAMES[dtype]), capability)
        return self._operators_on_gpu[key]

    def _elements(self, call: str, x: Any, dtype: Any) -> tuple[np.ndarray, Any]:
        array, export = adopt(call, x)
        wanted = np.dtype(dtype) if dtype is not None else self.dtype if self.dtype is not None else array.dtype
        _c_type(wanted)
        array = array.astype(wanted.newbyteorder("="), copy=False)
        if not array.flags.aligned or any(stride % array.itemsize for stride in array.strides):
            array = array.copy()
        return array, export


def _written(call: str, results: np.ndarray, out: Any) -> np.ndarray:
    if not isinstance(out, np.ndarray):
        raise TypeError(f"{call}: out is no NumPy array; pass one that has the shape of the result")
    if out.shape != results.shape:
        raise ValueError(f"{call}: out has not the shape of the result; pass an array of that shape")
    np.copyto(out, results, casting="same_kind")
    return out


def _described(x: np.ndarray) -> _Array:
    """The dimensions of an array behind as many of extent 1 as are left."""
    before = _RANK - x.ndim
    strides = [stride // x.itemsize if extent > 1 else 1 for extent, stride in zip(x.shape, x.strides)]
    return _Array(x.ctypes.data, (ctypes.c_int64 * _RANK)(*[1] * before, *x.shape),
                  (ctypes.c_int64 * _RANK)(*[1] * before, *strides))


def _call(function: Any, lines: _Array, to: _Array, identity: np.ndarray, *options: Any) -> None:
    """Along the last axis."""
    message = ctypes.create_string_buffer(_MESSAGE_BYTES)
    if function(ctypes.byref(lines), ctypes.byref(to), ctypes.c_int64(_RANK - 1), ctypes.c_void_p(identity.ctypes.data), *options,
                message) != 0:
        raise ValueError(message.value.decode(errors="replace"))


# --- compiling --------------------------------------------------------------------------------------------------------------------

_lock = threading.Lock()
_functions: dict[tuple[str, str, str], Any] = {}
_HEADER = pathlib.Path(__file__).parent / "monoid.hpp"


def _c_type(dtype: np.dtype) -> str:
    name = _C_TYPES.get(dtype.name)
    if name is None:
        raise TypeError(f"monoid: {dtype} is no type of an operator; pass dtype, of bool, integers, float32 or float64")
    return name


def _source(what: str, body: str, dtype: np.dtype) -> str:
    more, pass_on = {
        "reduce": ("", ""),
        "scan": (", const void* init, bool exclusive", ", init, exclusive"),
    }[what]
    return f"""#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

using T = {_c_type(dtype)};
struct operator_of_user {{
    static T fold(T a, T b)
    {{
        using namespace std;
#line 1 "monoid"
{body}
    }}
    T operator()(const T& a, const T& b) const {{ return fold(a, b); }}
}};

#include "{_HEADER.name}"

extern "C" [[gnu::visibility("default")]] int run(const upsweep::python::array* in, const upsweep::python::array* out,
                                                  std::int64_t along, const void* identity{more}, char* message)
{{
    return upsweep::python::{what}<T, operator_of_user>(in, out, along, identity{pass_on}, message);
}}

extern "C" [[gnu::visibility("default")]] void threads_are_of(int process)
{{
    upsweep::cpu_engine::process_of_scheduler() = process;
}}
"""


def _compiled(what: str, body: str, dtype: np.dtype) -> Any:
    key = (what, body, dtype.name)
    with _lock:
        if key not in _functions:
            # What is loaded stays: threads may be in it.
            library = ctypes.CDLL(os.fspath(_library(_source(what, body, dtype))))
            library.threads_are_of(_PROCESS)
            _functions[key] = library.run
        return _functions[key]


def _library(source: str) -> pathlib.Path:
    """Where the library of this source is: found in the cache, or compiled now."""
    compiler = _compiler()
    machine = _core.cpu_isa()
    flags = [*_FLAGS, *([f"-march={machine}"] if machine.startswith("x86-64") else []),
             *[f"-I{folder}" for folder in (_HEADER.parent, *_include_folders())]]
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
    key = "\0".join((source, _HEADER.read_text(), _core.version(), os.fspath(compiler), version, *flags))
    folder = _cache()
    library = folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.so"
    if library.exists():
        return library
    with tempfile.TemporaryDirectory(dir=folder, prefix="compiling-") as aside:
        file, made = pathlib.Path(aside, "monoid.cpp"), pathlib.Path(aside, "monoid.so")
        file.write_text(source)
        threads = _HEADER.parent / "libtbb.so.12"  # which the process has opened by this name
        command = [compiler, *flags, os.fspath(file), "-o", os.fspath(made), os.fspath(threads)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=aside)
        if done.returncode != 0:
            raise ValueError(f"monoid: the operator does not compile; correct it:\n{_messages(done.stderr)}")
        os.replace(made, library)  # Whole, or not at all, for all who look for it.
    return library


def _messages(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    of_user = [k for k, line in enumerate(lines) if line.startswith(("monoid:", "monoid(")) and "error" in line]
    first = of_user[0] if of_user else 0
    return "\n".join(lines[first:first + 20])


def _compiler() -> str:
    asked = os.environ.get("CXX", "").split()
    for name in ([asked[0]] if asked else ["g++", "clang++", "c++"]):
        found = shutil.which(name)
        if found is not None:
            return found
    told = f"CXX is {asked[0]}, which is none" if asked else "there is no g++ and no clang++"
    raise RuntimeError(f"monoid: an operator of the user takes a C++ compiler, and {told}; install one, or name it in CXX")


def _include_folders() -> list[pathlib.Path]:
    folder = _HEADER.parent / "include"
    if not (folder / "upsweep" / "axis.hpp").exists():
        raise RuntimeError(f"monoid: the headers of the library are not in {folder}; install the package again")
    return [folder]


def _cache() -> pathlib.Path:
    folder = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache", "upsweep")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as failure:
        raise RuntimeError(f"monoid: {folder} cannot be made: {failure.strerror}; name another folder in XDG_CACHE_HOME") from None
    return folder
