// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "inputs.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include <fmt/core.h>

#include "failure.hpp"
#include "progress.hpp"

namespace upsweep::cli {

namespace {

void refuse_second_standard_input(const std::vector<std::string>& files)
{
    if (std::count(files.begin(), files.end(), "-") > 1)
        throw usage_error("-: standard input can be read only once; name it once");
}

// Opens the files in their order, but those last that may keep us waiting, as pipes do: what is wrong with the others is told at once.
std::vector<std::unique_ptr<files::reader>> open_all(const std::vector<std::string>& files,
                                                     const files::read_options& how)
{
    std::vector<std::unique_ptr<files::reader>> readers(files.size());
    for (const bool may_wait : {false, true})
        for (std::size_t i = 0; i < files.size(); ++i) {
            std::error_code ignored;
            const bool waits = files[i] == "-" || std::filesystem::is_fifo(files[i], ignored);
            if (waits == may_wait)
                readers[i] = files::open(files[i], how);
        }
    return readers;
}

} // namespace

std::string input_chunk::place_of(std::uint64_t index) const
{
    return read.line_of ? fmt::format("{}: line {}", file, read.line_of(index))
                        : fmt::format("{}: element {}, counted from 0", file, first + index);
}

inputs inputs::open(const common_options& options)
{
    refuse_second_standard_input(options.files);
    std::vector<std::unique_ptr<files::reader>> readers = open_all(options.files, read_options_of(options));
    // Numbers that are written out have the type of the others. Integers in one file and fractions in another are all f64.
    const auto has_type_of_first = [&](const auto& r) { return r->dtype() == readers.front()->dtype(); };
    if (!std::all_of(readers.begin(), readers.end(), has_type_of_first)) {
        const auto is_array = [](const auto& r) { return !r->read_as(r->dtype()); };
        const auto array = std::find_if(readers.begin(), readers.end(), is_array);
        const upsweep_dtype dtype = array == readers.end() ? UPSWEEP_F64 : (*array)->dtype();
        for (const auto& r : readers)
            r->read_as(dtype);
    }
    for (const auto& r : readers) {
        if (r->dtype() != readers.front()->dtype())
            throw failure(fmt::format("{}: holds {}, but {} holds {}; convert one with a.astype(...)", r->name(),
                                      upsweep_dtype_name(r->dtype()), readers.front()->name(),
                                      upsweep_dtype_name(readers.front()->dtype())));
    }
    return inputs(std::move(readers));
}

inputs inputs::open_as_bytes(const common_options& options)
{
    refuse_second_standard_input(options.files);
    files::read_options how;
    how.format = files::file_format::raw;
    how.dtype = UPSWEEP_U8;
    how.threads = read_options_of(options).threads;
    return inputs(open_all(options.files, how));
}

void inputs::keep()
{
    for (auto& r : readers_)
        if (!r->rereadable())
            r = files::kept(std::move(r));
}

std::optional<std::uint64_t> inputs::count() const
{
    std::uint64_t total = 0;
    for (const auto& r : readers_) {
        if (!r->count())
            return std::nullopt;
        total += *r->count();
    }
    return total;
}

const files::reader& inputs::array() const
{
    const files::reader& first = *readers_.front();
    if (readers_.size() != 1)
        throw failure(
            fmt::format("{}: --axis is of one array; join the files with np.concatenate(...), or name one", name()));
    if (!first.shape())
        throw failure(fmt::format("{}: --axis is of an array of several dimensions, as .npy files have; save it with "
                                  "np.save, or leave out --axis",
                                  name()));
    return first;
}

std::string inputs::name() const
{
    const std::string& first = readers_.front()->name();
    return readers_.size() == 1 ? first : fmt::format("{} and {} more", first, readers_.size() - 1);
}

void inputs::add_table_to(json_object& object) const
{
    const std::optional<files::table_layout> table = readers_.front()->table();
    if (!table)
        return;
    object.add("delimiter", std::string(1, table->delimiter));
    object.add("header", table->header);
    if (table->header)
        object.add("column", table->name);
    else
        object.add("column", std::uint64_t{table->column + 1});
}

void inputs::tell_missing(const measurement& done) const
{
    if (done.missing.value_or(0) == 0)
        return;
    fmt::print(stderr, "upsweep: {}: {} of {} records have no value and are left out\n", name(), grouped(*done.missing),
               grouped(*done.missing + done.count));
}

void inputs::share_cores(upsweep_context& context) const
{
    if (std::all_of(readers_.begin(), readers_.end(), [](const auto& r) { return r->keeps_cores_busy(); }))
        check(upsweep_context_set_threads(&context, 1), name());
}

measurement inputs::stream(const sink& take) const
{
    std::optional<std::uint64_t> total = 0;
    for (const auto& r : readers_)
        total = total && r->bytes() ? std::optional(*total + *r->bytes()) : std::nullopt;

    progress shown(total);
    measurement done;
    const stopwatch watch;
    for (const auto& r : readers_) {
        if (r->table() && !done.missing)
            done.missing = 0;
        std::uint64_t first = 0;
        r->read([&](const files::chunk& c) {
            take({r->name(), c.elements, c.count, first, c});
            first += c.count;
            done.count += c.count;
            done.bytes += c.bytes;
            if (done.missing)
                *done.missing += c.missing;
            shown.advance(c.bytes);
        });
    }
    done.seconds = watch.seconds();
    return done;
}

} // namespace upsweep::cli
