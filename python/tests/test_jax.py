# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""JAX: what is transformed has the bits of NumPy's arrays, and gradients that are folds, too."""
import numpy as np
import pytest
import upsweep as us
from samples import random, same_bits

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
test_util = pytest.importorskip("jax.test_util")


@pytest.fixture(scope="module", autouse=True)
def of_64_bits():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


FUNCTIONS = {
    "sum": (lambda x: us.sum(x), (5, 7)),
    "sum-1": (lambda x: us.sum(x, axis=(-1, 0), keepdims=True), (5, 7, 2)),
    "sum-float32": (lambda x: us.sum(x, axis=0, dtype=np.float32), (5, 7)),
    "cumulative_sum": (lambda x: us.cumulative_sum(x), (9,)),
    "cumulative_sum-0": (lambda x: us.cumulative_sum(x, axis=0, include_initial=True), (5, 7)),
    "linear_recurrence": (lambda a, b: us.linear_recurrence(a, b), (9,), (9,)),
    "linear_recurrence-initial": (lambda a, b, h: us.linear_recurrence(a, b, initial=h, axis=1), (5, 7), (5, 7), (5,)),
    "linear_recurrence-reverse": (lambda a, b, h: us.linear_recurrence(a, b, initial=h, axis=0, reverse=True), (7, 1), (7, 5), ()),
    "linear_recurrence-number": (lambda b: us.linear_recurrence(0.5, b, axis=-1), (5, 7)),
}


@pytest.fixture(params=FUNCTIONS)
def function(request):
    call, *shapes = FUNCTIONS[request.param]
    return call, [random(shape, "float64", k) / 4 for k, shape in enumerate(shapes)]


def test_results(function):
    call, arrays = function
    want = call(*arrays)
    given = [jnp.asarray(x) for x in arrays]
    for got in (call(*given), jax.jit(call)(*given), jax.vjp(call, *given)[0]):
        assert isinstance(got, jax.Array) and same_bits(got, want)


def test_gradients(function):
    """Forward and reverse."""
    call, arrays = function
    if call(*arrays).dtype == np.float64:
        test_util.check_grads(call, [jnp.asarray(x) for x in arrays], order=1)


def test_gradients_of_gradients():
    call, *shapes = FUNCTIONS["linear_recurrence-initial"]
    test_util.check_grads(lambda *xs: us.sum(us.cumulative_sum(call(*xs), axis=0)),
                          [jnp.asarray(random(shape, "float64", k) / 4) for k, shape in enumerate(shapes)], order=2, modes=("rev",))


def test_vmap(function):
    """Each row has the bits of the call on it alone, and gradients as well."""
    call, arrays = function
    rows = [jnp.stack([jnp.asarray(x) * k for k in (1, 2, 3)], axis=-1) for x in arrays]
    got = jax.vmap(call, in_axes=-1)(*rows)
    for k in range(3):
        assert same_bits(got[k], call(*(x * (k + 1) for x in arrays)))
    if len(arrays) > 1:
        first, *others = arrays
        got = jax.vmap(lambda x: call(x, *map(jnp.asarray, others)))(jnp.stack([first, first]))
        assert same_bits(got[1], call(*arrays))
    if got.ndim > 1:
        gradients = jax.jit(jax.vmap(jax.grad(lambda *xs: call(*xs)[..., -1].sum()), in_axes=-1))(*rows)
        assert same_bits(gradients[1], jax.grad(lambda *xs: call(*xs)[..., -1].sum())(*(x[..., 1] for x in rows)))


def test_gradients_are_folds():
    """With the bits of the canonical order."""
    weights = random(1000, "float32", 3)
    x = random(1000, "float32", 4)
    got = jax.grad(lambda x: (us.cumulative_sum(x) * weights).sum())(x)
    assert same_bits(got, us.scan(weights, "plus", reverse=True))

    a, b, weights = (random((3, 500), "float32", k) / 4 for k in (5, 6, 7))
    to_a, to_b = jax.jit(jax.grad(lambda a, b: (us.linear_recurrence(a, b, axis=1) * weights).sum(), (0, 1)))(a, b)
    adjoint = us.linear_recurrence(np.concatenate([a[:, 1:], np.zeros((3, 1), "f4")], 1), weights, axis=1, reverse=True)
    h = us.linear_recurrence(a, b, axis=1)
    assert same_bits(to_b, adjoint)
    assert same_bits(to_a, adjoint * np.concatenate([np.zeros((3, 1), "f4"), h[:, :-1]], 1))
    to_number = jax.grad(lambda c: (us.linear_recurrence(c, b, axis=1) * weights).sum())(np.float32(0.5))
    to_each = jax.grad(lambda c: (us.linear_recurrence(c, b, axis=1) * weights).sum())(np.full((3, 500), 0.5, "f4"))
    assert same_bits(to_number, us.sum(np.asarray(to_each)))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float16", "bfloat16", "float32"])
def test_types(dtype):
    x = jnp.asarray(random((5, 300), "float32")).astype(dtype)
    for call in (us.sum, lambda x: us.cumulative_sum(x, axis=1), lambda x: us.linear_recurrence(x, x, axis=0)):
        assert same_bits(jax.jit(call)(x), call(np.asarray(x)))


def test_many_elements():
    """Callbacks for large arrays do not wait for one another."""
    x = jnp.asarray(random(3_000_000, "float32"))
    f = jax.jit(lambda x: us.sum(us.cumulative_sum(x) + us.cumulative_sum(2 * x)))
    assert f(x) == us.sum(us.cumulative_sum(x) + us.cumulative_sum(2 * x))


def test_no_elements():
    for call in (us.sum, us.cumulative_sum, lambda x: us.linear_recurrence(x, x, initial=0.5)):
        assert jax.grad(lambda x: call(x).sum())(jnp.zeros(0)).shape == (0,)


def test_refusals():
    x = jnp.ones((3, 4))
    with pytest.raises(TypeError, match="no rule"):
        jax.jit(us.max)(x)
    with pytest.raises(ValueError, match="pass axis"):
        jax.jit(us.cumulative_sum)(x)
    with pytest.raises(np.exceptions.AxisError):
        jax.jit(lambda x: us.sum(x, axis=2))(x)
    with pytest.raises(TypeError, match="out"):
        jax.jit(lambda x: us.sum(x, out=np.empty(())))(x)
    with pytest.raises(ValueError, match="broadcast"):
        jax.jit(lambda x: us.linear_recurrence(x, x, initial=x, axis=0))(x)
