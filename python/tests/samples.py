# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Arrays on which mistakes show: order matters, signs of zero and NaN occur, and no stride is the plain one."""
import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
DTYPES = ("bool", *INTEGERS, *FLOATS)
# The names of the canonical order's reference.
SHORT = {"bool": "bool", "float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16",
         **{f"{sign}int{bits}": f"{sign or 'i'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}}

# Around the borders of blocks, of vectors and of what one thread folds.
SIZES = (0, 1, 2, 3, 7, 8, 9, 31, 33, 127, 128, 129, 1000, 4095, 4096, 4097, 70001)


def random(size, dtype, seed=0):
    """Floats whose sum depends on the order; integers of the whole range."""
    rng = np.random.default_rng((seed, np.prod(size, dtype=int)))
    dtype = np.dtype(dtype)
    if dtype == bool:
        return rng.random(size) < 0.7
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, size, dtype, endpoint=True)
    with np.errstate(over="ignore"):
        return (rng.standard_normal(size) * np.exp(3 * rng.standard_normal(size))).astype(dtype)


def same_bits(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def arrays(dtypes=DTYPES, min_dims=0, max_dims=4, max_side=7, min_side=0):
    """Arrays behind views: sliced with steps of any sign, transposed, broadcast, in either order of memory."""
    return st.composite(_arrays)(dtypes, min_dims, max_dims, min_side, max_side)


def _arrays(draw, dtypes, min_dims, max_dims, min_side, max_side):
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    shape = draw(hnp.array_shapes(min_dims=min_dims, max_dims=max_dims, min_side=min_side, max_side=max_side))
    if len(shape) == 0:
        return random((), dtype, draw(st.integers(0, 99)))[()].reshape(())
    steps = [draw(st.sampled_from((1, 2, -1, -3))) for _ in shape]
    whole = tuple(extent * abs(step) for extent, step in zip(shape, steps))
    x = random(whole, dtype, draw(st.integers(0, 99)))
    x = np.asarray(x, order=draw(st.sampled_from("CF")))
    x = x[tuple(slice(None, None, step) for step in steps)]
    if draw(st.booleans()):
        x = x.transpose(draw(st.permutations(range(len(shape)))))
    if draw(st.integers(0, 4)) == 0:
        axis = draw(st.integers(0, x.ndim - 1))
        if x.shape[axis] > 0:
            x = np.broadcast_to(np.take(x, [0], axis), x.shape)
    return x
