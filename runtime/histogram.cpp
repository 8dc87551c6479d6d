// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <upsweep/histogram.hpp>
#include <upsweep/runtime.h>

#include "call.hpp"
#include "fold.hpp"

using namespace upsweep;
using namespace upsweep::runtime;

namespace {

// A counter on the CPU, which adds the samples of each piece to its counts at once.
template <class Bins>
class cpu_counter final : public any_counter {
public:
    cpu_counter(add_samples<Bins> add, cpu target, Bins bins) : add_(add), target_(target), bins_(std::move(bins))
    {
        const std::size_t count = detail::bin_count(bins_);
        try {
            counts_.resize(count);
        } catch (const std::bad_alloc&) {
            throw error(error_kind::out_of_memory, "histogram",
                        "no memory for " + std::to_string(count * sizeof(std::uint64_t)) + " bytes of counters",
                        "ask for fewer bins");
        }
    }

    void feed(const void* in, std::size_t count) override { add_(target_, in, count, bins_, counts_, out_of_range_); }
    void result(std::span<std::uint64_t> counts, outside& out_of_range) override
    {
        std::ranges::copy(counts_, counts.begin());
        out_of_range = out_of_range_;
    }

private:
    add_samples<Bins> add_;
    cpu target_;
    Bins bins_;
    std::vector<std::uint64_t> counts_;
    outside out_of_range_;
};

// Assigns letters, large and small ones alike, to groups of `group` neighbours in the alphabet. Other bytes are in
// none.
struct letter_groups {
    std::uint64_t group;

    std::size_t count() const { return (26 + group - 1) / group; }
    int operator()(std::uint8_t byte) const
    {
        const int letter = (byte | 0x20) - 'a';
        return letter >= 0 && letter < 26 ? letter / static_cast<int>(group) : -1;
    }
};

using letter_bins = bins_by<letter_groups>;

void add_letters(cpu target, const void* in, std::size_t count, const letter_bins& bins,
                 std::span<std::uint64_t> counts, outside& out_of_range)
{
    histogram_accumulate(target, std::span(static_cast<const std::uint8_t*>(in), count), bins, counts, out_of_range);
}

// Counts letters on a GPU. A counter of bytes by value does the work; each of the 256 values is given its group when
// the result is asked for. Bytes that are no letters count as below all bins.
class letters_of_bytes final : public any_counter {
public:
    letters_of_bytes(std::unique_ptr<any_counter> bytes, letter_groups groups)
        : bytes_(std::move(bytes)), groups_(groups)
    {
    }

    void feed(const void* in, std::size_t count) override { bytes_->feed(in, count); }
    void feed_on_gpu(const elements& in) override { bytes_->feed_on_gpu(in); }
    void result(std::span<std::uint64_t> counts, outside& out_of_range) override
    {
        std::array<std::uint64_t, 256> of_values{};
        outside none;
        bytes_->result(of_values, none);
        std::ranges::fill(counts, 0);
        out_of_range = {};
        for (std::size_t value = 0; value < of_values.size(); ++value) {
            const int group = groups_(static_cast<std::uint8_t>(value));
            (group < 0 ? out_of_range.below : counts[static_cast<std::size_t>(group)]) += of_values[value];
        }
    }

private:
    std::unique_ptr<any_counter> bytes_;
    letter_groups groups_;
};

// What a histogram counts: its bins, the type of its samples, and the function by which the CPU adds samples to counts.
template <class Bins>
struct counting {
    Bins bins;
    upsweep_dtype dtype;
    add_samples<Bins> add;

    std::size_t bin_count() const { return detail::bin_count(bins); }
    std::unique_ptr<any_counter> counter(const execution& where) const
    {
        if (where.gpu == nullptr)
            return std::make_unique<cpu_counter<Bins>>(add, where.host, bins);
        if constexpr (std::is_same_v<Bins, letter_bins>)
            return std::make_unique<letters_of_bytes>(gpu::make_byte_counter(request(where)), bins.f);
        else
            return gpu::make_counter(request(where), bins);
    }
    bool count_by_type(const execution& where, const elements& in, std::span<std::uint64_t> counts,
                       outside* out_of_range, bool are_on_gpu) const
    {
        if constexpr (std::is_same_v<Bins, letter_bins>)
            return false;
        else
            return gpu::count_by_type(request(where), bins, in, counts, out_of_range, are_on_gpu);
    }

private:
    gpu::counter_request request(const execution& where) const
    {
        return {dtype, where.host, where.gpu, where.gpu_memory};
    }
};

counting<even_bins> counting_even(upsweep_dtype dtype, const even_bins& bins)
{
    const auto add = engine(dtype).histogram_even;
    detail::check_bins(bins);
    return {bins, dtype, add};
}

counting<edges> counting_edges(upsweep_dtype dtype, const double* edges, std::uint64_t count)
{
    require(edges != nullptr || count == 0, "histogram", "the edges are a null pointer", "pass at least two edges");
    const auto add = engine(dtype).histogram_edges;
    upsweep::edges bins(std::span(edges, count));
    detail::check_bins(bins);
    return {std::move(bins), dtype, add};
}

counting<letter_bins> counting_letters(std::uint64_t group)
{
    require(group >= 1 && group <= 26, "histogram", "a group has 1 to 26 letters", "ask for 4, say");
    const letter_groups groups{group};
    return {letter_bins(groups, groups.count()), UPSWEEP_U8, add_letters};
}

void check_counts(const void* counts, const void* out_of_range)
{
    require(counts != nullptr && out_of_range != nullptr, "histogram", "a result is a null pointer",
            "pass room for the counts");
}

static_assert(sizeof(upsweep_outside) == sizeof(outside), "both are three numbers");

// The samples and the counts of a histogram at once.
struct samples_and_counts {
    execution where;
    elements samples;
    elements counts;
    upsweep_outside* out_of_range;
};

samples_and_counts checked_arrays(const upsweep_context* context, const upsweep_array* in, const upsweep_array* counts,
                                  upsweep_outside* out_of_range)
{
    const elements samples = checked_elements("histogram", "the input", in);
    const elements results = checked_elements("histogram", "the array of counts", counts);
    check_same_dtype("histogram", results, UPSWEEP_U64);
    check_counts(results.data, out_of_range);
    require(results.is_contiguous(), "histogram", "the counts have gaps", "pass an array without");
    return {execution_of(context), samples, results, out_of_range};
}

// Adds the samples to the counts, and those that are in no bin to *out_of_range.
template <class Bins>
void count_at_once(const samples_and_counts& arrays, const counting<Bins>& what)
{
    const execution& where = arrays.where;
    const elements& in = arrays.samples;
    const in_use taken(where);
    detail::check_counters(what.bins, arrays.counts.count);
    const folded_input samples("histogram", where, in);
    const bool is_on_gpu = samples.is_on_gpu();
    const bool are_counts_on_gpu = where.lies_on_gpu("histogram", arrays.counts);
    require(is_on_gpu || !are_counts_on_gpu || in.count == 0 || where.gpu == nullptr, "histogram",
            "the counts lie in memory of the GPU, the samples do not", "bring both to the GPU, or to the host");

    check_apart("histogram", in, arrays.counts);

    auto* const counts = reinterpret_cast<std::uint64_t*>(arrays.counts.data);
    auto* const out_of_range = reinterpret_cast<outside*>(arrays.out_of_range);
    if (where.gpu == nullptr) {
        for_each_piece(where.host, in, [&](const std::byte* data, std::uint64_t count) {
            what.add(where.host, data, count, what.bins, {counts, arrays.counts.count}, *out_of_range);
        });
        return;
    }
    if (is_on_gpu &&
        what.count_by_type(where, samples.get(), {counts, arrays.counts.count}, out_of_range, are_counts_on_gpu))
        return;
    const std::unique_ptr<any_counter> counter = what.counter(where);
    if (is_on_gpu && are_counts_on_gpu && counter->count_on_gpu(samples.get(), counts, out_of_range))
        return;
    samples.feed(*counter);
    // What is counted is added on the host, wherever the counts lie.
    const auto copy = [&](void* to, const void* from, std::size_t bytes) {
        if (are_counts_on_gpu)
            gpu::copy_and_wait(*where.gpu, to, from, bytes);
        else
            std::memcpy(to, from, bytes);
    };
    std::vector<std::uint64_t> all(arrays.counts.count);
    std::vector<std::uint64_t> more(all.size());
    outside all_beside;
    outside more_beside;
    counter->result(more, more_beside);
    copy(all.data(), counts, all.size() * sizeof all[0]);
    copy(&all_beside, out_of_range, sizeof all_beside);
    std::ranges::transform(all, more, all.begin(), std::plus{});
    all_beside += more_beside;
    copy(counts, all.data(), all.size() * sizeof all[0]);
    copy(out_of_range, &all_beside, sizeof all_beside);
}

} // namespace

struct upsweep_counter {
    execution where;
    upsweep_dtype dtype;
    std::unique_ptr<any_counter> samples;
    std::size_t bins;
};

namespace {

template <class Bins>
void create(upsweep_context* context, const counting<Bins>& what, upsweep_counter** counter)
{
    const execution where = execution_of(context);
    const in_use taken(where);
    *counter = new upsweep_counter{where, what.dtype, what.counter(where), what.bin_count()};
}

void check_place(upsweep_counter** counter)
{
    require(counter != nullptr, "histogram", "the counter is a null pointer", "pass a pointer to a pointer");
}

} // namespace

extern "C" {

upsweep_status upsweep_histogram_even(upsweep_context* context, const upsweep_array* in, double lo, double hi,
                                      const upsweep_array* counts, upsweep_outside* outside)
{
    return guarded([&] {
        const samples_and_counts arrays = checked_arrays(context, in, counts, outside);
        count_at_once(arrays, counting_even(arrays.samples.dtype, {lo, hi, arrays.counts.count}));
    });
}

upsweep_status upsweep_histogram_edges(upsweep_context* context, const upsweep_array* in, const double* edges,
                                       uint64_t edge_count, const upsweep_array* counts, upsweep_outside* outside)
{
    return guarded([&] {
        const samples_and_counts arrays = checked_arrays(context, in, counts, outside);
        count_at_once(arrays, counting_edges(arrays.samples.dtype, edges, edge_count));
    });
}

upsweep_status upsweep_histogram_letters(upsweep_context* context, const upsweep_array* text, uint64_t group,
                                         const upsweep_array* counts, upsweep_outside* outside)
{
    return guarded([&] {
        const samples_and_counts arrays = checked_arrays(context, text, counts, outside);
        check_same_dtype("histogram", arrays.samples, UPSWEEP_U8);
        count_at_once(arrays, counting_letters(group));
    });
}

upsweep_status upsweep_counter_create_even(upsweep_context* context, upsweep_dtype dtype, double lo, double hi,
                                           uint64_t bins, upsweep_counter** counter)
{
    return guarded([&] {
        check_place(counter);
        create(context, counting_even(dtype, {lo, hi, bins}), counter);
    });
}

upsweep_status upsweep_counter_create_edges(upsweep_context* context, upsweep_dtype dtype, const double* edges,
                                            uint64_t edge_count, upsweep_counter** counter)
{
    return guarded([&] {
        check_place(counter);
        create(context, counting_edges(dtype, edges, edge_count), counter);
    });
}

upsweep_status upsweep_counter_create_letters(upsweep_context* context, uint64_t group, upsweep_counter** counter)
{
    return guarded([&] {
        check_place(counter);
        create(context, counting_letters(group), counter);
    });
}

upsweep_status upsweep_counter_feed(upsweep_counter* counter, const upsweep_array* in)
{
    return guarded([&] {
        require(counter != nullptr, "histogram", "the counter is a null pointer", "create it first");
        const elements from = checked_elements("histogram", "the input", in);
        check_same_dtype("histogram", from, counter->dtype);
        const in_use taken(counter->where);
        folded_input("histogram", counter->where, from).feed(*counter->samples);
    });
}

upsweep_status upsweep_counter_result(const upsweep_counter* counter, uint64_t* counts, upsweep_outside* outside)
{
    return guarded([&] {
        require(counter != nullptr, "histogram", "the counter is a null pointer", "create it first");
        check_counts(counts, outside);
        const in_use taken(counter->where);
        upsweep::outside out_of_range;
        counter->samples->result(std::span(counts, counter->bins), out_of_range);
        *outside = {out_of_range.below, out_of_range.above, out_of_range.nan};
    });
}

void upsweep_counter_destroy(upsweep_counter* counter) { delete counter; }

} // extern "C"
