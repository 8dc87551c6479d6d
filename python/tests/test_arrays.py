# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""What is taken for an array, and what is not."""
import array
import gc
import os
import pickle
import resource
import signal
import subprocess
import sys
import threading
import types
from importlib import resources

import array_api_strict
import fold_order
import ml_dtypes
import numpy as np
import pytest
import upsweep as us
from samples import DTYPES, random, same_bits


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_matter_how_it_lies(dtype):
    """Other byte orders, odd addresses, fields of records, read-only memory: read, or copied first as NumPy does."""
    plain = random((9, 11), dtype)
    packed = np.zeros(99 * plain.itemsize + 1, np.uint8)[1:].view(dtype).reshape(9, 11)
    packed[...] = plain
    records = np.zeros((9, 11), [("byte", "u1"), ("value", dtype)])
    records["value"] = plain
    read_only = plain.copy()
    read_only.flags.writeable = False
    for x in (packed, records["value"], read_only, plain.astype(plain.dtype.newbyteorder()), np.asfortranarray(plain)):
        assert same_bits(us.sum(x), us.sum(plain))
        assert same_bits(us.cumulative_sum(x[:, 3]), us.cumulative_sum(plain[:, 3].copy()))
        assert same_bits(us.max(x), us.max(plain))
    assert same_bits(us.sum(plain[::-2, ::3]), us.sum(plain[::-2, ::3].copy()))


@pytest.mark.filterwarnings("ignore:the matrix")
def test_what_numpy_makes_an_array_of():
    assert us.sum([[1, 2], [3, 4]]) == 10
    assert us.sum(7.5) == 7.5 and us.sum(np.float32(7.5)).dtype == np.float32
    assert us.max(array.array("h", [3, -7])) == 3
    assert us.sum(memoryview(b"\1\2\3")) == 6
    assert type(us.sum(np.matrix([[1, 2]]))) is np.int64
    assert same_bits(us.cumulative_sum(range(4)), np.array([0, 1, 3, 6]))


def test_what_has_no_engine():
    for wrong in (np.zeros(3, complex), np.array(["a"]), np.array([None]), np.zeros(2, "M8[s]"), np.zeros(2, np.longdouble),
                  np.zeros(2, [("a", "f4")]), np.ma.array([1, 2], mask=[0, 1]), None, "word", object()):
        for call in (us.sum, us.histogram, us.bincount, lambda x: us.partial(x, "plus", dtype=None)):
            with pytest.raises(TypeError):
                call(wrong)


def test_temporaries_are_kept_for_the_call():
    for _ in range(20):
        assert us.sum(np.full(1 << 16, 2.0)[::-1]) == 1 << 17
        gc.collect()


def test_bfloat16():
    bfloat16 = ml_dtypes.bfloat16
    x = random(4001, "float32").astype(bfloat16)
    total = fold_order.reduce(x.view(np.uint16), "plus", "bf16")
    assert us.sum(x).dtype == bfloat16 and us.sum(x) == total.astype(bfloat16)[0]
    assert same_bits(us.sum(x, dtype=np.float32), total[0])
    assert same_bits(us.cumulative_sum(x).view(np.uint16), fold_order.scan(x.view(np.uint16), "plus", "bf16"))
    assert us.max(x) == np.max(x.astype(np.float32)) and us.max(x).dtype == bfloat16
    assert same_bits(us.histogram(x, 7, (-2, 2))[0], np.histogram(x.astype(np.float32), 7, (-2, 2))[0])
    p = us.partial(x[:5], "plus")
    assert p.dtype == bfloat16 and p.value().dtype == bfloat16
    for other in (ml_dtypes.float8_e4m3fn, ml_dtypes.int4):
        with pytest.raises(TypeError):
            us.sum(np.zeros(3, other))


def test_the_same_kind_of_array_out():
    """By DLPack, whose most exacting speaker is array-api-strict."""
    numbers = array_api_strict.asarray([3.0, 1.0, 2.0])
    kind = type(numbers)
    for result, want in ((us.sum(numbers), 6), (us.mean(numbers), 2), (us.cumulative_sum(numbers), [3, 4, 6]),
                         (us.cummin(numbers), [3, 1, 1]), (us.bincount(array_api_strict.asarray([1, 1])), [0, 2]),
                         (us.histogram(numbers, 2)[0], [1, 2]), (us.histogram(numbers, [1, 2, 3])[1], [1, 2, 3]),
                         (us.histogram(numbers, "sqrt")[0], [1, 2]), (us.var(numbers), 2 / 3),
                         (us.sum(numbers, dtype="float32"), 6)):
        assert type(result) is kind
        np.testing.assert_allclose(np.asarray(result), want)
    assert us.sum(numbers).shape == ()


class Bfloat16s:
    """As JAX has them: DLPack tells a type that NumPy does not take."""

    def __init__(self, values):
        self.values = np.asarray(values, ml_dtypes.bfloat16)

    def __array__(self, dtype=None, copy=None):
        return self.values

    def __dlpack__(self, **_):
        raise BufferError("no such type")

    def __dlpack_device__(self):
        return 1, 0

    def __array_namespace__(self):
        return types.SimpleNamespace(from_dlpack=None, asarray=Bfloat16s)


def test_bfloat16_of_other_libraries():
    for result, want in ((us.sum(Bfloat16s([1, 2, 4])), 7), (us.cummax(Bfloat16s([1, 4, 2])), [1, 4, 4])):
        assert isinstance(result, Bfloat16s) and np.array_equal(result.values, want)


def test_threads_of_python():
    x = random(1 << 17, "float32")
    want = us.sum(x), us.cumulative_sum(x), us.histogram(x, 50, (-3, 3))[0]
    failures = []

    def call():
        for _ in range(20):
            got = us.sum(x), us.cumulative_sum(x), us.histogram(x, 50, (-3, 3))[0]
            failures.extend(k for k, (a, b) in enumerate(zip(got, want)) if not same_bits(a, b))

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("busy", (False, True))
def test_processes_that_fork(busy):
    """A child has none of its parent's threads, not even those that are folding as it is made, and folds all the same."""
    x = random(1 << 20, "float32")
    other = us.monoid("max(a, b)", identity=-np.inf)  # compiled before, or else in a child

    def folds():
        return us.sum(x), us.cumulative_sum(x), us.histogram(x, 50, (-3, 3))[0]

    want = *folds(), us.max(x)
    stop = threading.Event()

    def keep_folding():
        while not stop.is_set():
            folds()

    threads = [threading.Thread(target=keep_folding) for _ in range(2 if busy else 0)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                got = *folds(), us.reduce(x, other)
                os._exit(0 if all(same_bits(a, b) for a, b in zip(got, want)) else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_functions_go_to_other_processes():
    for name in us.__all__:
        if callable(getattr(us, name)):
            assert pickle.loads(pickle.dumps(getattr(us, name))) is getattr(us, name), name


def test_no_leak():
    """Objects and memory stay what they were over many calls, also over those that fail."""
    x = np.arange(1000.0)

    def calls(times):
        for _ in range(times):
            us.sum(x)
            us.cumulative_sum(x)
            us.histogram(x, 5)
            us.partial(x, "plus").value()
            us.sum(x.astype(">f8"))
            for wrong in (lambda: us.sum(x, dtype=np.int8), lambda: us.cumulative_sum(x, out=x[1:])):
                try:
                    wrong()
                except (TypeError, ValueError):
                    pass

    calls(300)
    gc.collect()
    references = sys.getrefcount(x), sys.getrefcount(np.dtype(np.float64)), sys.getrefcount(np.dtype(np.int64))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    calls(3000)
    gc.collect()
    after = sys.getrefcount(x), sys.getrefcount(np.dtype(np.float64)), sys.getrefcount(np.dtype(np.int64))
    assert all(abs(a - b) < 50 for a, b in zip(after, references))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4096  # KiB; a leaked result a call is 24 MB


def test_import_leaves_numpy_alone():
    """NumPy's import takes longer than all else: who has no array yet does not wait for it."""
    code = "import sys, upsweep; assert 'numpy' not in sys.modules; print(upsweep.__version__); dir(upsweep)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_level_of_the_cpu_gives_the_same_bits():
    code = ("import numpy as np, upsweep as us; x = (np.arange(70001) % 977).astype('f4') ** 1.5 / 7; "
            "print(us._core.cpu_isa(), us.sum(x).tobytes(), us.cumulative_sum(x)[-7:].tobytes(), us.histogram(x)[0])")
    environment = {name: value for name, value in os.environ.items() if name != "UPSWEEP_CPU_LEVEL"}
    names = sorted(file.name for file in resources.files("upsweep").iterdir() if file.name.startswith("libupsweep-"))
    levels = [name.removeprefix("libupsweep-").removesuffix(".so") for name in names]
    seen = {}
    for level in levels:
        run = subprocess.run([sys.executable, "-c", code], env=environment | {"UPSWEEP_CPU_LEVEL": level}, text=True,
                             capture_output=True)
        if run.returncode != 0:
            assert "does not run" in run.stderr, run.stderr
            continue
        isa, result = run.stdout.split(" ", 1)
        assert isa == level
        seen[level] = result
    assert len(set(seen.values())) == 1
    # Where nothing is asked for, the best of them is taken.
    best = subprocess.run([sys.executable, "-c", code], env=environment, text=True, capture_output=True, check=True)
    assert best.stdout.split(" ", 1)[0] == max(seen)
    wrong = subprocess.run([sys.executable, "-c", code], env=environment | {"UPSWEEP_CPU_LEVEL": "pdp-11"}, text=True,
                           capture_output=True)
    assert wrong.returncode != 0 and "ImportError" in wrong.stderr and "pdp-11" in wrong.stderr
