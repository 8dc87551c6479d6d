# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Arrays in files: the bits of one call on all elements, whatever the files and the chunks are."""
import gzip
import pathlib
import sys
import types

import numpy as np
import pytest
import upsweep as us
from samples import DTYPES, random, same_bits

# Text and tables are read by the module that a machine without some libraries lacks.
has_readers = (pathlib.Path(us.__file__).parent / "_files.abi3.so").exists()
needs_readers = pytest.mark.skipif(not has_readers, reason="built without the readers of text")


def check_folds(opened, x):
    """Every fold of the opened array is that of x, to the bit."""
    for name in ("sum", "prod", "mean", "var", "any", "all", "min", "max"):
        with np.errstate(all="ignore"):
            assert same_bits(getattr(us, name)(opened), getattr(us, name)(x)), name
    assert same_bits(us.var(opened, correction=1), us.var(x, correction=1))
    assert same_bits(us.reduce(opened, "logical_or"), us.reduce(x, np.logical_or))
    assert us.partial(opened, "plus") == us.partial(x, "plus")
    assert us.partial(opened, "plus", start=5) == us.partial(x, "plus", start=5)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    import upsweep._chunked

    monkeypatch.setattr(upsweep._chunked, "_CHUNK_ELEMENTS", 1000)


@pytest.mark.parametrize("dtype", DTYPES)
def test_npy(tmp_path, dtype):
    x = random((70, 101), dtype)
    np.save(tmp_path / "x.npy", x)
    opened = us.open(tmp_path / "x.npy")
    assert opened.shape == x.shape and opened.dtype == x.dtype and "x.npy" in repr(opened)
    check_folds(opened, x)
    assert same_bits(np.asarray(opened), x)
    if np.dtype(dtype).kind in "iu":
        assert same_bits(us.sum(opened, dtype=np.int16), us.sum(x, dtype=np.int16))
    if dtype != "bool":  # whose bytes are read to be made 0 and 1
        assert same_bits(us.sum(opened, axis=0), us.sum(x, axis=0))
        assert same_bits(us.cumulative_sum(opened, axis=1), us.cumulative_sum(x, axis=1))


@needs_readers
def test_other_orders_of_memory_and_bytes(tmp_path):
    x = random((1300, 700), "float64")
    np.save(tmp_path / "f.npy", np.asfortranarray(x))
    np.save(tmp_path / "b.npy", x.astype(">f8"))
    np.savez(tmp_path / "z.npz", a=x, b=x[:3])
    for name in ("f.npy", "b.npy", "z.npz:a"):
        check_folds(us.open(tmp_path / name), x)
    with pytest.raises(TypeError, match="chunks"):
        us.cumulative_sum(us.open(tmp_path / "b.npy"), axis=0)


@needs_readers
def test_lists_and_raw_elements(tmp_path):
    x = random(300_001, "float32")
    x[:100_000].tofile(tmp_path / "a.f32")
    x[100_000:100_001].tofile(tmp_path / "b.bin")
    np.save(tmp_path / "c.npy", x[100_001:])
    opened = us.open([str(tmp_path / "a.f32"), str(tmp_path / "b.bin")], dtype="f4")
    check_folds(opened, x[:100_001])
    x[100_000:100_001].tofile(tmp_path / "b.f32")
    opened = us.open([tmp_path / "a.f32", tmp_path / "b.f32", tmp_path / "c.npy"])
    assert opened.shape == (300_001,)
    check_folds(opened, x)
    assert opened.missing is None
    np.save(tmp_path / "d.npy", x.astype(np.float64))
    with pytest.raises(ValueError, match="holds float64.*astype"):
        us.open([tmp_path / "a.f32", tmp_path / "d.npy"])
    with pytest.raises(ValueError, match="no files"):
        us.open([])


@pytest.mark.parametrize("dtype", ("float32", "float64", "int16", "uint64", "float16"))
def test_histogram(tmp_path, dtype):
    x = np.abs(random(5000, dtype, 3)) if dtype == "uint64" else random(5000, dtype, 3)
    x = np.clip(x, -1000, 1000).astype(dtype) if dtype != "uint64" else x
    np.save(tmp_path / "x.npy", x)
    opened = us.open(tmp_path / "x.npy")
    for arguments in ({}, {"bins": 37}, {"bins": 9, "range": (-3, 3)}, {"bins": [-2, 0, 0.5, 7]}, {"bins": 4, "density": True}):
        ours, whole = us.histogram(opened, **arguments), us.histogram(x, **arguments)
        assert same_bits(ours[0], whole[0]) and same_bits(ours[1], whole[1]) and ours.outside == whole.outside
    with pytest.raises(TypeError, match="rule"):
        us.histogram(opened, "auto")
    with pytest.raises(TypeError, match="weights"):
        us.histogram(opened, weights=x)


def test_bincount(tmp_path):
    x = np.random.default_rng(1).integers(0, 300, 5000)
    np.save(tmp_path / "x.npy", x)
    assert same_bits(us.bincount(us.open(tmp_path / "x.npy")), us.bincount(x))
    assert same_bits(us.bincount(us.open(tmp_path / "x.npy"), minlength=1000), us.bincount(x, minlength=1000))


@needs_readers
def test_text(tmp_path):
    x = random(200_000, "float64")
    text = "\n".join(map(repr, x.tolist()))
    (tmp_path / "x.txt").write_text(text)
    with gzip.open(tmp_path / "x.txt.gz", "wt") as file:
        file.write(text)
    for name in ("x.txt", "x.txt.gz"):
        opened = us.open(tmp_path / name)
        assert opened.dtype == np.float64 and opened.shape is None
        check_folds(opened, x)
    check_folds(us.open(tmp_path / "x.txt", dtype=np.float32), x.astype(np.float32))


@needs_readers
def test_tables(tmp_path):
    file = tmp_path / "x.csv"
    file.write_text("day;price\n1;2,5\n2;NA\n3;4,5\n4;nothing\n")
    opened = us.open(file, column="price", decimal=",", missing=["NA", "nothing"])
    assert us.sum(opened) == 7 and opened.missing == 2
    assert us.histogram(opened, [0, 3, 5]).values().tolist() == [1, 1]
    assert us.sum(us.open(file, column=0)) == 10 and us.open(file, column=0).dtype == np.int64
    integers = tmp_path / "i.csv"
    integers.write_text("day\n5\n")
    both = us.open([integers, file], column="day")
    assert us.sum(both) == 15 and both.dtype == np.int64 and both.missing == 0
    for arguments, message in (({}, "column"), ({"column": "weight"}, "weight"), ({"column": 7}, "8"),
                               ({"column": "price", "decimal": ",", "missing": False}, "line 3.*missing"),
                               ({"column": -1}, "counted from 0"), ({"delimiter": "ab"}, "one character"),
                               ({"format": "html"}, "there is no format")):
        with pytest.raises(ValueError, match=message):
            us.sum(us.open(file, **arguments))


@needs_readers
def test_what_takes_chunks_may_fail(tmp_path):
    """Exceptions pass through the threads of the readers."""
    (tmp_path / "x.txt").write_text("1 2 3\n" * 100_000)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            us.open(tmp_path / "x.txt").for_each(lambda chunk, _: 1 / 0)
    assert us.sum(us.open(tmp_path / "x.txt")) == 600_000


def test_refusals(tmp_path):
    with pytest.raises(FileNotFoundError):
        us.open(tmp_path / "none.npy")
    np.save(tmp_path / "x.npy", np.zeros((0, 3)))
    empty = us.open(tmp_path / "x.npy")
    assert us.sum(empty) == 0 and us.reduce(empty, "minimum", identity=7) == 7 and np.isnan(us.mean(empty))
    with pytest.raises(ValueError):
        us.min(empty)
    with pytest.raises(TypeError):
        us.sum(us.open(tmp_path / "x.npy"), dtype="i4")
    with pytest.raises(TypeError):
        us.reduce(empty, "bit_xor")


def test_without_readers(tmp_path, monkeypatch):
    """As in a build on a machine without the libraries of the readers."""
    monkeypatch.setitem(sys.modules, "upsweep._files", None)
    monkeypatch.delattr(us, "_files", raising=False)
    x = random((70, 101), "float32")
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "f.npy", np.asfortranarray(x))
    x.tofile(tmp_path / "x.raw")
    check_folds(us.open(tmp_path / "x.npy"), x)
    check_folds(us.open(tmp_path / "f.npy"), x)
    check_folds(us.open(tmp_path / "x.raw", format="raw", dtype="f4"), x.ravel())
    with pytest.raises(RuntimeError, match="install"):
        us.open(tmp_path / "x.npy", format="csv")


def test_progress(tmp_path, monkeypatch):
    told = []

    class Bar:
        def __init__(self, **arguments):
            told.append(arguments)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def update(self, size):
            told.append(size)

    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Bar))
    np.save(tmp_path / "x.npy", np.zeros(5000))
    us.sum(us.open(tmp_path / "x.npy", progress=True))
    assert told[0]["total"] == 40000 == sum(told[1:]) and not told[0]["disable"] and told[0]["desc"] == "sum x.npy"
    told.clear()
    us.sum(us.open(tmp_path / "x.npy", progress=False))
    assert not told


def test_arrow(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.feather
    import pyarrow.parquet

    x, y = random(5000, "float32"), np.arange(5000) % 7
    nulls = pa.array([None if value == 3 else int(value) for value in y])
    table = pa.table({"x": x, "y": nulls, "word": ["a"] * 5000, "flag": y > 2})
    pa.parquet.write_table(table, tmp_path / "t.parquet", row_group_size=700)
    pa.feather.write_feather(table, tmp_path / "t.feather", chunksize=900)
    for path in (tmp_path / "t.parquet", tmp_path / "t.feather", table):
        check_folds(us.open(path, column="x"), x)
        check_folds(us.open(path, column=3), y > 2)
        numbers = us.open(path, column="y")
        check_folds(numbers, y[y != 3])
        assert numbers.missing == (y == 3).sum()
        with pytest.raises(TypeError, match="string"):
            us.open(path, column="word")
        with pytest.raises(ValueError, match="'word'"):
            us.open(path)
    check_folds(us.open(table["x"]), x)
