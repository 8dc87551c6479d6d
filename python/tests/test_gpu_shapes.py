# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Segments, runs of keys, selections, images and recurrences of arrays in memory of a GPU: the bits of the CPU."""
import numpy as np
import pytest
import upsweep as us
from gpu_arrays import agree, all_of, kind, torch  # noqa: F401, of which pytest makes fixtures
from samples import DTYPES, random, same_bits

VALUES = ("int32", "int64", "float32", "float64")


@pytest.mark.parametrize("dtype", DTYPES)
def test_segments(kind, dtype):
    for size, segments in ((0, 3), (1, 1), (1000, 300), (70001, 9), (300_000, 40_000), (300_000, 1)):
        host = random(size, dtype)
        rng = np.random.default_rng(size)
        offsets = np.sort(rng.integers(0, size + 1, segments + 1))
        for op in ("plus", "multiplies", "minimum", "maximum", "logical_or"):
            all_of(kind, lambda x, at: us.segment_reduce(x, at, op), host, offsets)
        all_of(kind, lambda x, at: us.segment_reduce(x, at, "plus"), host, offsets.astype("int32"))
        agree(kind, lambda x: us.segment_reduce(x, offsets.tolist(), "plus"), host, kind.put(host))
        all_of(kind, lambda x, at: us.segment_scan(x, at, "plus", dtype=dtype), host, offsets)
        for how in ({}, {"exclusive": True}, {"initial": 1}, {"exclusive": True, "initial": 1}):
            all_of(kind, lambda x, at: us.segment_scan(x, at, "maximum", **how), host, offsets)


@pytest.mark.parametrize("dtype", (*VALUES, "uint8", "float16"))
def test_rows_and_columns_of_few_elements(kind, dtype):
    """From the beginning of an array on, and from within a vector of memory."""
    for few in (2, 3, 4):
        for rows in (1, 300, 5000):
            line = random(rows * few + few, dtype)
            for first in (0, few - 1):
                for axis in (0, 1):
                    def of_few(x):
                        return x[first : first + rows * few].reshape(rows, few)

                    all_of(kind, lambda x: us.sum(of_few(x), axis=axis), line)
                    all_of(kind, lambda x: us.max(of_few(x), axis=axis), line)
                    all_of(kind, lambda x: us.cumulative_sum(of_few(x), axis=axis, dtype=dtype), line)


@pytest.mark.parametrize("dtype", ("int8", "uint16", "int32", "float32", "float64"))
def test_more_rows_than_a_gpu_has_warps(kind, dtype):
    """A warp folds one after the other."""
    for rows, columns in ((20_000, 120), (10_000, 1000)):
        values = random(rows * columns, dtype)
        for call in (us.sum, us.max, us.argmin):
            all_of(kind, lambda x, call=call: call(x.reshape(rows, columns), axis=1), values)


@pytest.mark.parametrize("dtype", DTYPES)
def test_very_many_rows(kind, dtype):
    """Rows of which a lane has one: of several lengths modulo a word, from every place in one on, without gaps and as parts of larger arrays."""
    itemsize = np.dtype(dtype).itemsize
    for columns in (1, 5, 33, 100) + (257,) * (itemsize < 4):
        rows = 2 * max(8192, 32 * columns * itemsize) + 7
        array = random(rows * (columns + 3), dtype).reshape(rows, columns + 3)
        without_gaps = np.ascontiguousarray(array[:, :columns])
        for source, part in ((without_gaps, lambda x: x), (array, lambda x: x[:, 1:-2]), (array, lambda x: x[::2, 3:])):
            for call in (us.sum, us.max, us.prod, us.any, us.argmin, us.cumulative_sum):
                all_of(kind, lambda x, call=call, part=part: call(part(x), axis=1), source)
            if dtype != "bool":
                all_of(kind, lambda x, part=part: us.var(part(x), axis=1), source)


@pytest.mark.parametrize("dtype", DTYPES)
def test_truths_of_lines(kind, dtype):
    """What has a bit is true, NaN and the least number of all too, but for a zero with a sign."""
    zero, one = np.zeros(1, dtype)[0], np.ones(1, dtype)[0]
    specials = [zero, one]
    if np.dtype(dtype).kind == "f":
        specials += [-zero, np.array(np.nan, dtype), np.array(-np.inf, dtype), np.nextafter(zero, one), -np.nextafter(zero, one)]
    elif np.dtype(dtype).kind in "iu":
        specials += [np.array(np.iinfo(dtype).min, dtype), np.array(np.iinfo(dtype).max, dtype)]
    for columns in (3, 40, 128, 512, 1000, 1024):
        # A row for each number among zeros, and among ones, and for nothing else; and a column for each.
        rows = [np.full(columns, fill, dtype) for fill in (zero, one) for _ in range(3 * len(specials))]
        for number, row in enumerate(rows):
            row[(columns - 1, 0, columns // 2)[number % 3]] = specials[number // 3 % len(specials)]
        in_rows = np.stack(rows * (600 // len(rows) + 1))
        for array, axis in ((in_rows, 1), (in_rows[:, 1:], 1), (np.ascontiguousarray(in_rows.T), 0)):
            for call, of_numpy in ((us.any, np.any), (us.all, np.all)):
                all_of(kind, lambda x, call=call, axis=axis: call(x, axis=axis), array)
                assert np.array_equal(call(array, axis=axis), of_numpy(array != 0, axis=axis))


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_and_bits_of_lines(kind, dtype):
    """Of numbers of which most change little, so that a result tells of each element."""
    rng = np.random.default_rng(1)
    kind_of_number = np.dtype(dtype).kind
    for columns in (3, 100, 256, 512, 1000, 1024):
        numbers = random(600 * columns, dtype).reshape(600, columns)
        few = rng.random(numbers.shape) < 1 / 300
        cases = {"minimum": numbers, "maximum": numbers}
        if kind_of_number in "iu":
            ones = np.array(-1).astype(dtype)
            cases |= {"multiplies": numbers | np.array(1, dtype), "bit_xor": numbers, "bit_and": np.where(few, numbers, ones),
                      "bit_or": np.where(few, numbers, np.array(0, dtype))}
        elif kind_of_number == "f":
            cases["multiplies"] = np.where(numbers < 0, -1.0078125, 1.0).astype(dtype)
        else:
            cases["multiplies"] = few | True
        for op, array in cases.items():
            for axis in (0, 1):
                all_of(kind, lambda x, op=op, axis=axis: us.reduce(x, op, axis=axis), array)


@pytest.mark.parametrize("dtype, length", (("float32", 1 << 25), ("float16", (1 << 23) + 77), ("uint8", (1 << 24) + 3)))
def test_scans_of_few_long_rows(torch, dtype, length):
    """They are scanned as arrays are, one after the other; rows that are a little shorter are not."""
    for rows, columns in ((2, length), (2, length - 100), (1, length)):
        host = random(rows * columns, dtype).reshape(rows, columns)
        there = torch.from_numpy(host).cuda()
        for how in ({}, {"exclusive": True, "initial": 1}):
            scans = us.scan(there, "plus", axis=1, dtype=dtype, **how)
            assert same_bits(scans.cpu().numpy(), us.scan(host, "plus", axis=1, dtype=dtype, **how)), (rows, columns, how)


def keys_of(size, run, dtype="int64"):
    """Runs of as many keys in the mean."""
    return np.cumsum(np.random.default_rng(size).random(size) < 1 / run).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_keys(kind, dtype):
    for size, run in ((0, 1), (1, 1), (1000, 3), (70001, 1), (70001, 20), (300_000, 5000)):
        values = random(size, dtype)
        for kind_of_key in ("int32", "int64", "uint8"):
            keys = keys_of(size, run, kind_of_key)
            for op in ("plus", "multiplies", "minimum", "maximum", "logical_and"):
                all_of(kind, lambda k, x: us.reduce_by_key(k, x, op), keys, values)
            all_of(kind, lambda k, x: us.scan_by_key(k, x, "plus", dtype=dtype), keys, values)
            for how in ({}, {"exclusive": True}, {"initial": 1}, {"exclusive": True, "initial": 1}):
                all_of(kind, lambda k, x: us.scan_by_key(k, x, "maximum", **how), keys, values)
        keys = keys_of(size, run, dtype)
        if size:
            keys[-1] = keys[0]
        all_of(kind, us.run_length_encode, keys)
        all_of(kind, lambda k: us.run_length_decode(*us.run_length_encode(k)), keys)


@pytest.mark.parametrize("dtype", ("float16", "float32", "float64"))
def test_keys_that_are_floats(kind, dtype):
    """Runs of zeros of both signs are one, NaN is a run of its own; the first key of each is kept as it is."""
    for size, run in ((0, 1), (1, 1), (1000, 3), (70001, 1), (70001, 20), (300_000, 5000)):
        rng = np.random.default_rng(size)
        keys = np.array([0.0, -0.0, 2.5, np.nan, -np.inf, 1e-7], dtype)[keys_of(size, run) * 7 % 6]
        keys[rng.random(size) < 0.1] *= -1
        values = random(size, "float32")
        for op in ("plus", "maximum"):
            all_of(kind, lambda k, x: us.reduce_by_key(k, x, op), keys, values)
            all_of(kind, lambda k, x: us.scan_by_key(k, x, op), keys, values)
        all_of(kind, lambda k, x: us.scan_by_key(k, x, "plus", exclusive=True, initial=1), keys, values)
        all_of(kind, us.run_length_encode, keys)


@pytest.mark.parametrize("dtype", DTYPES)
def test_selections(kind, dtype):
    for shape in ((0,), (1,), (70001,), (300, 301)):
        host = random(shape, dtype)
        for share in (0, 0.01, 0.5, 1):
            mask = np.random.default_rng(1).random(shape) < share
            all_of(kind, us.select, host, mask)
            all_of(kind, lambda x, m: us.partition(x, m)[0], host, mask)
            assert us.partition(kind.put(host), kind.put(mask))[1] == mask.sum()


@pytest.mark.parametrize("dtype", (*VALUES, "uint8", "float16"))
def test_images_and_differences(kind, dtype):
    all_of(kind, us.integral_image, np.zeros((0, 5), dtype))
    for shape in ((4, 3), (70, 301), (3, 64, 65)):
        host = random(shape, dtype)
        all_of(kind, us.integral_image, host)
        for how in ({}, {"axis": 0}, {"n": 2}, {"prepend": 0}, {"axis": 0, "append": 3}):
            with np.errstate(over="ignore"):
                all_of(kind, lambda x: us.diff(x, **how), host)
    all_of(kind, lambda x: us.integral_image(x, dtype="float64"), random((9, 9), "float32"))


IMAGES = ((1, 1), (1, 5000), (2500, 200), (100, 33, 257), (2, 1100, 300), (7, 1, 3, 330, 2100), (70000, 3), (3, 70000), (2, 0, 5))


@pytest.mark.parametrize("dtype", (*VALUES, "uint8", "float16", "int8", "bool"))
def test_images_of_all_sizes(kind, dtype):
    """By bands in one pass, and by two scans, where the elements lie."""
    for shape in IMAGES:
        host = random(shape, dtype)
        all_of(kind, us.integral_image, host)
        all_of(kind, lambda x: us.integral_image(x[..., 1:]), host)
        all_of(kind, lambda x: us.integral_image(x[..., :-1]), host)
        all_of(kind, lambda x: us.integral_image(x[..., ::2]), host)
    host = random((400, 300), dtype)
    all_of(kind, lambda x: us.integral_image(x.T), host)
    for wide in ("float32", "float64"):
        all_of(kind, lambda x: us.integral_image(x, dtype=wide), random((90, 130, 201), dtype))


def test_images_in_place(torch):
    for columns in (256, 257):
        x = torch.rand(2100, columns, device="cuda")
        want = us.integral_image(x.cpu())
        assert us.integral_image(x, out=x) is x and same_bits(x.cpu().numpy(), want.numpy())


@pytest.mark.parametrize("dtype", ("uint8", "int32", "float32"))
def test_rectangles(kind, dtype):
    sums = us.integral_image(np.random.default_rng(1).integers(0, 9, (3, 40, 50)).astype(dtype))
    there = kind.put(sums)
    begin, end = np.array([0, 3, 7, 40]), np.array([0, 9, 40, 40])
    for rows, columns in (((0, 40), (0, 50)), ((3, 9), (7, 8)), ((5, 5), (0, 3)), ((begin, end), (begin, end))):
        agree(kind, lambda x: us.rectangle_sum(x, rows, columns), sums, there, (rows, columns))
    with pytest.raises(ValueError, match="not within"):
        us.rectangle_sum(there, (0, 41), (0, 3))


@pytest.mark.parametrize("dtype", ("float32", "float64", "float16"))
def test_recurrences(kind, dtype):
    for shape, axis in (((0,), 0), ((1,), 0), ((70001,), 0), ((3, 5000), 1), ((5000, 3), 0), ((4, 300, 5), 1), ((2, 3, 4, 50), -1), ((77, 2500), 0), ((77, 40_000), 0)):
        a, b = (random(shape, dtype, k).clip(-1, 1) for k in (1, 2))
        lines = np.asarray(random(tuple(np.delete(shape, axis)), dtype, 3))
        for reverse in (False, True):
            for initial in (None, 0.5):
                all_of(kind, lambda a, b: us.linear_recurrence(a, b, initial=initial, axis=axis, reverse=reverse), a, b)
            all_of(kind, lambda a, b, h: us.linear_recurrence(a, b, initial=h, axis=axis, reverse=reverse), a, b, lines)
        all_of(kind, lambda b: us.linear_recurrence(0.5, b, axis=axis), b)
    all_of(kind, lambda a, b: us.linear_recurrence(a, b, axis=1), random((300, 1), dtype).clip(-1, 1), random((300, 200), dtype))
    a, b = (random((70, 300), dtype, k).clip(-1, 1) for k in (1, 2))
    all_of(kind, lambda a, b: us.linear_recurrence(a.T, b.T, axis=0), a, b)


def test_recurrences_without_copies(torch):
    a, b, out = (torch.rand(3, 5000, device="cuda") for _ in range(3))
    want = us.linear_recurrence(a.cpu(), b.cpu(), axis=1)
    assert us.linear_recurrence(a, b, axis=1, out=out) is out and same_bits(out.cpu().numpy(), want.numpy())
    us.linear_recurrence(a, b, axis=1, out=b)
    assert same_bits(b.cpu().numpy(), want.numpy())
    half, to = a.bfloat16(), torch.empty_like(a, dtype=torch.bfloat16)
    want = us.linear_recurrence(half.cpu(), half.cpu(), axis=1)
    assert us.linear_recurrence(half, half, axis=1, out=to) is to and torch.equal(to.cpu(), want)
    assert torch.equal(us.linear_recurrence(0.9, half, axis=1).cpu(), us.linear_recurrence(0.9, half.cpu(), axis=1))  # 0.9 is not rounded


def test_gradients_there(torch):
    """The same operators as in memory of the host, whose gradients have the same bits where they are folds."""
    offsets = torch.tensor([0, 3, 300, 1000])
    for call in (lambda x: us.cumulative_sum(x), lambda x: us.linear_recurrence(0.5, x), lambda x: us.integral_image(x.view(10, 100)),
                 lambda x: us.segment_reduce(x, offsets, "plus"), lambda x: us.logcumsumexp(x),
                 lambda x: us.logcumsumexp(x.view(10, 100), axis=0), lambda x: us.logcumsumexp(x.view(10, 100), axis=1)):
        here = torch.randn(1000, dtype=torch.float64, requires_grad=True)
        there = here.detach().cuda().requires_grad_()
        (call(here) ** 2).sum().backward()
        (call(there) ** 2).sum().backward()
        assert torch.allclose(here.grad, there.grad.cpu(), rtol=1e-9)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_log_sum_exp_of_segments_and_runs(torch, dtype):
    """Logarithms of sums of exponentials, with the bits of the CPU."""
    rng = np.random.default_rng()
    x = (rng.standard_normal(20001) * 9).astype(dtype)
    offsets = np.concatenate([[0, 0, 1], np.sort(rng.integers(1, len(x), 99)), [len(x)]])
    keys = np.repeat(np.arange(len(offsets) - 1, dtype="int32"), np.diff(offsets))
    there = torch.from_numpy(x).cuda()
    for wide in (False, True):
        at, of_keys = torch.from_numpy(offsets).cuda(), torch.from_numpy(keys.astype("int64") if wide else keys).cuda()
        for host, device in ((us.segment_reduce(x, offsets, "log_sum_exp"), us.segment_reduce(there, at, "log_sum_exp")),
                             (us.segment_scan(x, offsets, "log_sum_exp"), us.segment_scan(there, at, "log_sum_exp")),
                             (us.segment_scan(x, offsets, "log_sum_exp", exclusive=True),
                              us.segment_scan(there, at, "log_sum_exp", exclusive=True)),
                             (us.reduce_by_key(keys, x, "log_sum_exp")[1], us.reduce_by_key(of_keys, there, "log_sum_exp")[1]),
                             (us.scan_by_key(keys, x, "log_sum_exp"), us.scan_by_key(of_keys, there, "log_sum_exp"))):
            assert host.dtype == x.dtype and np.asarray(host).tobytes() == device.cpu().numpy().tobytes()


def test_shapes_that_have_no_kernel(torch):
    """Each refusal says what there is."""
    x, at, mask = torch.ones(6, device="cuda"), torch.tensor([0, 2, 6], device="cuda"), torch.ones(6, dtype=torch.bool, device="cuda")
    for call, words in (
            (lambda: us.reduce_by_key(at, np.ones(3), "plus"), "lies in memory of the host"), (lambda: us.select(x, x), "not of bool"),
            (lambda: us.linear_recurrence(x, np.ones(6)), "lies in memory of the host"),
            (lambda: us.linear_recurrence(x, torch.arange(6, device="cuda")), "float32 or float64")):
        with pytest.raises(TypeError, match=words):
            call()
    for call in (lambda: us.segment_reduce(x, at.flip(0), "plus"), lambda: us.segment_reduce(x, [0, 7], "plus"),
                 lambda: us.segment_reduce(x, at - 1, "plus"), lambda: us.run_length_decode(x[:3], at - 1), lambda: us.select(x, mask[1:]),
                 lambda: us.linear_recurrence(x, x[1:]), lambda: us.linear_recurrence(x.view(2, 3), x.view(2, 3))):
        with pytest.raises(ValueError):
            call()
