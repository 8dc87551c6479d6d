# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Operators of the user: compiled once, with the bits of the same built-in operator."""
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest
import upsweep as us
from samples import random, same_bits

pytestmark = pytest.mark.skipif(shutil.which(os.environ.get("CXX", "g++").split()[0]) is None, reason="no C++ compiler")


PLUS = us.monoid("a + b", identity=-0.0, dtype=np.float32)
# Not commutative: of x -> p x + q modulo 251, as p * 256 + q.
AFFINE = us.monoid(cpp="""
    const T p = a / 256, q = a % 256, r = b / 256, s = b % 256;
    return r * p % 251 * 256 + (r * q + s) % 251;
""", identity=256, dtype=np.int64)


def affine(values):
    total = 256
    for value in values:
        p, q, r, s = total // 256, total % 256, value // 256, value % 256
        total = r * p % 251 * 256 + (r * q + s) % 251
    return total


def test_bits_of_the_same_operator():
    x = random((37, 5, 301), "float32")
    for view in (x, x[::-1, :, ::3], x.T, np.broadcast_to(x[:1], x.shape)):
        for axis in (None, 0, 1, -1, (0, 2), (2, 1)):
            assert same_bits(us.reduce(view, PLUS, axis=axis), us.reduce(view, "plus", axis=axis))
        for axis in range(3):
            for reverse in (False, True):
                assert same_bits(us.scan(view, PLUS, axis=axis, reverse=reverse), us.scan(view, "plus", axis=axis, reverse=reverse))
            assert same_bits(us.scan(view, PLUS, axis=axis, initial=3), us.scan(view, "plus", axis=axis, initial=3))
            assert same_bits(us.scan(view, PLUS, axis=axis, initial=3, exclusive=True),
                             us.scan(view, "plus", axis=axis, initial=3, exclusive=True))
    long = random(1_000_003, "float32")
    assert same_bits(us.reduce(long, PLUS), us.sum(long)) and same_bits(us.scan(long, PLUS), us.cumulative_sum(long))


def test_order():
    rng = np.random.default_rng(1)
    x = rng.integers(1, 251, 2000) * 256 + rng.integers(0, 251, 2000)
    values = x.tolist()
    assert us.reduce(x, AFFINE) == affine(values)
    assert us.reduce(x.reshape(4, 500), AFFINE, axis=0)[7] == affine(values[7::500])
    assert us.reduce(x[::-1], AFFINE) == affine(values[::-1])


def test_arguments():
    x = np.arange(12).reshape(3, 4)
    assert us.reduce(x, AFFINE, axis=1, keepdims=True).shape == (3, 1)
    assert us.reduce(np.empty((3, 0), int), AFFINE, axis=1).tolist() == [256] * 3
    assert us.reduce(np.empty(0), AFFINE, identity=7) == 7 and us.reduce(np.empty((0, 2)), AFFINE, axis=1).shape == (0,)
    out = np.empty(3)
    assert us.reduce(x, PLUS, axis=1, out=out) is out and out.tolist() == [6, 22, 38]
    assert us.scan(x[0], PLUS, out=x[0].astype(float)).tolist() == [0, 1, 3, 6]
    assert us.scan([], PLUS).shape == (0,)
    assert repr(PLUS) == "upsweep.monoid('a + b', identity=-0.0, dtype=float32)"
    assert us.reduce(x.astype(">i8"), AFFINE) == us.reduce(x, AFFINE)
    for wrong, error in (((), TypeError), (("a",), TypeError)):
        with pytest.raises(error):
            us.monoid(*wrong)
    with pytest.raises(TypeError, match="float16"):
        us.reduce(np.ones(3, "f2"), us.monoid("a + b", identity=0))
    with pytest.raises(TypeError, match="complex"):
        us.monoid("a + b", identity=0, dtype=complex)
    with pytest.raises(ValueError, match="pass axis"):
        us.scan(x, PLUS)
    with pytest.raises(np.exceptions.AxisError):
        us.reduce(x, PLUS, axis=2)
    with pytest.raises(ValueError, match="shape"):
        us.reduce(x, PLUS, axis=1, out=np.empty(4))


def test_what_does_not_compile():
    with pytest.raises(ValueError, match=r"(?s)does not compile.*monoid:1.*(was not declared|undeclared)"):
        us.reduce(np.ones(3), us.monoid("a + c", identity=0))


def test_cache():
    cache = pathlib.Path(os.environ["XDG_CACHE_HOME"], "upsweep")
    kept = sorted(cache.iterdir())
    assert kept and all(file.suffix == ".so" for file in kept)
    # Another process compiles nothing.
    program = "import numpy as np, upsweep as us; print(us.reduce(np.ones(9, 'f4'), us.monoid('a + b', identity=-0.0, dtype='f4')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "9.0\n" and sorted(cache.iterdir()) == kept


def test_without_a_compiler(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(RuntimeError, match="no-such-compiler.*install"):
        us.reduce(np.ones(3), us.monoid("a + b + 0", identity=0))
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(RuntimeError, match="C.. compiler"):
        us.reduce(np.ones(3), us.monoid("a + b + 0", identity=0))
