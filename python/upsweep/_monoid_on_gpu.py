# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Operators of the user for GPUs: NVRTC compiles the operator, nvJitLink links it with the kernels of the library, as if they had been
written with it, and what comes of that is kept on disk. Neither takes a GPU."""
from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import pathlib
import sys
import tempfile
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from upsweep import _core
from upsweep._monoid import _cache, _c_type, _messages

_FOLDER = pathlib.Path(__file__).parent
_HEADER = _FOLDER / "monoid_on_gpu.hpp"
# NVRTC compiles for all GPUs, nvJitLink for the one that is there. Neither makes one rounding of those of a product and a sum.
_NVRTC_FLAGS = ("--gpu-architecture=compute_75", "--std=c++20", "--fmad=false", "-dlto", "-rdc=true", "-default-device", "-w")
_LINK_FLAGS = ("-lto", "-fma=0")
_FATBIN, _LTOIR = 4, 3  # nvJitLinkInputType


class OperatorOnGpu:
    """An operator for elements of one type, and for GPUs of one compute capability (90 for 9.0)."""

    def __init__(self, body: str, dtype: np.dtype, capability: int):
        self.source = _source(body, dtype)
        self.architecture = f"sm_{capability}"
        self.kernels = _FOLDER / "operators" / f"words_{8 * dtype.itemsize}.fatbin"
        self.loaded = _core.new_operator()

    def kernel(self, name: str) -> bytes:
        """The machine code of a kernel: found in the cache, or compiled now."""
        nvrtc, link = _nvrtc(), _tool("nvJitLink", "nvidia-nvjitlink")
        fatbin = self.kernels.read_bytes()
        key = "\0".join((self.source, name, self.architecture, nvrtc.version, link.version, *_NVRTC_FLAGS, *_LINK_FLAGS))
        digest = hashlib.sha256(key.encode())
        digest.update(fatbin)
        kept = _cache() / f"{digest.hexdigest()[:32]}.cubin"
        if kept.exists():
            return kept.read_bytes()
        made = _linked(link, fatbin, self.ltoir, [f"-arch={self.architecture}", f"-kernels-used={name}"])
        with tempfile.TemporaryDirectory(dir=kept.parent, prefix="compiling-") as aside:
            whole = pathlib.Path(aside, kept.name)
            whole.write_bytes(made)
            os.replace(whole, kept)  # Whole, or not at all, for all who look for it.
        return made

    @functools.cached_property
    def ltoir(self) -> bytes:
        return _compiled(_nvrtc(), self.source)


_lock = threading.Lock()
_operators: dict[tuple[str, str, int], OperatorOnGpu] = {}


def operator_on_gpu(body: str, dtype: np.dtype, capability: int) -> OperatorOnGpu:
    key = (body, dtype.name, capability)
    with _lock:
        if key not in _operators:
            _operators[key] = OperatorOnGpu(body, dtype, capability)
        return _operators[key]


def _source(body: str, dtype: np.dtype) -> str:
    word, name = ("unsigned long", "upsweep_operator_64") if dtype.itemsize == 8 else ("unsigned int", "upsweep_operator_32")
    return f"""{_HEADER.read_text()}
using T = {_c_type(dtype)};
struct operator_of_user {{
    static T fold(T a, T b)
    {{
        UPSWEEP_FUNCTIONS_OF_STD
        {{
#line 1 "monoid"
{body}
        }}
    }}
}};
UPSWEEP_OPERATOR_ON_WORDS(T, {word}, {name})
"""


# --- the compiler and the linker ------------------------------------------------------------------------------------------------------


class _Tool:
    """A library of CUDA, whose functions return 0 or what has failed."""

    def __init__(self, name: str, file: str):
        self.name = name
        self.library = ctypes.CDLL(file)
        major, minor = ctypes.c_uint(), ctypes.c_uint()
        self.library[f"{name}Version"](ctypes.byref(major), ctypes.byref(minor))
        self.number = major.value, minor.value
        self.version = f"{name} {major.value}.{minor.value}"

    def call(self, function: str, *arguments: Any) -> int:
        return self.library[self.name + function](*arguments)

    def text(self, of: str, handle: ctypes.c_void_p) -> bytes:
        """What GetX writes, of the size that GetXSize tells."""
        size = ctypes.c_size_t()
        self.call(f"Get{of}Size", handle, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        self.call(f"Get{of}", handle, text)
        return text.raw


@functools.cache
def _tool(name: str, package: str) -> _Tool:
    major, minor = _core.cuda_version() // 1000, _core.cuda_version() % 1000 // 10
    file = f"lib{name}.so.{major}"
    package += f"-cu{major}" if major < 13 else ""
    for candidate in (*_installed(file), file):  # the last one where the loader looks
        try:
            tool = _Tool(name, candidate)
        except OSError:
            continue
        if tool.number >= (major, minor) or name == "nvrtc":
            return tool
        raise RuntimeError(f"monoid: {candidate} is of CUDA {tool.number[0]}.{tool.number[1]}, and the kernels are of {major}.{minor}; "
                           f"update it, by pip install -U {package} for example")
    raise RuntimeError(f"monoid: for arrays of a GPU an operator of the user takes {file}, and there is none; install it, by "
                       f"pip install {package} for example")


def _nvrtc() -> _Tool:
    return _tool("nvrtc", "nvidia-cuda-nvrtc")


def _installed(file: str) -> Iterator[str]:
    """Where pip installs libraries of CUDA, and where CUDA's own installer does."""
    for folder in sys.path:
        yield from map(os.fspath, sorted(pathlib.Path(folder or ".", "nvidia").glob(f"*/lib/{file}")))
    for folder in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        if folder and os.path.exists(os.path.join(folder, "lib64", file)):
            yield os.path.join(folder, "lib64", file)


def _strings(texts: Any) -> Any:
    return (ctypes.c_char_p * len(texts))(*[text.encode() for text in texts])


def _compiled(nvrtc: _Tool, source: str) -> bytes:
    program = ctypes.c_void_p()
    nvrtc.call("CreateProgram", ctypes.byref(program), source.encode(), b"upsweep", 0, None, None)
    try:
        if nvrtc.call("CompileProgram", program, len(_NVRTC_FLAGS), _strings(_NVRTC_FLAGS)) != 0:
            log = nvrtc.text("ProgramLog", program).rstrip(b"\0").decode(errors="replace")
            raise ValueError(f"monoid: the operator does not compile for a GPU; correct it:\n{_messages(log)}")
        return nvrtc.text("LTOIR", program)
    finally:
        nvrtc.call("DestroyProgram", ctypes.byref(program))


def _linked(link: _Tool, kernels: bytes, operator: bytes, flags: list[str]) -> bytes:
    linker = ctypes.c_void_p()
    flags = [*_LINK_FLAGS, *flags]
    failed = link.call("Create", ctypes.byref(linker), ctypes.c_uint32(len(flags)), _strings(flags))
    try:
        for kind, data, name in ((_FATBIN, kernels, b"kernels"), (_LTOIR, operator, b"operator")):
            failed = failed or link.call("AddData", linker, kind, data, ctypes.c_size_t(len(data)), name)
        if failed or link.call("Complete", linker) != 0:
            log = link.text("ErrorLog", linker).rstrip(b"\0").decode(errors="replace") if linker else f"nvJitLinkCreate: {failed}"
            raise RuntimeError(f"monoid: {link.version} cannot link the operator; install nvJitLink and NVRTC of one version:\n{log}")
        return link.text("LinkedCubin", linker)
    finally:
        link.call("Destroy", ctypes.byref(linker))
