// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The module upsweep._files: the readers of files/, for upsweep/_chunked.py.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <upsweep/files.hpp>

namespace {

namespace nb = nanobind;
namespace files = upsweep::files;

// What helps, in the words of upsweep.open.
std::string remedy_text(const files::problem& problem)
{
    switch (problem.help) {
    case files::remedy::give_format: return "; pass format='text', 'csv' or 'raw'";
    case files::remedy::give_csv_format: return "; pass format='csv' if it is one";
    case files::remedy::give_dtype: return "; pass dtype for raw elements";
    case files::remedy::check_dtype: return "; check dtype";
    case files::remedy::leave_out_dtype: return "; leave dtype out, or convert with a.astype(...)";
    case files::remedy::distrust_extension: return "; leave dtype out, or pass format='raw' if the name is wrong";
    case files::remedy::widen_dtype: return "; pass a wider dtype";
    case files::remedy::floating_dtype: return "; pass dtype='f8'";
    case files::remedy::choose_column: return "; choose one with column";
    case files::remedy::give_column:
        return "; correct it, or pass column for a table, where missing values are passed over";
    case files::remedy::mark_missing: return "; correct it, or name it in missing if it stands for no value";
    case files::remedy::give_decimal: return "; pass decimal=',' if the comma is the decimal point";
    case files::remedy::join_digits: return "; remove thousands separators";
    case files::remedy::find_table: return "; pass skip_lines or comment if the table begins later, or its delimiter";
    case files::remedy::drop_separators: return "; remove thousands separators, or pass column for a table";
    case files::remedy::tell_missing: return "; fill it, or leave missing=None out";
    case files::remedy::tell_header: return "; pass header=True or False";
    case files::remedy::change_delimiter: return "; correct the line, or pass another delimiter";
    case files::remedy::avoid_second_reading: return "; pass range, or give room in the folder that TMPDIR names";
    case files::remedy::none:
    case files::remedy::change_written_dtype: // Nothing is written here.
    case files::remedy::write_promised_dtype: break;
    }
    return {};
}

upsweep_dtype dtype_named(const std::string& name)
{
    const auto dtype = files::dtype_of_name(name);
    if (!dtype)
        throw nb::value_error(("open: there is no dtype " + name).c_str());
    return *dtype;
}

// NumPy's names, but for bfloat16.
const char* name_of(upsweep_dtype dtype)
{
    static constexpr const char* names[] = {"bool",   "int8",   "int16",   "int32",    "int64",   "uint8",  "uint16",
                                            "uint32", "uint64", "float16", "bfloat16", "float32", "float64"};
    return names[dtype];
}

std::size_t bytes_of(upsweep_dtype dtype)
{
    static constexpr std::size_t bytes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
    return bytes[dtype];
}

std::optional<files::file_format> format_named(const std::optional<std::string>& name)
{
    if (!name)
        return std::nullopt;
    if (*name == "npy")
        return files::file_format::npy;
    if (*name == "raw")
        return files::file_format::raw;
    if (*name == "text")
        return files::file_format::text;
    if (*name == "csv")
        return files::file_format::csv;
    throw nb::value_error(("open: there is no format " + *name + "; pass 'npy', 'raw', 'text' or 'csv'").c_str());
}

// A file that is read from front to back. It may be read by one thread at a time.
class file_reader {
public:
    file_reader(const std::string& path, const std::optional<std::string>& dtype,
                const std::optional<std::string>& format, files::csv_options table)
    {
        files::read_options how;
        how.format = format_named(format);
        if (dtype)
            how.dtype = dtype_named(*dtype);
        how.csv = std::move(table);
        const nb::gil_scoped_release others; // An input may be a pipe.
        from_ = files::open(path, how);
    }

    const std::string& name() const { return from_->name(); }
    const char* dtype() const { return name_of(from_->dtype()); }
    std::optional<std::uint64_t> count() const { return from_->count(); }
    std::optional<std::uint64_t> bytes() const { return from_->bytes(); }
    bool is_table() const { return from_->table().has_value(); }
    bool read_as(const std::string& dtype) { return from_->read_as(dtype_named(dtype)); }

    nb::object shape() const
    {
        const auto extents = from_->shape();
        if (!extents)
            return nb::none();
        nb::list result;
        for (const std::uint64_t extent : *extents)
            result.append(extent);
        return nb::tuple(result);
    }

    // What can be read only once is kept as it is read for the first time.
    void keep()
    {
        if (!from_->rereadable())
            from_ = files::kept(std::move(from_));
    }

    // Calls take(memoryview of elements, bytes of the file, records without a value) with chunk after chunk.
    void read(const nb::callable& take) const
    {
        const nb::gil_scoped_release others;
        from_->read([&](const files::chunk& c) {
            const nb::gil_scoped_acquire python;
            if (PyErr_CheckSignals() != 0)
                throw nb::python_error();
            constexpr int is_read = 0x100; // PyBUF_READ, which headers have for Python 3.11 and newer alone
            static char none = 0;
            char* elements = c.count != 0 ? static_cast<char*>(const_cast<void*>(c.elements)) : &none;
            const nb::object view = nb::steal(PyMemoryView_FromMemory(
                elements, static_cast<Py_ssize_t>(c.count * bytes_of(from_->dtype())), is_read));
            if (!view.is_valid())
                throw nb::python_error();
            take(view, c.bytes, c.missing);
        });
    }

private:
    friend nb::object mapped_bytes(nb::handle self);
    std::unique_ptr<files::reader> from_;
};

// The elements of a mapped file as an array of bytes, which keeps the file open.
nb::object mapped_bytes(nb::handle self)
{
    const files::reader& from = *nb::cast<const file_reader&>(self).from_;
    if (from.mapped() == nullptr || !from.count())
        return nb::none();
    const std::size_t bytes = *from.count() * bytes_of(from.dtype());
    return nb::cast(nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>>(from.mapped(), {bytes}, self));
}

} // namespace

NB_MODULE(_files, m)
{
    m.doc() = "Readers of .npy, raw elements, text and CSV.";
    nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
        try {
            std::rethrow_exception(thrown);
        } catch (const files::failure& failure) {
            PyErr_SetString(PyExc_ValueError, (failure.what() + remedy_text(failure.what_is_wrong())).c_str());
        }
    });
    nb::class_<file_reader>(m, "file_reader", "A file that is read from front to back.")
        .def(
            "__init__",
            [](file_reader* self, const std::string& path, const std::optional<std::string>& dtype,
               const std::optional<std::string>& format, std::optional<std::string> column,
               const std::optional<std::string>& delimiter, std::optional<bool> header,
               std::optional<std::string> missing, const std::string& comment, std::uint64_t skip_lines,
               const std::string& decimal) {
                files::csv_options table;
                table.column = std::move(column);
                if (delimiter)
                    table.delimiter = delimiter->front();
                table.header = header;
                table.missing = std::move(missing);
                table.comment = comment;
                table.skip_lines = skip_lines;
                table.decimal = decimal.front();
                new (self) file_reader(path, dtype, format, std::move(table));
            },
            nb::arg("path"), nb::kw_only(), nb::arg("dtype").none(), nb::arg("format").none(), nb::arg("column").none(),
            nb::arg("delimiter").none(), nb::arg("header").none(), nb::arg("missing").none(), nb::arg("comment"),
            nb::arg("skip_lines"), nb::arg("decimal"))
        .def_prop_ro("name", &file_reader::name)
        .def_prop_ro("dtype", &file_reader::dtype)
        .def_prop_ro("shape", &file_reader::shape, nb::sig("def shape(self, /) -> tuple[int, ...] | None"))
        .def_prop_ro("count", &file_reader::count)
        .def_prop_ro("bytes", &file_reader::bytes)
        .def_prop_ro("is_table", &file_reader::is_table)
        .def("read_as", &file_reader::read_as, nb::arg("dtype"),
             "Read numbers that are written out as another type, if theirs was found; tell whether it was.")
        .def("keep", &file_reader::keep, "Have what can be read only once kept, so that it can be read again.")
        .def("read", &file_reader::read, nb::arg("take"),
             nb::sig("def read(self, take: collections.abc.Callable[[memoryview, int, int], object]) -> None"),
             "Call `take` with the elements of chunk after chunk, the bytes of the file that were read for them, and "
             "the number of "
             "records without a value.")
        .def("mapped_bytes", &mapped_bytes, nb::sig("def mapped_bytes(self) -> numpy.ndarray | None"),
             "All elements side by side as bytes, if they lie so in a mapped file.");
    m.attr("usual_missing") = nb::str(files::usual_missing_words.data(), files::usual_missing_words.size());
}
