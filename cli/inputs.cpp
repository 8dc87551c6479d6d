// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "inputs.hpp"

#include <algorithm>

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
    const source_options how = source_options_of(options);
    std::vector<std::unique_ptr<source>> sources;
    for (const std::string& file : options.files) {
        sources.push_back(open_source(file, how));
        if (sources.back()->dtype() != sources.front()->dtype())
            throw failure(fmt::format("{}: holds {}, but {} holds {}; convert one with a.astype(...)",
                                      sources.back()->name(), upsweep_dtype_name(sources.back()->dtype()),
                                      sources.front()->name(), upsweep_dtype_name(sources.front()->dtype())));
    }
    return inputs(std::move(sources));
}

inputs inputs::open_as_bytes(const common_options& options)
{
    refuse_second_standard_input(options.files);
    std::vector<std::unique_ptr<source>> sources;
    for (const std::string& file : options.files)
        sources.push_back(open_bytes(file, source_options_of(options).threads));
    return inputs(std::move(sources));
}

bool inputs::rereadable() const
{
    return std::all_of(sources_.begin(), sources_.end(), [](const auto& s) { return s->rereadable(); });
}

std::optional<std::uint64_t> inputs::count() const
{
    std::uint64_t total = 0;
    for (const auto& s : sources_) {
        if (!s->count())
            return std::nullopt;
        total += *s->count();
    }
    return total;
}

std::string inputs::name() const
{
    const std::string& first = sources_.front()->name();
    return sources_.size() == 1 ? first : fmt::format("{} and {} more", first, sources_.size() - 1);
}

upsweep_target inputs::sink_target(upsweep_target target) const
{
    const bool all_busy =
        std::all_of(sources_.begin(), sources_.end(), [](const auto& s) { return s->sink_threads() == 1; });
    if (all_busy)
        target.threads = 1;
    return target;
}

measurement inputs::stream(const sink& take) const
{
    std::optional<std::uint64_t> total = 0;
    for (const auto& s : sources_)
        total = total && s->bytes() ? std::optional(*total + *s->bytes()) : std::nullopt;

    progress shown(total);
    measurement done;
    const stopwatch watch;
    for (const auto& s : sources_)
        s->stream([&](const void* elements, std::uint64_t count, std::uint64_t bytes) {
            take(s->name(), elements, count);
            done.count += count;
            done.bytes += bytes;
            shown.advance(bytes);
        });
    done.seconds = watch.seconds();
    return done;
}

} // namespace upsweep::cli
