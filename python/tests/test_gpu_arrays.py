# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Arrays in memory of a GPU: the kind of array that came, its stream, and no copies. The other test_gpu_*.py compare what is folded.

Without a GPU, or without the engine for one, the first test alone is run.
"""
import sys
import threading

import numpy as np
import pytest
import upsweep as us
from gpu_arrays import HAS_GPU, Jax, kind, needs_gpu, torch  # noqa: F401, of which pytest makes fixtures
from samples import random, same_bits
from upsweep import _core


class OnGpu:
    """An array that lies in memory of a GPU, and cannot be had."""

    def __dlpack__(self, **_):
        raise RuntimeError("the GPU has gone")

    def __dlpack_device__(self):
        return 2, 0


class OfCuda:
    """An array that shows where its elements lie, and nothing else."""

    def __init__(self, address=256, shape=(3,), typestr="<f4", is_read_only=False):
        self.__cuda_array_interface__ = {"version": 3, "shape": shape, "typestr": typestr, "strides": None,
                                         "data": (address, is_read_only)}


def test_arrays_of_a_gpu_without_one():
    """What has no engine for them says what to do; folds of the host alone refuse them always."""
    if not HAS_GPU:
        for wrong in (OnGpu(), OfCuda()):
            with pytest.raises((TypeError, RuntimeError), match="UPSWEEP_CUDA=ON|CUDA|no GPU|device"):
                us.sum(wrong)
            with pytest.raises((TypeError, RuntimeError)):
                us.histogram(wrong)
            with pytest.raises((TypeError, RuntimeError)):
                us.cumulative_sum(wrong)
    for wrong in (OnGpu(), OfCuda()):
        with pytest.raises(TypeError, match="one of the host; copy the array there|has no arithmetic"):
            us.histogramdd(wrong)


def test_no_copies(kind):
    """Results are written where `out` lies, and a scan may be in place."""
    if not kind.has_views:
        pytest.skip("its arrays cannot be written")
    host = random(70001, "float32")
    there = kind.put(host)
    out = kind.put(np.zeros(70000, "float32"))
    address = kind.address(out)
    result = us.cumulative_sum(there[1:], out=out)
    assert result is out and kind.address(out) == address
    assert same_bits(kind.get(out), us.cumulative_sum(host[1:]))
    assert same_bits(kind.get(there), host)
    us.cumulative_sum(there, out=there)
    assert same_bits(kind.get(there), us.cumulative_sum(host))
    total = kind.put(np.zeros((), "float32"))
    assert us.sum(out, out=total) is total and same_bits(kind.get(total), us.sum(us.cumulative_sum(host[1:])))
    with pytest.raises(ValueError, match="overlap"):
        us.cumulative_sum(there[1:], out=there[:-1])


def test_memory(torch):
    """A call takes memory for its result alone, and gives it back."""
    x = torch.ones(1 << 20, device="cuda")
    us.sum(x)
    us.cumulative_sum(x)
    torch.cuda.synchronize()
    small = x[:1000]
    before, references = torch.cuda.memory_allocated(), sys.getrefcount(small)
    torch.cuda.reset_peak_memory_stats()
    for _ in range(3):
        us.cumulative_sum(x)
    assert torch.cuda.max_memory_allocated() - before <= x.nbytes
    for _ in range(100_000):
        us.sum(small)
    for _ in range(10_000):
        us.cumulative_sum(small)
    assert torch.cuda.memory_allocated() == before and sys.getrefcount(small) == references


def test_streams_of_torch(torch):
    """Calls are put behind what the current stream has, and are not waited for."""
    x = torch.zeros(1 << 20, device="cuda")

    def calls():
        return (us.sum(x), us.mean(x), us.prod(x), us.any(x), us.all(x), us.max(x > 0), us.reduce(x.int(), "bit_or"), us.cumulative_sum(x)[-1],
                us.linear_recurrence(1.0, x)[-1], us.integral_image(x.view(1024, 1024))[-1, -1], us.segment_reduce(x, [0, 1 << 20], "plus")[0])

    def histogram():
        return us.histogram(x, 4, (0, 4))

    for stream in (torch.cuda.Stream(), torch.cuda.current_stream(), torch.cuda.Stream()):
        with torch.cuda.stream(stream):
            calls(), histogram()  # the workspace of the stream, and kernels that have not been loaded yet
            stream.synchronize()
            torch.cuda._sleep(200_000_000)
            x.fill_(3)
            results, counted = calls(), histogram()
            assert not stream.query(), "a call has waited"
            all_of_them = 3 << 20
            assert [float(one) for one in results] == [all_of_them, 3, np.inf, 1, 1, 1, 3, *4 * [all_of_them]]
            assert counted.outside == (0, 0, 0) and int(counted[0][3]) == 1 << 20
            x.fill_(0)
            stream.synchronize()


@needs_gpu
def test_streams_of_cupy():
    cupy = pytest.importorskip("cupy")
    x = cupy.zeros(1 << 20, cupy.float32)
    for _ in range(40):  # more streams than a thread keeps contexts for, each destroyed with its object
        stream = cupy.cuda.Stream(non_blocking=True)
        cupy.cuda.get_current_stream().synchronize()
        with stream:
            x.fill(2)
            assert float(us.sum(x)) == 2 << 20
            x.fill(0)
            stream.synchronize()


def test_graphs_of_torch(torch):
    """Calls can be captured once the same call has been made."""
    x = torch.arange(5000, dtype=torch.float64, device="cuda")
    total, sums = torch.zeros((), dtype=torch.float64, device="cuda"), torch.zeros_like(x)
    product, some = torch.zeros_like(total), torch.zeros((), dtype=torch.bool, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        us.sum(x, out=total), us.cumulative_sum(x, out=sums), us.prod(x, out=product), us.any(x, out=some)
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        us.sum(x, out=total)
        us.cumulative_sum(x, out=sums)
        us.prod(x, out=product)
        us.any(x, out=some)
    x.fill_(1)
    graph.replay()
    torch.cuda.synchronize()
    assert float(total) == 5000 and float(sums[-1]) == 5000 and float(product) == 1 and bool(some)


def test_threads(torch):
    host = random(70001, "float32")
    there = torch.from_numpy(host).cuda()
    want, wrong = us.sum(host), []

    def work():
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(200):
                if not same_bits(us.sum(there).cpu().numpy(), want):
                    wrong.append(1)

    torch.cuda.synchronize()
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_torch_by_the_protocol(torch):
    """A PyTorch that shows no table of functions."""
    older = type("Tensor", (torch.Tensor,), {"__module__": "torch.older", "__dlpack_c_exchange_api__": None})
    host = random(70001, "float32")
    there = torch.from_numpy(host).cuda().as_subclass(older)
    for fold in (us.sum, us.cumulative_sum, us.mean):
        result = fold(there)
        assert result.is_cuda and same_bits(result.cpu().numpy(), fold(host))


def test_other_libraries(torch):
    """What shows its elements by __cuda_array_interface__ alone is folded to `out`."""
    host = random(1000, "float32")
    keeps = torch.from_numpy(host).cuda()
    there = OfCuda(keeps.data_ptr(), (1000,))
    out = torch.empty(1000, device="cuda")
    assert us.cumulative_sum(there, out=out) is out
    assert same_bits(out.cpu().numpy(), us.cumulative_sum(host))
    with pytest.raises(TypeError, match="pass out"):
        us.sum(there)
    with pytest.raises(ValueError, match="read-only"):
        us.cumulative_sum(keeps, out=OfCuda(out.data_ptr(), (1000,), is_read_only=True))
    with pytest.raises(TypeError, match="complex64"):
        us.sum(OfCuda(keeps.data_ptr(), (500,), "<c8"))


@needs_gpu
def test_arrays_of_jax_stay_as_they_are():
    kind = Jax()
    x = kind.put(np.ones(10, "float32"))
    with pytest.raises(ValueError, match="read-only"):
        us.cumulative_sum(x, out=x)
    y = us.sum(x) + 1  # JAX waits for what it is given
    assert float(y) == 11


def test_refusals(torch):
    x = torch.ones(6, device="cuda")
    with pytest.raises(TypeError, match="gradients"):
        us.max(torch.ones(3, device="cuda", requires_grad=True))
    with torch.no_grad():
        assert us.max(torch.ones(3, device="cuda", requires_grad=True)) == 1
    with pytest.raises(TypeError, match="DLPack"):
        us.sum(torch.ones(3, dtype=torch.complex64, device="cuda"))
    with pytest.raises(TypeError, match="GPU"):
        us.sum(x, out=np.zeros((), "float32"))
    with pytest.raises(TypeError, match="not converted"):
        us.cumulative_sum(x, out=torch.zeros(6, dtype=torch.float64, device="cuda"), dtype="float32")
    with pytest.raises(ValueError, match="shape"):
        us.cumulative_sum(x, out=torch.zeros(5, device="cuda"))
    with pytest.raises(ValueError, match="not finite"):
        us.histogram(x / 0)
    with pytest.raises(ValueError, match="negative"):
        us.bincount(torch.tensor([-1], device="cuda"))
    with pytest.raises(ValueError):
        us.max(x[:0])
    with pytest.raises(TypeError, match="weighted"):
        us.histogram(x, "auto", weights=x)
    with pytest.raises(ValueError, match="no axis"):
        us.cumulative_sum(x[0])


@needs_gpu
def test_targets(capsys):
    us.show_targets()
    assert _core.gpu_name() in capsys.readouterr().out
