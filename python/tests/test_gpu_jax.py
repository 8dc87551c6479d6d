# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Functions that JAX transforms, on a GPU: what differs there from test_jax.py."""
import threading

import numpy as np
import pytest
import upsweep as us
from gpu_arrays import HAS_GPU, Jax
from samples import DTYPES, random, same_bits


@pytest.fixture(scope="module")
def of_jax():
    if not HAS_GPU:
        pytest.skip("there is no GPU, or no engine for it")
    return Jax()


def agree_compiled(kind, call, *hosts, devices=None):
    """The call on arrays there, inside of jax.jit, has the bits of the one on arrays here."""
    want = call(*hosts)
    for device in devices or kind.module.devices("gpu")[:1]:
        got = kind.module.jit(call)(*(kind.module.device_put(x, device) for x in hosts))
        assert kind.is_own(got) and got.devices() == {device} and same_bits(kind.get(got), want), (kind.get(got), want)


@pytest.mark.parametrize("dtype", (*DTYPES, "bfloat16"))
def test_compiled_types(of_jax, dtype):
    """Lines of every type, those that the engine for GPUs has no kernel for among them."""
    for shape in ((0,), (1,), (1000,), (70001,), (300, 7), (3, 5000), (5000, 3), (5, 70, 13), (0, 4), (4, 0)):
        host = random(shape, "int8" if dtype == "bool" else "float32").astype(dtype)
        for axis in (None, *range(len(shape)), *(((0, 1), (2, 0), (-1,), ()) if len(shape) == 3 else ())):
            agree_compiled(of_jax, lambda x: us.sum(x, axis=axis), host)
        for axis in range(len(shape)):
            agree_compiled(of_jax, lambda x: us.cumulative_sum(x, axis=axis), host)
            agree_compiled(of_jax, lambda x: us.cumulative_sum(x, axis=axis, include_initial=True), host)


@pytest.mark.parametrize("dtype", ("float32", "float64", "float16", "bfloat16"))
def test_compiled_recurrences(of_jax, dtype):
    for shape, axis in (((1,), 0), ((70001,), 0), ((3, 5000), 1), ((5000, 3), 0), ((4, 300, 5), 1), ((2, 3, 4, 50), -1), ((0,), 0)):
        a, b = (random(shape, "float32", k).clip(-1, 1).astype(dtype) for k in (1, 2))
        lines = np.asarray(random(tuple(np.delete(shape, axis)), "float32", 3)).astype(dtype)
        for reverse in (False, True):
            agree_compiled(of_jax, lambda a, b, h: us.linear_recurrence(a, b, initial=h, axis=axis, reverse=reverse), a, b, lines)
        agree_compiled(of_jax, lambda b: us.linear_recurrence(np.asarray(0.5, dtype), b, axis=axis), b)


def test_compiled_for_types_of_32_bits(of_jax):
    """Without jax_enable_x64, sums of integers are the lower halves of those of 64 bits."""
    of_jax.module.config.update("jax_enable_x64", False)
    try:
        for dtype in ("int8", "uint16", "int32", "uint32"):
            host = random((5, 300), dtype)
            for axis in (None, 0, 1):
                got = of_jax.module.jit(lambda x: us.sum(x, axis=axis))(of_jax.put(host))
                assert got.dtype.itemsize == 4 and same_bits(of_jax.get(got), us.sum(host, axis=axis).astype(got.dtype))
    finally:
        of_jax.module.config.update("jax_enable_x64", True)


@pytest.mark.parametrize("axis", range(3))
def test_vmap_there(of_jax, axis):
    jax = of_jax.module
    host = random((4, 5, 600), "float32")
    there = of_jax.put(host)
    for call in (us.sum, lambda x: us.sum(x, axis=-1), lambda x: us.cumulative_sum(x, axis=0),
                 lambda x: us.linear_recurrence(np.float32(0.5), x, axis=1)):
        for transformed in (jax.vmap(call, in_axes=axis), jax.jit(jax.vmap(call, in_axes=axis))):
            got = transformed(there)
            assert of_jax.is_own(got)
            for row, one in zip(np.moveaxis(host, axis, 0), got):
                assert same_bits(of_jax.get(one), call(row))


def test_gradients_of_jax_there(of_jax):
    """At once, and in what is compiled, with the bits of the folds that they are."""
    jax = of_jax.module
    x, weights = (random(70001, "float32", k) for k in (4, 3))
    a, b, scale = (random((3, 500), "float32", k).clip(-1, 1) for k in (5, 6, 7))
    gradient = jax.grad(lambda x, w: (us.cumulative_sum(x) * w).sum())
    gradients = jax.grad(lambda a, b, w: (us.linear_recurrence(a, b, axis=1) * w).sum(), (0, 1))
    adjoint = us.linear_recurrence(np.concatenate([a[:, 1:], np.zeros((3, 1), "f4")], 1), scale, axis=1, reverse=True)
    h = us.linear_recurrence(a, b, axis=1)
    for how in (lambda f: f, jax.jit):
        got = how(gradient)(of_jax.put(x), of_jax.put(weights))
        assert of_jax.is_own(got) and same_bits(of_jax.get(got), us.scan(weights, "plus", reverse=True))
        to_a, to_b = how(gradients)(*map(of_jax.put, (a, b, scale)))
        assert same_bits(of_jax.get(to_b), adjoint)
        assert same_bits(of_jax.get(to_a), adjoint * np.concatenate([np.zeros((3, 1), "f4"), h[:, :-1]], 1))
        value, change = how(lambda x, w: jax.jvp(us.cumulative_sum, (x,), (w,)))(of_jax.put(x), of_jax.put(weights))
        assert same_bits(of_jax.get(value), us.cumulative_sum(x)) and same_bits(of_jax.get(change), us.cumulative_sum(weights))
    rows = jax.jit(jax.vmap(jax.grad(lambda x: us.cumulative_sum(x)[-1])))(of_jax.put(a))
    assert same_bits(of_jax.get(rows), np.ones_like(a))


def test_order_of_what_is_compiled(of_jax):
    """Folds take their place among XLA's kernels, in loops as well, on every GPU."""
    jax = of_jax.module
    host = np.arange(1 << 20) % 5.0  # whose sums are exact

    def between(x):
        return us.sum(us.cumulative_sum(x * 2) + us.cumulative_sum(x)) / 3

    def repeated(x):
        return jax.lax.fori_loop(0, 20, lambda k, x: us.cumulative_sum(x) - us.cumulative_sum(x) + us.sum(x) * 0 + x + 1, x)

    for device in jax.devices("gpu"):
        there = jax.device_put(host, device)
        for _ in range(5):
            assert float(jax.jit(between)(there)) == float(us.sum(us.cumulative_sum(host)))
        assert same_bits(of_jax.get(jax.jit(repeated)(there)), host + 20)
    agree_compiled(of_jax, us.sum, random(70001, "float32"), devices=jax.devices("gpu"))


def test_threads_of_what_is_compiled(of_jax):
    calls = [of_jax.module.jit(call) for call in (us.sum, us.cumulative_sum)]
    hosts = [random(size, "float32", size) for size in (1000, 70001, 300_000)]
    there = [of_jax.put(x) for x in hosts]
    wants = [(us.sum(x), us.cumulative_sum(x)) for x in hosts]
    wrong = []

    def work(k):
        for _ in range(50):
            wrong.extend(k for call, want in zip(calls, wants[k % 3]) if not same_bits(of_jax.get(call(there[k % 3])), want))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_errors_of_what_is_compiled(of_jax):
    """What the engine refuses is an error of XLA, with the sentence of the engine."""
    import upsweep.jax  # which registers the functions

    jax, lines = of_jax.module, of_jax.put(np.ones((2, 5, 1), "float16"))
    with pytest.raises(RuntimeError, match="INVALID_ARGUMENT: upsweep: an array has 2 dimensions in place of 3"):
        jax.ffi.ffi_call("upsweep_sum", jax.ShapeDtypeStruct((2, 1), "float32"))(lines[0]).block_until_ready()
