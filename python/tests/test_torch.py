# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""PyTorch's tensors: those without a gradient beside NumPy's arrays, gradients, and what torch.compile makes of the functions."""
import subprocess
import sys

import numpy as np
import pytest
import upsweep as us
from samples import random, same_bits

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of PyTorch itself
F64 = torch.float64


@pytest.fixture(scope="module", autouse=True)
def deterministic():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


def tensor(*shape, seed=0, dtype=F64, gradient=True):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=F64).to(dtype).requires_grad_(gradient and dtype.is_floating_point)


def bits(x, y):
    return x.dtype == y.dtype and x.shape == y.shape and bytes_of(x).equal(bytes_of(y))


def bytes_of(x):
    return x.detach().reshape(-1).contiguous().view(torch.uint8)


OFFSETS = torch.tensor([1, 1, 4, 5, 20, 29])
# Functions of tensors, by the shapes of these.
FUNCTIONS = {
    "sum": (lambda x: us.sum(x), (5, 7)),
    "sum-0": (lambda x: us.sum(x, axis=0), (5, 7)),
    "sum-keepdims": (lambda x: us.sum(x, axis=(-1, 0), keepdims=True), (5, 7, 2)),
    "sum-float64": (lambda x: us.sum(x, dtype=torch.float64), (5,)),
    "mean": (lambda x: us.mean(x), (5, 7)),
    "mean-1": (lambda x: us.mean(x, axis=1), (5, 7)),
    "cumulative_sum": (lambda x: us.cumulative_sum(x), (9,)),
    "cumulative_sum-0": (lambda x: us.cumulative_sum(x, axis=0, include_initial=True), (5, 7)),
    "cumulative_sum-1": (lambda x: us.cumulative_sum(x, axis=-1), (5, 7)),
    "cumulative_prod": (lambda x: us.cumulative_prod(x, axis=1), (5, 7)),
    "cumulative_prod-0": (lambda x: us.cumulative_prod(x, axis=0, include_initial=True), (5, 7)),
    "cummax": (lambda x: us.cummax(x, axis=0), (7, 5)),
    "cummin": (lambda x: us.cummin(x), (20,)),
    "logcumsumexp": (lambda x: us.logcumsumexp(x * 9, axis=-1), (5, 7)),
    "linear_recurrence": (lambda a, b: us.linear_recurrence(a, b), (9,), (9,)),
    "linear_recurrence-initial": (lambda a, b, h: us.linear_recurrence(a, b, initial=h, axis=1), (5, 7), (5, 7), (5,)),
    "linear_recurrence-reverse": (lambda a, b, h: us.linear_recurrence(a, b, initial=h, axis=0, reverse=True), (7, 1), (7, 5), ()),
    "linear_recurrence-number": (lambda b: us.linear_recurrence(0.5, b, axis=-1), (5, 7)),
    "segment_reduce": (lambda x: us.segment_reduce(x, OFFSETS, "plus"), (31,)),
    "segment_reduce-maximum": (lambda x: us.segment_reduce(x, OFFSETS[1:], "maximum"), (31,)),
    "segment_reduce-minimum": (lambda x: us.segment_reduce(x, [0, 3, 31], "min"), (31,)),
    "integral_image": (lambda x: us.integral_image(x), (2, 5, 7)),
}


@pytest.fixture(params=FUNCTIONS)
def function(request):
    call, *shapes = FUNCTIONS[request.param]
    return call, [tensor(*shape, seed=k) for k, shape in enumerate(shapes)]


def test_torch_is_left_alone():
    """Neither the package nor arrays of NumPy import it."""
    code = ("import sys, numpy, upsweep; upsweep.sum(numpy.ones(9)); upsweep.linear_recurrence(0.5, [1.0, 2.0]); "
            "assert not {'torch', 'jax', 'upsweep.torch', 'upsweep.jax'} & set(sys.modules)")
    subprocess.run([sys.executable, "-c", code], check=True)


# --- results ----------------------------------------------------------------------------------------------------------------------

def test_results(function):
    """Recorded or not, they are those of NumPy's arrays, and laid out as the operator says."""
    call, given = function
    recorded = call(*given)
    assert recorded.requires_grad and recorded.grad_fn is not None
    plain = call(*(x.detach() for x in given))
    assert isinstance(plain, torch.Tensor) and not plain.requires_grad and bits(plain, recorded)
    assert same_bits(plain.numpy(), call(*(x.detach().numpy() for x in given)))
    with torch.no_grad():
        assert not call(*given).requires_grad


@pytest.mark.parametrize("kind", [torch.Tensor.requires_grad_, torch.nn.Parameter])
def test_without_gradients(kind):
    """Where no gradient is recorded, tensors that require one are tensors as all others are, for functions without an operator, too."""
    x = kind(tensor(1000, gradient=False))
    out = np.empty(1000)
    with pytest.raises(TypeError, match="detach"):
        us.max(x)
    with torch.no_grad():
        assert us.max(x) == x.max() and us.argmax(x) == x.argmax()
        assert us.cumulative_sum(x, out=out) is out and same_bits(out, us.cumulative_sum(x.detach()).numpy())
        assert np.array_equal(np.asarray(us.histogram(x, 10)[0]), np.histogram(x.numpy(), 10)[0])
    with pytest.raises(TypeError, match="detach"):
        us.histogram(x, 10)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.uint8, torch.int32, torch.bool])
def test_types(dtype):
    pytest.importorskip("ml_dtypes")
    x = tensor(5, 300, dtype=dtype)
    array = x.detach().float().numpy() if dtype == torch.bfloat16 else x.detach().numpy()
    for call in (us.sum, us.mean, lambda x: us.cumulative_sum(x, axis=1), lambda x: us.cummax(x.T, axis=1), us.integral_image,
                 lambda x: us.sum(x, axis=0, dtype=torch.float32), lambda x: us.sum(x, axis=(0, 1), keepdims=True)):
        want = torch.from_numpy(np.asarray(call(torch.from_numpy(array))))
        for got in (call(x.detach()), call(x), call(torch.nn.Parameter(x.detach(), requires_grad=False))):
            assert bits(got, want.to(torch.bfloat16) if dtype == torch.bfloat16 and got.dtype == torch.bfloat16 else want)


def test_plain_tensors():
    x = tensor(1000, gradient=False)
    us.cumulative_sum(x, out=(out := np.empty(1000)))
    assert same_bits(out, us.cumulative_sum(x).numpy())
    assert us.max(x) == x.max() and us.cummin(x[::3]).equal(torch.cummin(x[::3], 0).values)
    negative = torch.randn(9, dtype=torch.complex64).conj().imag
    assert negative.is_neg() and us.max(negative) == negative.max()
    assert torch.allclose(us.sum(negative), negative.sum())


# --- gradients --------------------------------------------------------------------------------------------------------------------

def test_gradients(function):
    call, given = function
    torch.autograd.gradcheck(call, given)
    torch.autograd.gradgradcheck(call, given)


def test_gradients_of_outputs_in_any_layout(function):
    """gradcheck feeds contiguous ones alone."""
    call, given = function
    result = call(*given)
    shape = result.shape
    expanded = torch.tensor(0.3, dtype=F64).expand(shape)
    transposed = tensor(*reversed(shape), seed=7, gradient=False).permute(list(reversed(range(len(shape)))))
    sliced = tensor(*(2 * extent + 1 for extent in shape), seed=8, gradient=False)[tuple(slice(1, None, 2) for _ in shape)]
    for g in (expanded, transposed, sliced):
        got = torch.autograd.grad(result, given, g, retain_graph=True)
        want = torch.autograd.grad(result, given, g.contiguous().clone(), retain_graph=True)
        assert all(bits(one, other) for one, other in zip(got, want))


def test_gradients_are_folds():
    """With the bits of the canonical order."""
    x, g = tensor(1000, dtype=torch.float32), random(1000, "float32", 3)
    got, = torch.autograd.grad(us.cumulative_sum(x), x, torch.from_numpy(g))
    assert same_bits(got.numpy(), us.scan(g, "plus", reverse=True))

    a, b = tensor(3, 500, dtype=torch.float32, seed=1), tensor(3, 500, dtype=torch.float32, seed=2)
    h = us.linear_recurrence(a, b, axis=1)
    weights = random((3, 500), "float32", 4)
    to_a, to_b = torch.autograd.grad(h, (a, b), torch.from_numpy(weights))
    after = np.concatenate([a.detach().numpy()[:, 1:], np.zeros((3, 1), "f4")], 1)
    adjoint = us.linear_recurrence(after, weights, axis=1, reverse=True)
    assert same_bits(to_b.numpy(), adjoint)
    assert same_bits(to_a.numpy(), adjoint * np.concatenate([np.zeros((3, 1), "f4"), h.detach().numpy()[:, :-1]], 1))

    decay = tensor(1, dtype=torch.float32, seed=1)  # broadcast: its gradient is a sum
    to_decay, = torch.autograd.grad(us.linear_recurrence(decay, b, axis=1), decay, torch.from_numpy(weights))
    each = decay.detach().expand(3, 500).clone().requires_grad_()
    to_each, = torch.autograd.grad(us.linear_recurrence(each, b, axis=1), each, torch.from_numpy(weights))
    assert to_decay.item() == us.sum(to_each.numpy())


def test_products_of_zeros():
    x = tensor(4, 9).detach()
    x[0, 3] = x[1, 0] = x[2, 4] = x[2, 8] = x[3, 2] = x[3, 3] = 0
    x.requires_grad_()
    g = tensor(4, 9, seed=5, gradient=False)
    got, = torch.autograd.grad(us.cumulative_prod(x, axis=1), x, g)
    want, = torch.autograd.grad(torch.stack([x[:, :k + 1].prod(1) for k in range(9)], 1), x, g)
    assert torch.allclose(got, want)
    torch.autograd.gradgradcheck(lambda x: us.cumulative_prod(x, axis=1), x)


def test_equal_maxima_and_nan():
    x = torch.tensor([1.0, 3.0, 3.0, 2.0, 5.0, torch.nan, 7.0, torch.nan], requires_grad=True)
    us.cummax(x).backward(torch.tensor([1.0, 2, 4, 8, 16, 32, 64, 128]))
    assert x.grad.tolist() == [1, 14, 0, 0, 16, 224, 0, 0]
    y = torch.tensor([2.0, 2.0, 1.0], requires_grad=True)
    us.segment_reduce(y, [0, 3], np.maximum).backward(torch.tensor([4.0]))
    assert y.grad.tolist() == [2, 2, 0]


def test_gradients_of_logarithms_where_nothing_is():
    """-inf adds nothing, and has no share of the gradient; that of PyTorch's own is NaN there."""
    x = torch.tensor([-torch.inf, 0.0, -torch.inf, 1.0, 800.0], requires_grad=True)
    us.logcumsumexp(x)[1:].sum().backward()
    y = x.detach()[[1, 3, 4]].double().requires_grad_()
    (2 * torch.logcumsumexp(y, 0)[0] + torch.logcumsumexp(y, 0)[1:].sum()).backward()
    assert x.grad[[0, 2]].tolist() == [0, 0] and torch.allclose(x.grad[[1, 3, 4]].double(), y.grad)


def test_no_elements():
    for shape, call in (((0,), us.sum), ((0,), us.cumulative_sum), ((0,), us.cumulative_prod), ((0,), us.cummax),
                        ((3, 0), lambda x: us.linear_recurrence(x, x, axis=1, initial=0.5)), ((3, 0), us.integral_image)):
        x = tensor(*shape)
        result = call(x)
        result.sum().backward()
        assert x.grad.shape == shape


def test_halves():
    x = tensor(3, 100, dtype=torch.bfloat16)
    for call in (us.sum, us.mean, lambda x: us.cumulative_sum(x, axis=1), lambda x: us.cumulative_prod(x, axis=1),
                 lambda x: us.cummax(x, axis=1), lambda x: us.logcumsumexp(x, axis=0),
                 lambda x: us.linear_recurrence(0.5, x, axis=1), us.integral_image):
        got, = torch.autograd.grad(call(x).sum(), x)
        wide = x.detach().float().requires_grad_()
        want, = torch.autograd.grad(call(wide).sum(), wide)
        assert got.dtype == torch.bfloat16 and torch.allclose(got.float(), want, rtol=0.05, atol=0.05)


def test_transforms():
    x = tensor(3, 9, gradient=False)
    got = torch.func.grad(lambda x: us.sum(us.cumulative_sum(x * x)))(x[0])
    assert torch.allclose(got, 2 * x[0] * torch.arange(9, 0, -1))
    with pytest.warns(UserWarning, match="batching rule"):
        rows = torch.vmap(us.sum)(x)
    assert bits(rows, us.sum(x, axis=1))


# --- operators --------------------------------------------------------------------------------------------------------------------

def cases():
    x, a = tensor(5, 7), tensor(5, 7, seed=1)
    half = tensor(5, 7, dtype=torch.bfloat16)
    starts = torch.tensor([0, 0, 2, 3, 3]).view(5, 1).expand(5, 7)
    return {
        "sum": [(x, [0], None, False), (half.T, None, torch.float32, True), (torch.arange(5, dtype=torch.uint8), None, None, False)],
        "mean": [(x, [1], False), (half.T, None, True)],
        "cumulative_sum": [(x.T, 1, None, True, True), (x[:, ::2], 1, torch.float32, False, True), (x[:1].expand(3, 7), 0, None, False, False)],
        "cumulative_prod": [(x.T[:, 1:], 1, None, True)],
        "cummax": [(x.T, 1)],
        "cummin": [(half, 1)],
        "logcumsumexp": [(x.T, 1), (half, 0)],
        "sum_stretches": [(x, starts, 0)],
        "linear_recurrence": [(a[:, :1], x, tensor(5), 1, True), (half, a, None, 0, False)],
        "segment_reduce": [(x.flatten(), torch.tensor([0, 3, 3, 30]), "plus"), (half.flatten(), torch.tensor([0, 3, 30]), "maximum")],
        "segment_broadcast": [(x.flatten()[:3], torch.tensor([1, 3, 3, 30]), 40)],
        "integral_image": [(x.T, None, True), (half, None, False)],
    }


@pytest.mark.filterwarnings("ignore:The .grad attribute")  # of PyTorch 2.15 itself
@pytest.mark.parametrize("name", cases())
def test_opcheck(name):
    assert us.torch  # registers them
    for arguments in cases()[name]:
        leaves = [x.detach().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x for x in arguments]
        torch.library.opcheck(getattr(torch.ops.upsweep, name).default, leaves)


def test_compiled(function):
    """Without a break in the graph, for any extents, with the bits of eager calls. (The default backend takes seconds a function.)"""
    torch._dynamo.reset()  # Else all functions here are one that was compiled too often.
    call, given = function
    compiled = torch.compile(lambda *xs: call(*(x * 1.5 for x in xs)) + 1, fullgraph=True, backend="aot_eager")
    eager = call(*(x * 1.5 for x in given)) + 1
    got = compiled(*given)
    assert bits(got, eager)
    g = tensor(*eager.shape, seed=9, gradient=False)
    for one, other in zip(torch.autograd.grad(got, given, g), torch.autograd.grad(eager, given, g)):
        assert torch.allclose(one, other, rtol=1e-12, atol=0)  # The compiler reorders what is no fold.
    assert bits(compiled(*(x.detach() for x in given)), eager)


def test_compiled_for_other_extents():
    f = torch.compile(lambda x: us.sum(us.cumulative_sum(x, axis=1)), fullgraph=True, dynamic=True, backend="aot_eager")
    for shape in ((3, 5), (4, 9)):
        x = tensor(*shape)
        assert bits(f(x), us.sum(us.cumulative_sum(x, axis=1)))


def test_traced():
    from torch.fx.experimental.proxy_tensor import make_fx

    x = tensor(3, 4, gradient=False)
    graph = make_fx(lambda x: us.linear_recurrence(0.5, us.mean(x, axis=0)))(x)
    assert "upsweep.mean" in graph.code and "upsweep.linear_recurrence" in graph.code
    assert bits(graph(2 * x), us.linear_recurrence(0.5, us.mean(2 * x, axis=0)))


# --- errors -----------------------------------------------------------------------------------------------------------------------

def test_refusals():
    x = tensor(3, 4)
    with pytest.raises(TypeError, match="detach"):
        us.max(x)
    with pytest.raises(TypeError, match="out"):
        us.sum(x, out=np.empty(()))
    with pytest.raises(np.exceptions.AxisError):
        us.sum(x, axis=2)
    with pytest.raises(ValueError, match="twice"):
        us.sum(x, axis=(0, -2))
    with pytest.raises(ValueError, match="pass axis"):
        us.cumulative_sum(x)
    with pytest.raises(ValueError, match="rows and columns"):
        us.integral_image(x[0])
    with pytest.raises(ValueError, match="offsets"):
        us.segment_reduce(x[0], [0, 3, 2], "plus")
    with pytest.raises(RuntimeError, match="multiplies"):
        us.segment_reduce(x[0], [0, 4], "multiplies").backward()


# --- GPUs -------------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["sum", "sum-0", "sum-keepdims", "sum-float64", "mean", "mean-1", "cumulative_sum", "cumulative_sum-0",
                                  "cumulative_sum-1"])
def test_gpu(name):
    """Results and gradients have the bits of the CPU's, and lie on the GPU."""
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    call, shape = FUNCTIONS[name]
    x = tensor(*(40 * extent for extent in shape), dtype=torch.float32)
    on_gpu = x.detach().cuda().requires_grad_()
    try:
        result = call(on_gpu)
    except TypeError as refused:
        pytest.skip(str(refused))
    assert result.is_cuda and bits(result.cpu(), call(x))
    g = tensor(*reversed(result.shape), seed=3, gradient=False, dtype=result.dtype).permute(list(reversed(range(result.dim()))))
    got, = torch.autograd.grad(result, on_gpu, g.cuda())
    want, = torch.autograd.grad(call(x), x, g)
    assert got.is_cuda and (bits(got.cpu(), want) or name.startswith("mean") and torch.allclose(got.cpu(), want))
    compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
    assert bits(compiled(on_gpu).cpu(), call(x))
