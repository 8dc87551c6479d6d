# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""How arrays in memory of a GPU are made, of PyTorch, CuPy and JAX, and compared with those of the host."""
import os

import numpy as np
import pytest
import upsweep as us
from samples import same_bits
from upsweep import _core

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
HAS_GPU = _core.gpu_name() is not None
needs_gpu = pytest.mark.skipif(not HAS_GPU, reason="there is no GPU, or no engine for it")


class Kind:
    """How arrays of a library are made of NumPy's, and back. `has_views`: they are views of one another, and can be written."""

    has_views = True

    def __init__(self):
        self.module = pytest.importorskip(self.name)


class Torch(Kind):
    name = "torch"

    def put(self, a):
        if a.dtype.name == "bfloat16":
            return self.module.from_numpy(a.view(np.uint16)).cuda().view(self.module.bfloat16)
        return self.module.from_numpy(a).cuda()

    def get(self, x):
        x = x.cpu()
        if x.dtype == self.module.bfloat16:
            import ml_dtypes

            return x.view(self.module.uint16).numpy().view(ml_dtypes.bfloat16)
        return x.numpy()

    def is_own(self, x):
        return type(x) is self.module.Tensor and x.is_cuda

    def address(self, x):
        return x.data_ptr()


class CuPy(Kind):
    name = "cupy"

    def put(self, a):
        return self.module.asarray(a)

    def get(self, x):
        return x.get()

    def is_own(self, x):
        return type(x) is self.module.ndarray

    def address(self, x):
        return x.data.ptr


class Jax(Kind):
    name = "jax"
    has_views = False

    def __init__(self):
        super().__init__()
        self.module.config.update("jax_enable_x64", True)

    def put(self, a):
        return self.module.device_put(a, self.module.devices("gpu")[0])

    def get(self, x):
        return np.asarray(x)

    def is_own(self, x):
        return isinstance(x, self.module.Array) and x.device.platform == "gpu"


@pytest.fixture(params=(Torch, CuPy, Jax), ids=lambda kind: kind.name, scope="module")
def kind(request):
    if not HAS_GPU:
        pytest.skip("there is no GPU, or no engine for it")
    return request.param()


@pytest.fixture(scope="module")
def torch():
    if not HAS_GPU:
        pytest.skip("there is no GPU, or no engine for it")
    return pytest.importorskip("torch")


REDUCTIONS = (us.sum, us.prod, us.min, us.max, us.any, us.all, us.mean)
SCANS = (us.cumulative_sum, us.cumulative_prod, us.cummin, us.cummax, us.logcumsumexp)


def agree(kind, call, host, there, why=""):
    """The call on both has the same bits, and the same error where there is one."""
    try:
        want = call(host)
    except (TypeError, ValueError) as error:
        with pytest.raises(type(error)):
            call(there)
        return
    got = call(there)
    assert kind.is_own(got), (type(got), why)
    assert same_bits(kind.get(got), want), (kind.get(got), want, why)


def all_of(kind, call, *hosts):
    """The call on arrays there, each of which results has the bits of the one on arrays here."""
    want, got = call(*hosts), call(*map(kind.put, hosts))
    for one, other in zip(want if isinstance(want, tuple) else (want,), got if isinstance(got, tuple) else (got,)):
        assert kind.is_own(other) and same_bits(kind.get(other), one), (kind.get(other), one)
