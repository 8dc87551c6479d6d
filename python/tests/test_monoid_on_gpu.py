# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Operators of the user for arrays in memory of a GPU: the bits of the CPU. Without a GPU, or without the engine for one, none is run."""
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest
import upsweep as us
from samples import SIZES, random, same_bits
from gpu_arrays import agree, kind, needs_gpu, torch  # noqa: F401, of which pytest makes fixtures

pytestmark = [needs_gpu, pytest.mark.skipif(shutil.which(os.environ.get("CXX", "g++").split()[0]) is None, reason="no C++ compiler")]

LARGE = 3_000_001  # of which the kernels for many elements take care

# Not commutative, and of floats not associative either: the bits tell in which order they are folded.
OPERATORS = {
    "bool": us.monoid("a != b", identity=False),
    "int8": us.monoid("max(a, b)", identity=-128),
    "uint8": us.monoid("a + b", identity=0),
    "int16": us.monoid(cpp="if (b == 0) return a; return b;", identity=0),  # the last that is not zero
    "uint16": us.monoid("a | b", identity=0),
    "int32": us.monoid("abs(a) >= abs(b) ? a : b", identity=0),
    "uint32": us.monoid("a ^ b", identity=0),
    "int64": us.monoid(cpp="""
        const T p = a / 256, q = a % 256, r = b / 256, s = b % 256;
        return r * p % 251 * 256 + (r * q + s) % 251;
    """, identity=256),
    "uint64": us.monoid("a * b", identity=1),
    "float32": us.monoid("a + b", identity=-0.0),
    "float64": us.monoid("std::sqrt(a * a + b * b)", identity=0),
}


def elements(size, dtype):
    if dtype == "int64":
        rng = np.random.default_rng(1)
        return rng.integers(1, 251, size) * 256 + rng.integers(0, 251, size)
    host = random(size, dtype)
    return np.abs(host) if dtype == "float64" else host


@pytest.mark.parametrize("dtype", OPERATORS)
def test_bits_of_the_cpu(kind, dtype):
    op = OPERATORS[dtype]
    for size in (*SIZES, 1_000_003, LARGE):
        host = elements(size, dtype)
        there = kind.put(host)
        agree(kind, lambda x: us.reduce(x, op), host, there, size)
        for how in ({}, {"exclusive": True}, {"reverse": True}, {"initial": 3}, {"exclusive": True, "initial": 3, "reverse": True}):
            agree(kind, lambda x: us.scan(x, op, **how), host, there, (how, size))


@pytest.mark.parametrize("dtype", ("bool", "int16", "float32", "int64"))
def test_axes(kind, dtype):
    op = OPERATORS[dtype]
    for shape in ((7, 11), (300, 301), (5, 70, 13), (3, 5000), (5000, 3), (2, 100_000), (100_000, 2), (4, 0), (0, 4), (1, 9, 1)):
        host = elements(shape, dtype)
        there = kind.put(host)
        for axis in (None, *range(len(shape)), -1, *(((0, 1), (1, 2), (0, 2), (2, 0)) if len(shape) == 3 else ())):
            for keepdims in (False, True):
                agree(kind, lambda x: us.reduce(x, op, axis=axis, keepdims=keepdims), host, there, (shape, axis))
            if isinstance(axis, int):
                for how in ({}, {"reverse": True}, {"exclusive": True, "initial": 1}):
                    agree(kind, lambda x: us.scan(x, op, axis=axis, **how), host, there, (shape, axis, how))


@pytest.mark.parametrize("dtype", ("uint8", "int16", "float32", "int64"))
def test_many_columns(kind, dtype):
    """Kernels that take more shared memory than every kernel may."""
    op = OPERATORS[dtype]
    for shape in ((300_000, 33), (700_000, 50)):
        host = elements(shape, dtype)
        there = kind.put(host)
        agree(kind, lambda x: us.reduce(x, op, axis=0), host, there, shape)
        for how in ({}, {"exclusive": True, "initial": 1}):
            agree(kind, lambda x: us.scan(x, op, axis=0, **how), host, there, (shape, how))


def test_functions_of_the_standard_library(kind):
    """They are those of C++, and not of CUDA, which says otherwise of NaN and of zeros. Processors differ in the bits of a NaN
    that they make, and in which of two zeros fmax takes."""
    floats = elements(5000, "float32")
    floats[::7] = np.nan
    floats[1::5] = -0.0
    floats[3::5] = 0.0
    floats[5::11] = 1e-40  # denormal
    of_floats = """const float x = std::bit_cast<float>(a), y = std::bit_cast<float>(b);
        const float all[] = {max(x, y), std::min(x, y), isnan(x) ? y : x, copysign(fabs(x), y), abs(x) < abs(y) ? y : x,
                             x < 0 ? INFINITY : y, 1 / x + y, std::fma(x, y, x), x * y + x, std::sqrt(x), floor(x) - trunc(y)};
        T bits = 0;
        for (const float one : all)
            bits = 31 * bits + (isnan(one) ? 0 : std::bit_cast<T>(one));
        return bits;"""
    of_integers = """return (std::popcount(a) >= std::popcount(b) ? a : b) ^ clamp(a, T(3), T(b | 3)) ^ std::rotl(a, 3) ^ T(sqrt(a) + b % 5) ^
        std::countl_zero(a | b) ^ (numeric_limits<T>::max() - a + b) ^ (a * 1.0f > b ? a : b) ^ (a / (b | 1) + a % (b | 1));"""
    for x, function in ((floats.view("uint32"), of_floats), (elements(5000, "uint32"), of_integers)):
        op = us.monoid(cpp=f"if (a == 77) return b; if (b == 77) return a; {function}", identity=77)  # 77 changes none
        agree(kind, lambda x: us.reduce(x, op), x, kind.put(x))


def test_types(kind):
    host = random(5000, "int16")
    there = kind.put(host)
    agree(kind, lambda x: us.reduce(x, us.monoid("a + b", identity=0, dtype="float64")), host, there)
    agree(kind, lambda x: us.scan(x, us.monoid("a + b", identity=0), dtype="int64"), host, there)
    with pytest.raises(TypeError, match="f16 is no type"):
        us.reduce(kind.put(np.ones(3, "f2")), OPERATORS["float32"])
    agree(kind, lambda x: us.reduce(x, us.monoid("a + b", identity=-0.0, dtype="float32")), np.ones(3, "f2"), kind.put(np.ones(3, "f2")))


def test_outputs_and_views(torch):
    op, x = OPERATORS["float32"], random((300, 301), "float32")
    there = torch.from_numpy(x).cuda()
    out = torch.empty(301, device="cuda")
    assert us.reduce(there, op, axis=0, out=out) is out and same_bits(out.cpu().numpy(), us.reduce(x, op, axis=0))
    for view in (lambda x: x.T, lambda x: x[1:, ::3], lambda x: x[::2, 5:6]):
        for axis in (0, 1, None):
            assert same_bits(us.reduce(view(there), op, axis=axis).cpu().numpy(), us.reduce(view(x), op, axis=axis))
        for axis in (0, 1):
            assert same_bits(us.scan(view(there), op, axis=axis).cpu().numpy(), us.scan(view(x), op, axis=axis))
    want = us.scan(x[:, 7], op)
    assert us.scan(there[:, 7], op, out=there[:, 7]).data_ptr() == there[:, 7].data_ptr()
    assert same_bits(there[:, 7].cpu().numpy(), want)
    line = there.reshape(-1)
    want = us.scan(line.cpu().numpy()[1:], op)
    assert same_bits(us.scan(line[1:], op).cpu().numpy(), want)
    us.scan(line[1:], op, out=line[1:])
    assert same_bits(line[1:].cpu().numpy(), want)
    with pytest.raises(TypeError, match="not converted"):
        us.scan(line, op, out=torch.empty(line.shape, dtype=torch.float64, device="cuda"))
    with pytest.raises(ValueError, match="pass axis"):
        us.scan(there, op)


def test_what_does_not_compile_there(torch):
    with pytest.raises(ValueError, match=r"(?s)does not compile for a GPU.*monoid\(1\).*undefined"):
        us.reduce(torch.ones(3, device="cuda"), us.monoid("a + c", identity=0))


def test_cache_there(torch):
    us.reduce(torch.ones(9, device="cuda"), OPERATORS["float32"])
    cache = pathlib.Path(os.environ["XDG_CACHE_HOME"], "upsweep")
    kept = sorted(cache.iterdir())
    assert any(file.suffix == ".cubin" for file in kept) and not any(file.name.startswith("compiling-") for file in kept)
    program = "import torch, upsweep as us; print(float(us.reduce(torch.ones(9, device='cuda'), us.monoid('a + b', identity=-0.0))))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "9.0\n" and sorted(cache.iterdir()) == kept


def test_without_the_tools(torch, monkeypatch):
    from upsweep import _monoid_on_gpu

    x = torch.ones(3, device="cuda")
    monkeypatch.setattr(_monoid_on_gpu, "_tool", _monoid_on_gpu._tool.__wrapped__)  # which remembers nothing
    version = _monoid_on_gpu._core.cuda_version()
    monkeypatch.setattr(_monoid_on_gpu._core, "cuda_version", lambda: 99000)
    with pytest.raises(RuntimeError, match="takes libnvrtc.so.99, .*install"):
        us.reduce(x, us.monoid("a + b + 0", identity=0))
    monkeypatch.setattr(_monoid_on_gpu._core, "cuda_version", lambda: version + 990)
    with pytest.raises(RuntimeError, match="nvJitLink.*update it"):
        us.reduce(x, us.monoid("a + b + 0", identity=0))


def test_speed_is_that_of_built_in_operators(torch):
    """The operator is part of the kernel: a scan that calls it takes two fifths longer."""
    x = torch.ones(1 << 26, device="cuda")

    def least(fold):
        fold()
        times = []
        for _ in range(10):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            fold()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end))
        return min(times)

    out = torch.empty_like(x)
    assert least(lambda: us.scan(x, OPERATORS["float32"], out=out)) < 1.25 * least(lambda: us.scan(x, "plus", out=out))
