// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/core.h>
#include <oneapi/tbb/global_control.h>
#include <unistd.h>

#include "failure.hpp"
#include "terminal.hpp"

namespace upsweep::cli {

namespace {

// The names people use and the library's own.
const std::vector<std::pair<std::string, upsweep_op>> op_names = {
    {"sum", UPSWEEP_PLUS},
    {"product", UPSWEEP_MULTIPLIES},
    {"min", UPSWEEP_MINIMUM},
    {"max", UPSWEEP_MAXIMUM},
    {"and", UPSWEEP_BIT_AND},
    {"or", UPSWEEP_BIT_OR},
    {"xor", UPSWEEP_BIT_XOR},
    {"all", UPSWEEP_LOGICAL_AND},
    {"any", UPSWEEP_LOGICAL_OR},
    {"plus", UPSWEEP_PLUS},
    {"multiplies", UPSWEEP_MULTIPLIES},
    {"minimum", UPSWEEP_MINIMUM},
    {"maximum", UPSWEEP_MAXIMUM},
    {"bit_and", UPSWEEP_BIT_AND},
    {"bit_or", UPSWEEP_BIT_OR},
    {"bit_xor", UPSWEEP_BIT_XOR},
    {"logical_and", UPSWEEP_LOGICAL_AND},
    {"logical_or", UPSWEEP_LOGICAL_OR},
};

// NumPy's names with a size in bytes, but for those that are ours with one in bits: i8 and u8 are integers of 8 bits.
const std::vector<std::pair<std::string_view, upsweep_dtype>> numpy_names = {
    {"b1", UPSWEEP_BOOL}, {"i1", UPSWEEP_I8},  {"i2", UPSWEEP_I16}, {"i4", UPSWEEP_I32}, {"u1", UPSWEEP_U8},
    {"u2", UPSWEEP_U16},  {"u4", UPSWEEP_U32}, {"f2", UPSWEEP_F16}, {"f4", UPSWEEP_F32}, {"f8", UPSWEEP_F64}};
// Those are NumPy's where a byte order stands before them.
const std::vector<std::pair<std::string_view, upsweep_dtype>> numpy_names_after_order = {{"i8", UPSWEEP_I64},
                                                                                         {"u8", UPSWEEP_U64}};

// f8, <f8, |b1.
std::optional<upsweep_dtype> dtype_of_numpy_name(const std::string& option, const std::string& name)
{
    const bool ordered = !name.empty() && std::string_view("<>=|").find(name.front()) != std::string_view::npos;
    const std::string_view rest = std::string_view(name).substr(ordered ? 1 : 0);
    const auto found_in = [rest](const auto& names) -> std::optional<upsweep_dtype> {
        const auto it = std::find_if(names.begin(), names.end(), [&](const auto& n) { return n.first == rest; });
        return it == names.end() ? std::nullopt : std::optional(it->second);
    };
    std::optional<upsweep_dtype> dtype = found_in(numpy_names);
    if (!dtype && ordered)
        dtype = found_in(numpy_names_after_order);
    if (dtype && name.front() == '>' && upsweep_dtype_size(*dtype) > 1)
        throw usage_error(
            fmt::format("{}: {} is big-endian, which .npy files alone may be, as they tell it themselves; "
                        "swap the bytes first, with a.astype('<{}')",
                        option, files::in_quotes(name), rest));
    return dtype;
}

using files::file_format;
const std::vector<std::pair<std::string, file_format>> format_names = {
    {"npy", file_format::npy}, {"raw", file_format::raw}, {"text", file_format::text}, {"csv", file_format::csv}};

const std::vector<std::pair<std::string, upsweep_place>> target_names = {
    {"auto", UPSWEEP_AUTO}, {"cpu", UPSWEEP_CPU}, {"cuda", UPSWEEP_CUDA}};

template <class Value>
Value value_of_name(const std::vector<std::pair<std::string, Value>>& names, const std::string& option,
                    const std::string& name)
{
    std::string known;
    for (const auto& [candidate, value] : names) {
        if (candidate == name)
            return value;
        known += (known.empty() ? "" : ", ") + candidate;
    }
    throw usage_error(fmt::format("{}: {} is unknown; give one of {}", option, files::in_quotes(name), known));
}

char delimiter_option(const std::string& text)
{
    const std::string delimiter = text == "tab" || text == "\\t" ? "\t" : text == "space" ? " " : text;
    constexpr std::string_view meaningful = "\"\r\n+-.";
    const bool of_numbers = delimiter.size() == 1 && (std::isalnum(static_cast<unsigned char>(delimiter[0])) != 0);
    if (delimiter.size() != 1 || of_numbers || meaningful.find(delimiter[0]) != meaningful.npos)
        throw usage_error(
            fmt::format("--delimiter: {} cannot separate fields; give one character such as ';', or tab, or space",
                        files::in_quotes(text)));
    return delimiter[0];
}

} // namespace

void add_common_options(subcommand& command, common_options& options)
{
    command.add_option("FILE", options.files, "Files that together are one array; - is standard input").required();

    command.add_option("--format", options.format, "npy, raw, text or csv (default: by extension, or content)")
        .group("Input")
        .type_name("FORMAT");
    command
        .add_option("--dtype", options.dtype,
                    "Type of raw elements, or of numbers in text (default: i64, u64 or\n"
                    "f64, whichever has all of them)")
        .group("Input")
        .type_name("TYPE");
    command.add_option("--column", options.column, "Column of a CSV table: its position from 1, or its name")
        .group("Input")
        .type_name("COLUMN");
    command
        .add_option("--delimiter", options.delimiter,
                    "Between the fields of a table: a character, tab, or space for runs\n"
                    "of spaces (default: found in the first records)")
        .group("Input")
        .type_name("CHAR");
    command
        .add_option("--header", options.header,
                    "Whether the first record names the columns: yes, no, or auto\n"
                    "(default), which is told by all fields of the first two")
        .group("Input")
        .type_name("WHEN");
    command
        .add_option("--missing", options.missing,
                    "Words for missing values, beside the usual ones (empty, NA, N/A,\n"
                    "NULL, nan, -, ...): such records are passed over and counted;\n"
                    "none: they are errors")
        .group("Input")
        .type_name("WORD,...");
    command.add_option("--comment", options.comment, "Pass over lines of a table that begin with this: '#'")
        .group("Input")
        .type_name("TEXT");
    command.add_option("--skip-lines", options.skip_lines, "Pass over so many lines before the table")
        .group("Input")
        .type_name("N");
    command.add_option("--decimal", options.decimal, "The decimal point of a table: . (default) or ,")
        .group("Input")
        .type_name("CHAR");

    command.add_option("--target", options.target, "Where to run: auto (default), cpu or cuda")
        .group("Execution")
        .type_name("TARGET");
    command.add_option("--threads", options.threads_text, "CPU threads (default: all cores); no result depends on it")
        .group("Execution")
        .type_name("N");
    command
        .add_option("--gpu-memory", options.gpu_memory,
                    "What elements on their way may take of the GPU's memory (default: 64M)")
        .group("Execution")
        .type_name("BYTES");

    command.add_flag("--json", options.json, "Print one JSON object").group("Output");
    command.add_flag("-v,--verbose", options.verbose, "Print for people even where standard output is no terminal")
        .group("Output");
}

void add_op_option(subcommand& command, std::string& op)
{
    command.add_option("--op", op, "sum (default), product, min, max, and, or, xor, all or any").type_name("OP");
}

void add_out_dtype_option(subcommand& command, std::string& out_dtype, const std::string& help)
{
    command.add_option("--out-dtype", out_dtype, help).type_name("TYPE");
}

void add_wrap_option(subcommand& command, bool& wrap)
{
    command.add_flag("--wrap", wrap, "Fold integers modulo 2^bits of the result, as C++ and NumPy do");
}

files::read_options read_options_of(const common_options& options)
{
    files::read_options result;
    if (!options.format.empty())
        result.format = value_of_name(format_names, "--format", options.format);
    if (!options.dtype.empty())
        result.dtype = dtype_option("--dtype", options.dtype);
    if (!options.column.empty())
        result.csv.column = options.column;
    if (!options.delimiter.empty())
        result.csv.delimiter = delimiter_option(options.delimiter);
    static const std::vector<std::pair<std::string, std::optional<bool>>> header_names = {
        {"auto", std::nullopt}, {"yes", true}, {"no", false}};
    result.csv.header = value_of_name(header_names, "--header", options.header);
    if (options.missing == "none")
        result.csv.missing.reset();
    else if (!options.missing.empty())
        *result.csv.missing += ',' + options.missing;
    result.csv.comment = options.comment;
    if (options.skip_lines != "0")
        result.csv.skip_lines = count_option("--skip-lines", options.skip_lines, std::uint64_t{1} << 62);
    static const std::vector<std::pair<std::string, char>> decimal_names = {{".", '.'}, {",", ','}};
    result.csv.decimal = value_of_name(decimal_names, "--decimal", options.decimal);
    if (result.csv.decimal == result.csv.delimiter)
        throw usage_error("--decimal: a comma cannot be the --delimiter, too; give another one of them");
    result.narrowest = options.narrowest;
    result.type_by_front = !options.prints_as_it_reads;
    result.threads = threads_of(options);
    return result;
}

upsweep_place place_of(const common_options& options)
{
    return value_of_name(target_names, "--target", options.target);
}

int threads_of(const common_options& options)
{
    constexpr std::uint64_t most = 4096;
    return options.threads_text.empty() ? 0 : static_cast<int>(count_option("--threads", options.threads_text, most));
}

void check_common_options(const common_options& options)
{
    (void)read_options_of(options);
    (void)place_of(options);
    (void)gpu_memory_of(options);
}

void check_runs_on_cpu(const common_options& options, const std::string& option)
{
    if (place_of(options) == UPSWEEP_CUDA)
        throw failure(fmt::format("{}: a GPU does not fold lines and runs yet; leave out --target cuda", option));
}

void run_with_types_of_numbers(common_options& options, const std::function<void()>& command)
{
    for (;;) {
        try {
            return command();
        } catch (const files::wider_type& found) {
            options.narrowest = found.dtype;
        }
    }
}

std::shared_ptr<void> limit_threads(const common_options& options)
{
    using oneapi::tbb::global_control;
    const int threads = threads_of(options);
    if (threads == 0)
        return nullptr;
    return std::make_shared<global_control>(global_control::max_allowed_parallelism, static_cast<std::size_t>(threads));
}

std::optional<std::uint64_t> gpu_memory_of(const common_options& options)
{
    if (options.gpu_memory.empty())
        return std::nullopt;
    constexpr std::string_view units = "KMGT";
    std::string_view digits = options.gpu_memory;
    const std::size_t unit = units.find(digits.back());
    if (unit != units.npos)
        digits.remove_suffix(1);
    const int shift = unit != units.npos ? 10 * (static_cast<int>(unit) + 1) : 0;
    std::uint64_t bytes = 0;
    if (files::parse_number(digits, bytes) != files::number_error::none || bytes == 0 ||
        bytes << shift >> shift != bytes)
        throw usage_error(fmt::format("--gpu-memory: {} is not possible; give a number of bytes such as 64M",
                                      files::in_quotes(options.gpu_memory)));
    return bytes << shift;
}

context_ptr context_of(const common_options& options)
{
    const upsweep_place place = place_of(options);
    upsweep_context* created = nullptr;
    const std::string& first = options.files.front();
    check(upsweep_context_create(place, -1, &created), first == "-" ? "standard input" : first);
    context_ptr context(created);
    check(upsweep_context_set_threads(created, threads_of(options)), "--threads");
    if (const auto gpu_memory = gpu_memory_of(options); gpu_memory && place == UPSWEEP_CUDA)
        check(upsweep_context_limit_gpu_memory(created, *gpu_memory), "--gpu-memory");
    return context;
}

std::uint64_t count_option(const std::string& option, const std::string& text, std::uint64_t most)
{
    std::uint64_t count = 0;
    if (files::parse_number(text, count) != files::number_error::none || count == 0 || count > most)
        throw usage_error(fmt::format("{}: {} is not possible; give a whole number from 1 to {}", option,
                                      files::in_quotes(text), most));
    return count;
}

upsweep_op op_of_name(const std::string& name) { return value_of_name(op_names, "--op", name); }

upsweep_dtype dtype_option(const std::string& option, const std::string& name)
{
    if (const auto dtype = files::dtype_of_name(name))
        return *dtype;
    if (const auto dtype = dtype_of_numpy_name(option, name))
        return *dtype;
    throw usage_error(
        fmt::format("{}: {} is unknown; give one of {}", option, files::in_quotes(name), files::dtype_names));
}

std::optional<upsweep_dtype> out_dtype_option(const std::string& name)
{
    return name.empty() ? std::nullopt : std::optional(dtype_option("--out-dtype", name));
}

double number_option(const std::string& option, std::string_view text)
{
    double value = 0;
    if (files::parse_number(text, value) != files::number_error::none)
        throw usage_error(fmt::format("{}: {} is not a number that fits f64", option, files::in_quotes(text)));
    return value;
}

bool wants_table(const common_options& options)
{
    return !options.json && (options.verbose || is_terminal(STDOUT_FILENO));
}

} // namespace upsweep::cli
