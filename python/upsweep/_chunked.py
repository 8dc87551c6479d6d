# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Arrays in files, which need not fit in memory: upsweep.open, and the folds of what it gives."""
from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from upsweep import _core
from upsweep._histogram import Histogram, densities
from upsweep._pieces import Bins, Fold, MeanFold, merged

_ARROW_FILES = (".parquet", ".arrow", ".feather", ".ipc")
_CHUNK_ELEMENTS = 1 << 23

# take(elements, what they take in the file in bytes, records without a value)
_Take = Callable[[np.ndarray, int, int], None]


def open(path: Any, /, *, dtype: npt.DTypeLike | None = None, format: str | None = None, column: int | str | None = None,
         delimiter: str | None = None, header: bool | None = None, missing: bool | Sequence[str] = True, comment: str = "",
         skip_lines: int = 0, decimal: str = ".", progress: bool | None = None) -> ChunkedArray:
    """Open a file, or several as one array, to be folded in chunks that need not fit in memory together.

    Parameters
    ----------
    path : str, os.PathLike, list of them, or an Array, ChunkedArray or Table of pyarrow
        .npy (mapped), .npz, raw elements, text, CSV, Parquet, Arrow and Feather. What gzip, zstd, xz or bzip2 have compressed is
        decompressed on the way. "x.npz:a" is the member a of x.npz, "-" is standard input.
    dtype : dtype, optional
        Of raw elements, unless the extension names it, as in "x.f32"; or of the numbers in a text, which are int64 by default if
        all are integers that fit, else uint64, else float64.
    format : 'npy', 'raw', 'text' or 'csv', optional
        Otherwise found by the extension, or by the first bytes.
    column : int or str, optional
        The column of a table, counted from 0, or by name. May be left out where there is only one.
    delimiter : str, optional
        One character between the fields of a record; a space for any number of spaces and tabs. Found by default.
    header : bool, optional
        Whether the first record names the columns. Found by default.
    missing : bool or sequence of str
        Words that stand for no value: such records are passed over, and counted. True for those that pandas knows, and "-"; False for
        none: then each record has a value. The nulls of Parquet and Arrow are always passed over.
    comment : str
        Lines that begin so are passed over.
    skip_lines : int
        So many lines before the table are passed over.
    decimal : str
        The decimal point.
    progress : bool, optional
        Whether to show a progress bar, by the package tqdm. By default where tqdm is installed, standard error is a terminal, and
        the work takes longer than half a second.

    Returns
    -------
    ChunkedArray
        For sum, prod, min, max, any, all, mean, var, reduce, histogram, bincount and partial, all of which have the bits of one call
        on all elements; and for every function, if it is a single mapped array.

    Examples
    --------
    >>> import numpy as np, upsweep as us, tempfile, os
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = os.path.join(folder.name, "big.npy")
    >>> np.save(file, np.arange(12.0).reshape(3, 4))
    >>> x = us.open(file)
    >>> x  # doctest: +ELLIPSIS
    upsweep.open('...big.npy'): float64, shape (3, 4)
    >>> us.sum(x), us.max(x)
    (np.float64(66.0), np.float64(11.0))
    >>> us.sum(x, axis=0)
    array([12., 15., 18., 21.])
    >>> folder.cleanup()
    """
    table = {"column": column, "delimiter": delimiter, "header": header, "missing": missing, "comment": comment,
             "skip_lines": skip_lines, "decimal": decimal}
    paths = path if isinstance(path, (list, tuple)) else [path]
    if not paths:
        raise ValueError("open: there are no files; name one")
    sources = [_source_of(one, dtype, format, table) for one in paths]
    _agree(sources)
    return ChunkedArray(sources, progress)


def _source_of(path: Any, dtype: npt.DTypeLike | None, format: str | None, table: dict[str, Any]) -> _Source:
    if type(path).__module__.partition(".")[0] == "pyarrow":
        return _arrow_object(path, table["column"])
    path = os.fspath(path)
    if path != "-" and ":" not in path:
        os.stat(path)  # FileNotFoundError, as open() raises it
    if format is None and path.lower().endswith(_ARROW_FILES):
        source: _Source = _arrow_file(path, table["column"])
    else:
        source = _file(path, dtype, format, table)
    if dtype is not None and source.dtype != np.dtype(dtype):
        raise ValueError(f"open: {path}: holds {source.dtype}, not {np.dtype(dtype)}; leave dtype out")
    return source


def _agree(sources: list[_Source]) -> None:
    """Numbers that are written out have the type of the others. Integers in one file and fractions in another are all float64."""
    if all(source.dtype == sources[0].dtype for source in sources):
        return
    arrays = [source for source in sources if not source.is_written_out]
    dtype = arrays[0].dtype if arrays else np.dtype(np.float64)
    for source in sources:
        if source.is_written_out:
            source.read_as(dtype)
        if source.dtype != dtype:
            raise ValueError(f"open: {source.name}: holds {source.dtype}, but {arrays[0].name} holds {dtype}; convert one with "
                             "a.astype(...)")


# --- where elements come from -------------------------------------------------------------------------------------------------


class _Source:
    """One file: elements in C order."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...] | None = None  # None where it is not known
    bytes: int | None  # that reading it takes
    array: np.ndarray | None = None  # all elements, where they lie in a mapped file
    is_table = False
    is_written_out = False  # whether the type of the numbers in a text was found

    def read_as(self, dtype: np.dtype) -> None:
        raise NotImplementedError

    def read(self, take: _Take) -> None:
        raise NotImplementedError

    def keep(self) -> None:
        """Have it kept if it could be read only once."""


class _ReaderSource(_Source):
    """By the readers that the command has."""

    def __init__(self, reader: Any):
        self._reader = reader
        self.name = reader.name
        self.dtype = _dtype_named(reader.dtype)
        self.shape = reader.shape if reader.shape is not None else None if reader.count is None else (reader.count,)
        self.bytes = reader.bytes
        self.is_table = reader.is_table
        self.is_written_out = reader.read_as(reader.dtype)
        mapped = reader.mapped_bytes()
        if mapped is not None:
            self.array = mapped.view(self.dtype).reshape(self.shape)

    def read_as(self, dtype: np.dtype) -> None:
        self._reader.read_as(dtype.name)
        self.dtype = dtype

    def read(self, take: _Take) -> None:
        self._reader.read(lambda elements, size, missing: take(np.frombuffer(elements, self.dtype), size, missing))

    def keep(self) -> None:
        self._reader.keep()


class _ArraySource(_Source):
    """By NumPy, where the package was built without these readers."""

    def __init__(self, name: str, array: np.ndarray):
        self.name, self.array, self.dtype, self.shape, self.bytes = name, array, array.dtype, array.shape, array.nbytes

    def read(self, take: _Take) -> None:
        for first in range(0, self.array.size, _CHUNK_ELEMENTS):
            chunk = self.array.reshape(-1)[first:first + _CHUNK_ELEMENTS] if self.array.flags.c_contiguous else \
                self.array.flat[first:first + _CHUNK_ELEMENTS]
            take(chunk, chunk.nbytes, 0)


def _file(path: str, dtype: npt.DTypeLike | None, format: str | None, table: dict[str, Any]) -> _Source:
    for name in ("delimiter", "decimal"):
        if table[name] is not None and (len(table[name]) != 1 or not table[name].isascii()):
            raise ValueError(f"open: {name} is {table[name]!r}; pass one character of ASCII")
    try:
        from upsweep import _files
    except ImportError:
        if format in (None, "npy") and path.lower().endswith(".npy"):
            return _ArraySource(path, np.load(path, mmap_mode="r"))
        if format == "raw" and dtype is not None:
            return _ArraySource(path, np.memmap(path, dtype, "r"))
        raise RuntimeError(f"open: {path}: this build reads .npy, and raw elements by format='raw' and dtype; install libfmt-dev, "
                           "libfast-float-dev, zlib1g-dev, liblzma-dev, libbz2-dev, libzstd-dev and pkg-config, and the package "
                           "again") from None
    missing, column = table["missing"], table["column"]
    if not isinstance(missing, bool):
        missing = ",".join(missing)
    elif missing:
        missing = _files.usual_missing
    else:
        missing = None
    if isinstance(column, (int, np.integer)):
        if column < 0:
            raise ValueError("open: columns are counted from 0; pass one of them, or a name")
        column = str(column + 1)
    return _ReaderSource(_files.file_reader(path, **{
        **table, "dtype": None if dtype is None else np.dtype(dtype).name, "format": format, "column": column,
        "missing": missing}))


def _dtype_named(name: str) -> np.dtype:
    if name == "bfloat16":
        try:
            import ml_dtypes
        except ImportError:
            raise RuntimeError("open: bfloat16 is a dtype of the package ml_dtypes; install it") from None
        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


class _ArrowSource(_Source):
    """A column by pyarrow, whose nulls are passed over."""

    is_table = True

    def __init__(self, name: str, type: Any, rows: int, batches: Callable[[], Iterable[Any]]):
        import pyarrow

        is_number = pyarrow.types.is_integer(type) or pyarrow.types.is_floating(type) or pyarrow.types.is_boolean(type)
        if not is_number:
            raise TypeError(f"open: {name}: holds {type}, which is no number; choose another column")
        self.name = name
        self.dtype = np.dtype(type.to_pandas_dtype())
        self.bytes = rows * self.dtype.itemsize
        self._batches = batches

    def read(self, take: _Take) -> None:
        for column in self._batches():
            elements = column.drop_null() if column.null_count else column
            take(elements.to_numpy(zero_copy_only=False), len(column) * self.dtype.itemsize, column.null_count)


def _chosen_column(name: str, names: list[str], column: int | str | None) -> int:
    if column is None and len(names) == 1:
        return 0
    if isinstance(column, (int, np.integer)) and 0 <= column < len(names):
        return int(column)
    if names.count(column) == 1:
        return names.index(column)
    told = "has several columns" if column is None else f"has no column {column!r}"
    raise ValueError(f"open: {name}: {told}; choose one with column: {', '.join(map(repr, names))}")


def _arrow_file(path: str, column: int | str | None) -> _Source:
    try:
        import pyarrow
    except ImportError:
        raise RuntimeError(f"open: {path}: Parquet and Arrow are read by the package pyarrow; install it") from None
    if path.lower().endswith(".parquet"):
        import pyarrow.parquet

        file = pyarrow.parquet.ParquetFile(path, memory_map=True)
        k = _chosen_column(path, file.schema_arrow.names, column)
        chosen = file.schema_arrow.field(k)
        return _ArrowSource(path, chosen.type, file.metadata.num_rows,
                            lambda: (batch.column(0) for batch in file.iter_batches(_CHUNK_ELEMENTS // 8, columns=[chosen.name])))
    import pyarrow.ipc

    reader = pyarrow.ipc.open_file(pyarrow.memory_map(path))
    k = _chosen_column(path, reader.schema.names, column)
    batches = range(reader.num_record_batches)
    rows = sum(reader.get_batch(i).num_rows for i in batches)
    return _ArrowSource(path, reader.schema.field(k).type, rows, lambda: (reader.get_batch(i).column(k) for i in batches))


def _arrow_object(x: Any, column: int | str | None) -> _Source:
    import pyarrow

    if isinstance(x, (pyarrow.Table, pyarrow.RecordBatch)):
        x = x.column(_chosen_column("the table", x.schema.names, column))
    if not isinstance(x, (pyarrow.Array, pyarrow.ChunkedArray)):
        raise TypeError(f"open: {type(x).__name__} is no array of pyarrow; pass an Array, a ChunkedArray or a Table")
    chunks = x.chunks if isinstance(x, pyarrow.ChunkedArray) else [x]
    return _ArrowSource("the column", x.type, len(x), lambda: chunks)


# --- the array ------------------------------------------------------------------------------------------------------------------


class ChunkedArray:
    """An array in files, whose elements come in chunks: what upsweep.open gives.

    Attributes
    ----------
    dtype : numpy.dtype
    shape : tuple of int, or None
        None where the elements have not been counted, as those of text and tables.
    missing : int or None
        How many records of tables had no value, and were passed over, when all were last read. None before.

    Examples
    --------
    >>> import upsweep as us, tempfile, os
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = os.path.join(folder.name, "prices.csv")
    >>> with open(file, "w") as out:
    ...     _ = out.write("day,price\\n1,2.5\\n2,\\n3,4.5\\n")
    >>> x = us.open(file, column="price")
    >>> us.mean(x)
    np.float64(3.5)
    >>> x.missing
    1
    >>> folder.cleanup()
    """

    _comes_in_chunks = True  # which the functions ask for

    def __init__(self, sources: list[_Source], progress: bool | None):
        self._sources = sources
        self._progress = progress
        self._positions: int | None = None
        self.missing: int | None = None

    @property
    def dtype(self) -> np.dtype:
        return self._sources[0].dtype

    @property
    def shape(self) -> tuple[int, ...] | None:
        shapes = [source.shape for source in self._sources]
        if len(shapes) == 1:
            return shapes[0]
        return None if None in shapes else (sum(math.prod(shape) for shape in shapes if shape is not None),)

    def __repr__(self) -> str:
        names = [source.name for source in self._sources]
        shape = f"shape {self.shape}" if self.shape is not None else "not counted yet"
        return f"upsweep.open({names[0] if len(names) == 1 else names!r}): {self.dtype}, {shape}".replace(
            f"({names[0]})", f"({names[0]!r})")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """All elements, in memory unless they are mapped."""
        array = self.mapped()
        if array is None:
            chunks: list[np.ndarray] = []
            self.for_each(lambda chunk, _: chunks.append(chunk.copy()), "open")
            array = np.concatenate(chunks) if chunks else np.empty(0, self.dtype)
            if self.shape is not None:
                array = array.reshape(self.shape)
        return np.array(array, dtype) if copy else array if dtype is None else array.astype(dtype, copy=False)

    def mapped(self) -> np.ndarray | None:
        """The elements where they lie in a single mapped file, or None. Read-only."""
        return self._sources[0].array if len(self._sources) == 1 else None

    def for_each(self, take: Callable[[np.ndarray, int], object], call: str = "read") -> None:
        """Call take(chunk, position of its first element) with all elements in their order, in arrays of one dimension.

        A chunk is read-only, and is not to be kept after the call.
        """
        position = missing = 0
        with self._bar(call) as advance:
            for source in self._sources:
                def take_one(chunk: np.ndarray, size: int, without_value: int) -> None:
                    nonlocal position, missing
                    take(chunk, position)
                    position += len(chunk)
                    missing += without_value
                    advance(size)

                source.read(take_one)
        if any(source.is_table for source in self._sources):
            self.missing = missing

    def keep(self) -> None:
        """Have what can be read only once, as a pipe, kept in memory or on disk when it is read, to be read again."""
        for source in self._sources:
            source.keep()

    @contextlib.contextmanager
    def _bar(self, call: str) -> Iterator[Callable[[int], object]]:
        try:
            if self._progress is False:
                raise ImportError
            from tqdm.auto import tqdm
        except ImportError:
            yield lambda size: None
            return
        sizes = [source.bytes for source in self._sources]
        total = None if None in sizes else sum(size for size in sizes if size is not None)
        name = os.path.basename(self._sources[0].name)
        with tqdm(total=total, desc=f"{call} {name}", unit="B", unit_scale=True, leave=False, delay=0 if self._progress else 0.5,
                  disable=None if self._progress is None else False) as bar:
            yield bar.update


# --- its folds --------------------------------------------------------------------------------------------------------------------


def reduce(call: str, op: str, x: ChunkedArray, dtype: np.dtype | None, identity: Any) -> Any:
    fold = Fold(op, x.dtype, dtype)
    total = _folded(fold, x, call)
    if total.count == 0 and identity is not None:
        return fold.result.type(identity)
    return fold.value(total)


def mean(x: ChunkedArray) -> Any:
    fold = MeanFold(x.dtype)
    return fold.value(_folded(fold, x, "mean"))


def _folded(fold: Fold, x: ChunkedArray, call: str) -> _core.partial:
    total = fold.none()
    x.for_each(lambda chunk, start: fold.feed(total, chunk, start), call)
    return total


def histogram(x: ChunkedArray, bins: Any, range: Any, weights: Any, density: bool) -> Histogram:
    if weights is not None:
        raise TypeError("histogram: samples in chunks have no weights; pass np.asarray(x) if it fits in memory")
    ends = None
    if Bins.need_ends(bins, range):
        x.keep()
        least, greatest = (Fold(op, x.dtype).none() for op in ("minimum", "maximum"))

        def take(chunk: np.ndarray, start: int) -> None:
            least.feed(chunk, start)
            greatest.feed(chunk, start)

        x.for_each(take, "histogram: range of")
        ends = np.array([least.value(), greatest.value()] if least.count else [], x.dtype)
    all_bins = Bins(x.dtype, bins, range, ends)
    total = all_bins.none

    def count(chunk: np.ndarray, _: int) -> None:
        nonlocal total
        total = merged(total, all_bins.of(chunk))

    x.for_each(count, "histogram")
    return densities(total) if density else total


def bincount(x: ChunkedArray, weights: Any, minlength: int) -> np.ndarray:
    if weights is not None:
        raise TypeError("bincount: numbers in chunks have no weights; pass np.asarray(x) if it fits in memory")
    counts = _core.bincount(np.empty(0, x.dtype), minlength=minlength)

    def count(chunk: np.ndarray, _: int) -> None:
        nonlocal counts
        more = _core.bincount(chunk, minlength=len(counts))
        more[:len(counts)] += counts
        counts = more

    x.for_each(count, "bincount")
    return counts


def var(x: ChunkedArray, correction: float) -> Any:
    variance = _core.variance_of_chunks(x.dtype, correction)
    x.for_each(lambda chunk, _: variance.feed(chunk), "var")
    return variance.value()
