// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <upsweep/runtime.h>
#include <upsweep/types.hpp>

// Arrays in files: .npy, raw elements, text and columns of CSV tables, read and written from front to back.
//
// A reader hands out the elements of a file in chunks, a writer takes chunks. Memory is bounded however long a file is:
// a regular file is mapped, anything else (a pipe, a device, compressed data) passes through a fixed number of chunks, and
// bytes that are not yet elements become some on all cores. What is written appears whole or not at all. Errors are exceptions of
// type `failure`; nothing is printed.
//
// The command and the Python package stand on this folder, which knows nothing of them. It shares the element types
// with libupsweep, and needs nothing else of it. This header is its whole interface.
namespace upsweep::files {

// --- what can go wrong --------------------------------------------------------------------------------------------

// What the caller could ask for instead, where that may help. Its users have their own words for it: --column, column=.
enum class remedy : std::uint8_t {
    none,
    give_format,          // name the format, which is not .npy
    give_csv_format,      // name CSV as the format: a column was asked for
    give_dtype,           // name the type of raw elements
    check_dtype,          // name another type, whose size divides that of the file
    leave_out_dtype,      // a .npy file tells its type, which is another one
    distrust_extension,   // the name tells another type; or name raw as the format
    widen_dtype,          // read into a type that holds larger numbers
    floating_dtype,       // read into a floating-point type
    choose_column,        // name one of several columns
    give_column,          // correct the number; or name a column, if this is a table
    mark_missing,         // correct the number; or say that the word stands for a value that is missing
    give_decimal,         // say that the comma is the decimal point
    join_digits,          // 1,234 in a table: remove thousands separators
    find_table,           // say what separates the fields, or which lines are before the table
    drop_separators,      // 1,234: remove thousands separators; or name a column, if this is a table
    tell_missing,         // fill the field; or say which words stand for a value that is missing
    tell_header,          // say whether the first record names the columns
    change_delimiter,     // correct the line, or name another delimiter
    change_written_dtype, // write another type, or another format than .npy
    write_promised_dtype, // or write the type that the name promises, which problem::value names
    avoid_second_reading, // have the elements read once, or make room for a copy
};

struct problem {
    std::string reason;
    remedy help = remedy::none;
    std::string value = {}; // to ask for, where the remedy needs one
};

// Where in a file, if in one place.
struct place {
    std::optional<std::uint64_t> line = {}; // from 1
    std::optional<std::uint64_t> byte = {}; // from 0
};

// A file cannot be read or written as was asked. what() is one line, "FILE: line 3: REASON".
class failure : public std::runtime_error {
public:
    failure(const std::string& file, const place& where, const problem& what);

    const std::string& file() const { return file_; }
    const place& where() const { return where_; }
    const std::string& reason() const { return problem_.reason; }
    remedy help() const { return problem_.help; }
    const problem& what_is_wrong() const { return problem_; }

private:
    std::string file_;
    place where_;
    problem problem_;
};

// "FILE: what failed: the system's reason", for the value that errno had.
[[nodiscard]] failure system_failure(const std::string& file, std::string_view what, int error_number);

// The name of a file, say, fit for a line on a terminal: control characters, and bytes that are not UTF-8, as \x1b.
[[nodiscard]] std::string escaped(std::string_view text);

// Text of the user's data, fit for an error message: the same, in quotes and shortened.
[[nodiscard]] std::string in_quotes(std::string_view text);

// --- readers ------------------------------------------------------------------------------------------------------

enum class file_format : std::uint8_t { npy, raw, text, csv };

// The words that pandas takes for missing values, and "-"; capital letters or not.
inline constexpr std::string_view usual_missing_words =
    ",#n/a,#n/a n/a,#na,-1.#ind,-1.#qnan,-nan,1.#ind,1.#qnan,<na>,n/a,na,nan,none,null,-";

struct csv_options {
    // Between fields; a space stands for runs of spaces and tabs. Otherwise a tab for .tsv, and for the rest what cuts the first
    // records into the same number of fields: a tab, a semicolon, a bar, a comma, or runs of spaces.
    std::optional<char> delimiter = {};
    // A position from 1, or a name; may be left out where there is only one.
    std::optional<std::string> column = {};
    // Whether the first record names the columns; otherwise found out from the first two.
    std::optional<bool> header = {};
    // Words, separated by commas, that stand in a field without a value; "" is one where the list begins with a comma or is empty.
    // Such records are passed over, and counted. Nothing: every record has a value.
    std::optional<std::string> missing = std::string(usual_missing_words);
    // Lines that begin with this are passed over; nothing: none are.
    std::string comment = {};
    // So many lines before the table are passed over.
    std::uint64_t skip_lines = 0;
    // The decimal point.
    char decimal = '.';

    // Whether anything is asked for that only a table has.
    bool mean_table() const
    {
        return delimiter || column || header || missing != usual_missing_words || !comment.empty() || skip_lines > 0 ||
               decimal != '.';
    }
};

// How a table was read.
struct table_layout {
    char delimiter = ','; // a space for runs of spaces and tabs
    std::size_t columns = 1;
    std::size_t column = 0; // from 0
    std::string name = {};  // of the column, where there is a header
    bool header = false;
};

// How to read a file, as far as it is known.
struct read_options {
    // Otherwise found by the extension, or by the first bytes.
    std::optional<file_format> format = {};
    // Of raw elements, unless the extension names it; of the numbers in a text, which otherwise are i64 if all are integers
    // that fit, else u64 if all fit that, else f64.
    std::optional<upsweep_dtype> dtype = {};
    // Where the type of the numbers in a text is found out: the first of i64, u64 and f64 that it may be.
    upsweep_dtype narrowest = UPSWEEP_I64;
    // The front of the text tells the type, so that the text is not read twice; read() may throw wider_type.
    bool type_by_front = false;
    csv_options csv = {};
    // 0: all cores.
    int threads = 0;
};

// Thrown by read() where a number has not the type that the front of the text told: open the file again, with this as the
// narrowest type, and begin anew.
struct wider_type {
    upsweep_dtype dtype;
};

// Elements that follow one another in the file, in C order.
struct chunk {
    const void* elements = nullptr;
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;   // of the file that were read for them
    std::uint64_t missing = 0; // records of a table without a value, among them
    // Of numbers that are written out: the line of one of the elements. Takes long, and is for what is wrong with it.
    std::function<std::uint64_t(std::uint64_t index)> line_of = {};
};

// The elements of a file. A mapped file must not become shorter while it is read: that is a signal, SIGBUS.
class reader {
public:
    reader() = default;
    reader(const reader&) = delete;
    reader& operator=(const reader&) = delete;
    virtual ~reader() = default;

    // The path, or "standard input": what failures begin with.
    virtual const std::string& name() const = 0;
    virtual upsweep_dtype dtype() const = 0;
    // The extents of an array, of .npy alone. The elements come in C order, whichever way they are stored.
    virtual std::optional<std::vector<std::uint64_t>> shape() const { return std::nullopt; }
    // All elements side by side in C order, where the file is mapped and has them so; else null. Valid while the reader lives.
    virtual const void* mapped() const { return nullptr; }
    // How many elements read() will give, and how many bytes it will read for them, where these are known beforehand.
    virtual std::optional<std::uint64_t> count() const = 0;
    virtual std::optional<std::uint64_t> bytes() const = 0;
    // Of a table alone.
    virtual std::optional<table_layout> table() const { return std::nullopt; }
    // Whether read() may be called again.
    virtual bool rereadable() const = 0;
    // Reads numbers that are written out as elements of another type from now on; only where their type was found, and not asked
    // for. Returns whether it does.
    virtual bool read_as(upsweep_dtype) { return false; }
    // Whether the other cores turn bytes into elements while a chunk is taken, so that one thread should take it.
    virtual bool keeps_cores_busy() const = 0;

    // Gives all elements to `take`, chunk after chunk, from one thread at a time. A chunk is valid during the call
    // only; what `take` throws ends the reading.
    using sink = std::function<void(const chunk&)>;
    virtual void read(const sink& take) = 0;
};

// Opens a file and finds out what it holds; "-" is standard input, and "x.npz:a" the member a of a zip archive, which may be
// left out where there is only one. What is compressed by gzip, zstd, xz or bzip2 is known by its first bytes, and is
// decompressed in a thread of its own; text may be in UTF-16 with a byte order mark, and its lines may end with CR. Files
// of other programs are refused with a way to convert them, unless the format is raw.
[[nodiscard]] std::unique_ptr<reader> open(const std::string& path, const read_options& options = {});

// The elements of a reader that can read only once, kept as it reads them for the first time: in memory, and what is more than some
// hundred MB in a temporary file, in the folder that the environment variable TMPDIR names. Later they are read from there.
[[nodiscard]] std::unique_ptr<reader> kept(std::unique_ptr<reader> from);

// --- writers ------------------------------------------------------------------------------------------------------

// Where elements go as they are computed.
class writer {
public:
    writer() = default;
    writer(const writer&) = delete;
    writer& operator=(const writer&) = delete;
    virtual ~writer() = default;

    virtual void append(const void* elements, std::uint64_t count) = 0;
    // To be called once, at the end. Without it no file appears, and one that was there stays.
    virtual void finish() = 0;
};

// The extension chooses, as for open(): .npy, raw for .raw, .bin and the names of types, otherwise text, one value a
// line. Fails where it promises another type, or a format that is not written (.npz, .gz, .parquet, ...). "-" is
// standard output. `count` is needed where a .npy file cannot be written over (a pipe); otherwise it may be unknown. With extents,
// whose product it is, .npy is an array of these.
[[nodiscard]] std::unique_ptr<writer> create(const std::string& path, upsweep_dtype dtype,
                                             std::optional<std::uint64_t> count = std::nullopt,
                                             const std::vector<std::uint64_t>& shape = {});

// Fails where create() would, as far as that can be told already, and writes nothing.
void check_output(const std::string& path, std::optional<upsweep_dtype> dtype);

// Removes what unfinished writers have written so far. For a handler of signals that ends the process: it is
// async-signal-safe.
void remove_temporaries() noexcept;

// --- numbers as text ----------------------------------------------------------------------------------------------

// "f32" and "float32", "i8" and "int8", "bool", ...
[[nodiscard]] std::optional<upsweep_dtype> dtype_of_name(std::string_view name);

// Every name that a user may give, for an error message.
inline constexpr std::string_view dtype_names = "bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64";

enum class number_error : std::uint8_t {
    none,
    malformed,    // no number, or something after it
    out_of_range, // too large for the type: 1e400, 300 as u8
    not_integer,  // a number, but the type has integers only
};

// Reads a number that fills `token` exactly, whatever the locale: decimal with or without fraction and exponent, hex
// (0x1f, and 0x1.8p3 for floating types), inf, infinity, nan, with an optional sign; for bool 0, 1, true and false.
// Rounds to nearest even; what is too small for the type becomes a denormal or zero, what is too large is an error.
// f16 and bf16 are rounded from the nearest f64, as NumPy does. T is the C++ type of any dtype.
template <class T>
[[nodiscard]] number_error parse_number(std::string_view token, T& value);

// What is wrong with the token.
[[nodiscard]] problem number_problem(number_error error, std::string_view token, upsweep_dtype dtype);

// The shortest decimal digits that read back as the same value of its type; "inf", "-inf", "nan", "true", "false".
void append_value(std::string& text, bool value);
void append_value(std::string& text, std::int64_t value);
void append_value(std::string& text, std::uint64_t value);
void append_value(std::string& text, f16 value);
void append_value(std::string& text, bf16 value);
void append_value(std::string& text, float value);
void append_value(std::string& text, double value);

template <class T>
    requires(std::is_integral_v<T> && sizeof(T) < 8 && !std::is_same_v<T, bool>)
void append_value(std::string& text, T value)
{
    append_value(text, static_cast<std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>(value));
}

[[nodiscard]] std::string value_text(upsweep_dtype dtype, const void* value);

// Writing many values out takes longer than computing them, so all threads share it: each appends those of a slice
// [first, last) of [0, count). Returns the texts in order.
using slice_writer = std::function<void(std::string& text, std::uint64_t first, std::uint64_t last)>;
[[nodiscard]] std::vector<std::string> write_slices(std::uint64_t count, const slice_writer& append);

} // namespace upsweep::files
