# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
import pickle
import threading

import numpy as np
import partial as reference
import pytest
import upsweep as us
from hypothesis import given
from hypothesis import strategies as st
from samples import DTYPES, SHORT, random, same_bits


@given(st.integers(1, 3000), st.lists(st.floats(0, 1), max_size=5), st.randoms(), st.sampled_from(DTYPES),
       st.sampled_from(("plus", "multiplies", "minimum", "logical_or")))
def test_pieces_in_any_order(size, cuts, order, dtype, op):
    x = random(size, dtype)
    ends = sorted({int(cut * size) for cut in cuts} | {0, size})
    pieces = [us.partial(x[begin:end], op, start=begin) for begin, end in zip(ends, ends[1:])]
    order.shuffle(pieces)
    whole = pieces[0]
    for piece in pieces[1:]:
        whole.merge(pickle.loads(pickle.dumps(piece)))
    assert same_bits(whole.value(), us.reduce(x, op))
    assert whole == us.partial(x, op) and bytes(whole) == bytes(us.partial(x, op))
    assert whole.count == size


def test_what_it_says_of_itself():
    p = us.partial(None, "plus", dtype="f4")
    assert p.count == 0 and p.op == "plus" and p.dtype == np.float32 and p.value() == 0
    p.feed(np.ones(5, np.float32), 0)
    p.feed(np.ones((2, 3), np.float32).T, start=5)
    assert p.value() == 11 and "11 elements" in repr(p)
    assert p != us.partial(np.ones(11), "plus") and p != 11
    again = us.partial.from_bytes(bytes(p))
    assert again == p and again.op == p.op and again.dtype == p.dtype
    with pytest.raises(TypeError):
        hash(p)


@pytest.mark.parametrize("dtype", ("float16", "float32", "int8", "bool"))
def test_bytes_of_the_reference(dtype):
    x = random(1000, dtype)
    want = reference.partial_of(x[3:777], 3, "plus", SHORT[dtype])
    assert bytes(us.partial(x[3:777], "plus", start=3)) == reference.to_bytes(want, "plus", SHORT[dtype])


def test_refusals_change_nothing():
    x = random(100, "float64")
    p = us.partial(x[:50], "plus")
    before = bytes(p)
    with pytest.raises(ValueError, match="element 45"):
        p.feed(x[:10], 45)
    with pytest.raises(ValueError):
        p.merge(us.partial(x[40:60], "plus", start=40))
    with pytest.raises(ValueError):
        p.merge(p)
    with pytest.raises(ValueError):
        p.merge(us.partial(x[60:], "maximum", start=60))
    with pytest.raises(ValueError):
        p.feed(x.astype(np.float32), 60)
    assert bytes(p) == before
    with pytest.raises(ValueError):
        us.partial(x[50:], "plus", start=50).value()
    with pytest.raises(ValueError, match="byte"):
        us.partial.from_bytes(before[:-1])
    with pytest.raises(TypeError):
        us.partial(None, "plus")
    with pytest.raises(TypeError):
        us.partial(None, "bit_xor", dtype="f4")


def test_threads_share_a_partial():
    x = random(1 << 18, "float32")
    size = 1 << 13
    p = us.partial(None, "plus", dtype=x.dtype)

    def fold(first):
        for begin in range(first, len(x), 4 * size):
            p.feed(x[begin:begin + size], begin)

    threads = [threading.Thread(target=fold, args=(k * size,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert same_bits(p.value(), us.sum(x))
