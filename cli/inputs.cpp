// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "inputs.hpp"

#include <algorithm>
#include <cstdio>

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

} // namespace

inputs inputs::open(const common_options& options)
{
    refuse_second_standard_input(options.files);
    const files::read_options how = read_options_of(options);
    std::vector<std::unique_ptr<files::reader>> readers;
    for (const std::string& file : options.files)
        readers.push_back(files::open(file, how));
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
    std::vector<std::unique_ptr<files::reader>> readers;
    for (const std::string& file : options.files)
        readers.push_back(files::open(file, how));
    return inputs(std::move(readers));
}

bool inputs::rereadable() const
{
    return std::all_of(readers_.begin(), readers_.end(), [](const auto& r) { return r->rereadable(); });
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

context_ptr inputs::context(const common_options& options) const
{
    const upsweep_place place = place_of(options);
    const bool all_busy =
        std::all_of(readers_.begin(), readers_.end(), [](const auto& r) { return r->keeps_cores_busy(); });
    upsweep_context* created = nullptr;
    check(upsweep_context_create(place, -1, &created), name());
    context_ptr context(created);
    check(upsweep_context_set_threads(created, all_busy ? 1 : threads_of(options)), "--threads");
    if (const auto gpu_memory = gpu_memory_of(options); gpu_memory && place == UPSWEEP_CUDA)
        check(upsweep_context_limit_gpu_memory(created, *gpu_memory), "--gpu-memory");
    return context;
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
        r->read([&](const files::chunk& c) {
            take(r->name(), c.elements, c.count);
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
