# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""libupsweep by ctypes, and the memory that the tests hand to it."""
import ctypes
import functools
import pathlib
import re
import types
import typing

import numpy as np

from fold_order import OPS, STORAGE

DTYPES = {name: number for number, name in enumerate(
    ("bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"))}
OP_NUMBERS = {name: number for number, name in enumerate(OPS)}
OK, INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY, NO_DEVICE = 0, 1, 2, 3, 4
BUSY, UNREACHABLE, OVERLAP = 6, 7, 8
CPU, CUDA = 1, 2
HOST, DEVICE, MANAGED = 0, 1, 2


class Target(typing.NamedTuple):
    """What a context is made of. A context is made for each target, and kept."""
    place: int
    threads: int
    gpu_memory: int = 0  # in bytes; 0: no limit is set

    def __str__(self):
        return (f"{self.threads} threads{' and the GPU' if self.place == CUDA else ''}"
                f"{f' with {self.gpu_memory} bytes' if self.gpu_memory else ''}")


@functools.cache
def _numbers(count):
    return ctypes.c_int64 * count


class Array(ctypes.Structure):
    """An array as the library takes it. Strides are in elements."""
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int), ("memory", ctypes.c_int), ("device", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64))]

    @classmethod
    def of(cls, data, dtype, shape, strides=None, memory=HOST, device=0):
        numbers = _numbers(len(shape))
        return cls(data, dtype, memory, device, len(shape), numbers(*shape), numbers(*strides) if strides else None)

    @classmethod
    def of_numpy(cls, array, dtype):
        return cls.of(array.ctypes.data, DTYPES[dtype], array.shape, [stride // array.itemsize for stride in array.strides])


def line(data, dtype, count):
    """So many elements side by side in memory of the host."""
    return Array.of(data, dtype, (count,))


class Outside(ctypes.Structure):
    _fields_ = [("below", ctypes.c_uint64), ("above", ctypes.c_uint64), ("nan", ctypes.c_uint64)]


_array = ctypes.POINTER(Array)  # which takes an Array as it is
_int, _pointer, _u64, _bool, _double = ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_bool, ctypes.c_double
_SIGNATURES = {
    "upsweep_last_error": (ctypes.c_char_p, []),
    "upsweep_cpu_isa": (ctypes.c_char_p, []),
    "upsweep_gpu_name": (ctypes.c_char_p, []),
    "upsweep_dtype_size": (_u64, [_int]),
    "upsweep_dtype_name": (ctypes.c_char_p, [_int]),
    "upsweep_op_name": (ctypes.c_char_p, [_int]),
    "upsweep_reduce_dtype": (_int, [_int, _int, _pointer]),
    "upsweep_context_create": (_int, [_int, ctypes.c_int32, _pointer]),
    "upsweep_context_set_threads": (_int, [_pointer, ctypes.c_int32]),
    "upsweep_context_set_stream": (_int, [_pointer, _pointer]),
    "upsweep_context_limit_gpu_memory": (_int, [_pointer, _u64]),
    "upsweep_context_wait": (_int, [_pointer]),
    "upsweep_context_destroy": (None, [_pointer]),
    "upsweep_reduce": (_int, [_pointer, _int, _array, _array]),
    "upsweep_scan": (_int, [_pointer, _int, _bool, _array, _array, _pointer]),
    "upsweep_reduce_axis": (_int, [_pointer, _int, _array, ctypes.c_int32, _array]),
    "upsweep_mean_axis": (_int, [_pointer, _array, ctypes.c_int32, _array]),
    "upsweep_variance": (_int, [_pointer, _array, _double, _array]),
    "upsweep_variance_axis": (_int, [_pointer, _array, ctypes.c_int32, _double, _array]),
    "upsweep_variance_axes": (_int, [_pointer, _array, ctypes.c_uint64, _double, _array]),
    "upsweep_reducer_create_variance": (_int, [_int, _double, _pointer]),
    "upsweep_scan_axis": (_int, [_pointer, _int, _bool, _array, ctypes.c_int32, _array, _pointer]),
    "upsweep_argmin_axis": (_int, [_pointer, _array, ctypes.c_int32, _array]),
    "upsweep_argmax_axis": (_int, [_pointer, _array, ctypes.c_int32, _array]),
    "upsweep_integral_image": (_int, [_pointer, _array, _array]),
    "upsweep_histogram_axis_even": (_int, [_pointer, _array, ctypes.c_int32, _double, _double, _array, _pointer, _u64]),
    "upsweep_histogram_axis_edges": (_int, [_pointer, _array, ctypes.c_int32, _pointer, _u64, _array, _pointer, _u64]),
    "upsweep_segmented_histogram_even": (_int, [_pointer, _array, _array, _double, _double, _array, _pointer, _u64]),
    "upsweep_segmented_histogram_edges": (_int, [_pointer, _array, _array, _pointer, _u64, _array, _pointer, _u64]),
    "upsweep_segmented_reduce": (_int, [_pointer, _int, _array, _array, _array]),
    "upsweep_segmented_scan": (_int, [_pointer, _int, _bool, _array, _array, _array, _pointer]),
    "upsweep_check_offsets": (_int, [_pointer, _array, _u64]),
    "upsweep_reduce_by_key": (_int, [_pointer, _int, _array, _array, _array, _array, _pointer]),
    "upsweep_scan_by_key": (_int, [_pointer, _int, _bool, _array, _array, _array, _pointer]),
    "upsweep_run_length_encode": (_int, [_pointer, _array, _array, _array, _pointer]),
    "upsweep_run_length_decode": (_int, [_pointer, _array, _array, _array]),
    "upsweep_linear_recurrence": (_int, [_pointer, _array, _array, _array, ctypes.c_int32, _bool, _array]),
    "upsweep_select": (_int, [_pointer, _array, _array, _array, _pointer]),
    "upsweep_reducer_create": (_int, [_pointer, _int, _int, _pointer]),
    "upsweep_reducer_feed": (_int, [_pointer, _array]),
    "upsweep_reducer_result": (_int, [_pointer, _pointer]),
    "upsweep_reducer_destroy": (None, [_pointer]),
    "upsweep_scanner_create": (_int, [_pointer, _int, _bool, _int, _int, _pointer, _pointer]),
    "upsweep_scanner_feed": (_int, [_pointer, _array, _array]),
    "upsweep_scanner_destroy": (None, [_pointer]),
    "upsweep_partial_create": (_int, [_int, _int, _pointer]),
    "upsweep_partial_feed": (_int, [_pointer, _pointer, _array, _u64]),
    "upsweep_partial_merge": (_int, [_pointer, _pointer]),
    "upsweep_partial_result": (_int, [_pointer, _pointer]),
    "upsweep_partial_count": (_u64, [_pointer]),
    "upsweep_partial_bytes": (_int, [_pointer, _pointer, _pointer]),
    "upsweep_partial_of_bytes": (_int, [_pointer, _u64, _pointer]),
    "upsweep_partial_destroy": (None, [_pointer]),
    "upsweep_histogram_even": (_int, [_pointer, _array, _double, _double, _array, _pointer]),
    "upsweep_histogram_edges": (_int, [_pointer, _array, _pointer, _u64, _array, _pointer]),
    "upsweep_histogram_letters": (_int, [_pointer, _array, _u64, _array, _pointer]),
    "upsweep_weighted_histogram_even": (_int, [_pointer, _array, _array, _double, _double, _array, _array]),
    "upsweep_weighted_histogram_edges": (_int, [_pointer, _array, _array, _pointer, _u64, _array, _array]),
    "upsweep_counter_create_even": (_int, [_pointer, _int, _double, _double, _u64, _pointer]),
    "upsweep_counter_create_edges": (_int, [_pointer, _int, _pointer, _u64, _pointer]),
    "upsweep_counter_create_letters": (_int, [_pointer, _u64, _pointer]),
    "upsweep_counter_feed": (_int, [_pointer, _array]),
    "upsweep_counter_result": (_int, [_pointer, _pointer, _pointer]),
    "upsweep_counter_destroy": (None, [_pointer]),
}


def cpu(threads):
    return Target(CPU, threads)


def cuda(threads):
    return Target(CUDA, threads)


class Library:
    """One libupsweep.so. lib.c.reduce is upsweep_reduce as it is; lib.reduce and the others below take a target, and elements
    side by side in memory of the host by a pointer and a count."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.c = types.SimpleNamespace()
        handle = ctypes.CDLL(str(self.path.resolve()))
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(handle, name)
            function.restype, function.argtypes = result, arguments
            setattr(self.c, name.removeprefix("upsweep_"), function)
        self.isa = self.c.cpu_isa().decode()
        self._contexts = {}
        self._dtypes = {}  # of the elements, and of the results, that a handle takes

    def __getattr__(self, name):  # what needs no target
        return getattr(self.c, name)

    def message(self):
        return (self.c.last_error() or b"").decode()

    def context(self, target):
        """The status, and the context of a target."""
        if target not in self._contexts:
            context = ctypes.c_void_p()
            status = self.c.context_create(target.place, -1, ctypes.byref(context))
            if status == OK:
                status = self.c.context_set_threads(context, target.threads)
            if status == OK and target.gpu_memory:
                status = self.c.context_limit_gpu_memory(context, target.gpu_memory)
            if status != OK:
                return status, None
            self._contexts[target] = context
        return OK, self._contexts[target]

    def _in_context(self, target, call):
        status, context = self.context(target)
        return call(context) if status == OK else status

    def _create(self, target, place, dtypes, create):
        """Of a handle, whose address is written to `place`."""
        status = self._in_context(target, create)
        if status == OK:
            self._dtypes[place._obj.value] = dtypes
        return status

    def _dtypes_of(self, handle):
        return self._dtypes.get(getattr(handle, "value", handle), (0, 0))

    def reduce(self, target, op, dtype, data, count, result):
        kind = ctypes.c_int(dtype)
        self.c.reduce_dtype(op, dtype, ctypes.byref(kind))
        return self._in_context(target, lambda context: self.c.reduce(
            context, op, line(data, dtype, count), line(result, kind.value, 1)))

    def scan(self, target, op, exclusive, in_dtype, data, out_dtype, out, count, init):
        return self._in_context(target, lambda context: self.c.scan(
            context, op, exclusive, line(data, in_dtype, count), line(out, out_dtype, count), init))

    def histogram_even(self, target, dtype, data, count, lo, hi, bins, counts, outside):
        return self._in_context(target, lambda context: self.c.histogram_even(
            context, line(data, dtype, count), lo, hi, line(counts, DTYPES["u64"], bins), outside))

    def histogram_edges(self, target, dtype, data, count, edges, edge_count, counts, outside):
        bins = max(edge_count - 1, 0)
        return self._in_context(target, lambda context: self.c.histogram_edges(
            context, line(data, dtype, count), edges, edge_count, line(counts, DTYPES["u64"], bins), outside))

    def histogram_letters(self, target, text, count, group, counts, outside):
        bins = -(-26 // group) if group else 1
        return self._in_context(target, lambda context: self.c.histogram_letters(
            context, line(text, DTYPES["u8"], count), group, line(counts, DTYPES["u64"], bins), outside))

    def reducer_create(self, target, op, dtype, place):
        return self._create(target, place, (dtype,), lambda context: self.c.reducer_create(context, op, dtype, place))

    def reducer_feed(self, reducer, data, count):
        return self.c.reducer_feed(reducer, line(data, self._dtypes_of(reducer)[0], count))

    def scanner_create(self, target, op, exclusive, in_dtype, out_dtype, init, place):
        return self._create(target, place, (in_dtype, out_dtype), lambda context: self.c.scanner_create(
            context, op, exclusive, in_dtype, out_dtype, init, place))

    def scanner_feed(self, scanner, data, out, count):
        in_dtype, out_dtype = self._dtypes_of(scanner)
        return self.c.scanner_feed(scanner, line(data, in_dtype, count), line(out, out_dtype, count))

    def counter_create_even(self, target, dtype, lo, hi, bins, place):
        return self._create(target, place, (dtype,), lambda context: self.c.counter_create_even(
            context, dtype, lo, hi, bins, place))

    def counter_create_edges(self, target, dtype, edges, edge_count, place):
        return self._create(target, place, (dtype,), lambda context: self.c.counter_create_edges(
            context, dtype, edges, edge_count, place))

    def counter_create_letters(self, target, group, place):
        return self._create(target, place, (DTYPES["u8"],), lambda context: self.c.counter_create_letters(
            context, group, place))

    def counter_feed(self, counter, data, count):
        return self.c.counter_feed(counter, line(data, self._dtypes_of(counter)[0], count))

    def partial_feed(self, partial, dtype, target, data, count, first_position):
        return self._in_context(target, lambda context: self.c.partial_feed(
            partial, context, line(data, dtype, count), first_position))


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
