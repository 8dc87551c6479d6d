# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""libupsweep by ctypes, and the memory that the tests hand to it."""
import ctypes
import pathlib
import re

import numpy as np

from fold_order import OPS, STORAGE

DTYPES = {name: number for number, name in enumerate(
    ("bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"))}
OP_NUMBERS = {name: number for number, name in enumerate(OPS)}
OK, INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY = 0, 1, 2, 3
CPU, CUDA = 1, 2


class Target(ctypes.Structure):
    _fields_ = [("place", ctypes.c_int), ("threads", ctypes.c_int32)]

    def __str__(self):
        return f"{self.threads} threads{' and the GPU' if self.place == CUDA else ''}"


class Outside(ctypes.Structure):
    _fields_ = [("below", ctypes.c_uint64), ("above", ctypes.c_uint64), ("nan", ctypes.c_uint64)]


_int, _pointer, _u64, _bool, _double = ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_bool, ctypes.c_double
_SIGNATURES = {
    "upsweep_last_error": (ctypes.c_char_p, []),
    "upsweep_cpu_isa": (ctypes.c_char_p, []),
    "upsweep_gpu_name": (ctypes.c_char_p, []),
    "upsweep_dtype_size": (_u64, [_int]),
    "upsweep_dtype_name": (ctypes.c_char_p, [_int]),
    "upsweep_op_name": (ctypes.c_char_p, [_int]),
    "upsweep_reduce_dtype": (_int, [_int, _int, _pointer]),
    "upsweep_reduce": (_int, [Target, _int, _int, _pointer, _u64, _pointer]),
    "upsweep_scan": (_int, [Target, _int, _bool, _int, _pointer, _int, _pointer, _u64, _pointer]),
    "upsweep_reducer_create": (_int, [Target, _int, _int, _pointer]),
    "upsweep_reducer_feed": (_int, [_pointer, _pointer, _u64]),
    "upsweep_reducer_result": (_int, [_pointer, _pointer]),
    "upsweep_reducer_limit_gpu_memory": (_int, [_pointer, _u64]),
    "upsweep_reducer_destroy": (None, [_pointer]),
    "upsweep_scanner_create": (_int, [Target, _int, _bool, _int, _int, _pointer, _pointer]),
    "upsweep_scanner_feed": (_int, [_pointer, _pointer, _pointer, _u64]),
    "upsweep_scanner_limit_gpu_memory": (_int, [_pointer, _u64]),
    "upsweep_scanner_destroy": (None, [_pointer]),
    "upsweep_partial_create": (_int, [_int, _int, _pointer]),
    "upsweep_partial_feed": (_int, [_pointer, Target, _pointer, _u64, _u64]),
    "upsweep_partial_merge": (_int, [_pointer, _pointer]),
    "upsweep_partial_result": (_int, [_pointer, _pointer]),
    "upsweep_partial_count": (_u64, [_pointer]),
    "upsweep_partial_bytes": (_int, [_pointer, _pointer, _pointer]),
    "upsweep_partial_of_bytes": (_int, [_pointer, _u64, _pointer]),
    "upsweep_partial_destroy": (None, [_pointer]),
    "upsweep_histogram_even": (_int, [Target, _int, _pointer, _u64, _double, _double, _u64, _pointer, _pointer]),
    "upsweep_histogram_edges": (_int, [Target, _int, _pointer, _u64, _pointer, _u64, _pointer, _pointer]),
    "upsweep_histogram_letters": (_int, [Target, _pointer, _u64, _u64, _pointer, _pointer]),
    "upsweep_counter_create_even": (_int, [Target, _int, _double, _double, _u64, _pointer]),
    "upsweep_counter_create_edges": (_int, [Target, _int, _pointer, _u64, _pointer]),
    "upsweep_counter_create_letters": (_int, [Target, _u64, _pointer]),
    "upsweep_counter_feed": (_int, [_pointer, _pointer, _u64]),
    "upsweep_counter_result": (_int, [_pointer, _pointer, _pointer]),
    "upsweep_counter_limit_gpu_memory": (_int, [_pointer, _u64]),
    "upsweep_counter_destroy": (None, [_pointer]),
}


def cpu(threads):
    return Target(CPU, threads)


def cuda(threads):
    return Target(CUDA, threads)


class Library:
    """One libupsweep.so: its functions without their prefix, lib.reduce(...) being upsweep_reduce(...)."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        handle = ctypes.CDLL(str(self.path.resolve()))
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(handle, name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name.removeprefix("upsweep_"), function)
        self.isa = self.cpu_isa().decode()

    def message(self):
        return (self.last_error() or b"").decode()


_NEEDS = {"x86-64-v2": "sse4_2 popcnt", "x86-64-v3": "avx2 bmi1 bmi2 f16c fma abm movbe",
          "x86-64-v4": "avx2 bmi1 bmi2 f16c fma abm movbe avx512f avx512bw avx512cd avx512dq avx512vl"}


def variants(path):
    """The library at path and those for newer instruction sets beside it; what this CPU cannot run is left out, aloud."""
    path = pathlib.Path(path)
    flags = set(re.search(r"^flags\s*:(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)[1].split())
    found = [path] + sorted(path.parent.glob(f"glibc-hwcaps/*/{path.name}"))
    runnable = [p for p in found if set(_NEEDS.get(p.parent.name, "").split()) <= flags]
    for p in found:
        print(f"{p}: {'tested' if p in runnable else 'skipped, this CPU lacks its instructions'}")
    return [Library(p) for p in runnable]


class Guarded:
    """An array of n elements, `offset` elements past a 64-byte border, among bytes of 0xA5 that nobody may touch."""
    MARGIN = 128

    def __init__(self, dtype, n, offset=0):
        kind = np.dtype(STORAGE[dtype])
        self._size = n * kind.itemsize
        self._bytes = np.full(self._size + 2 * self.MARGIN + 64 * (1 + kind.itemsize), 0xA5, np.uint8)
        self._start = self.MARGIN + -(self._bytes.ctypes.data + self.MARGIN) % 64 + int(offset) % 64 * kind.itemsize
        self.array = self._bytes[self._start:self._start + self._size].view(kind)
        self.pointer = self.array.ctypes.data if n else self._bytes.ctypes.data + self._start

    @classmethod
    def of(cls, dtype, values, offset=0):
        self = cls(dtype, len(values), offset)
        self.array[:] = values
        return self

    def poison(self):
        self._bytes[self._start:self._start + self._size] = 0xA5

    def untouched_around(self):
        return (np.all(self._bytes[:self._start] == 0xA5) and
                np.all(self._bytes[self._start + self._size:] == 0xA5))

    def untouched(self):
        return np.all(self._bytes == 0xA5)
