// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Select and partition by flags. Elements are moved, whatever they mean: there is one instantiation for all types of a size.
#include <cstdint>
#include <span>
#include <string>

#include <upsweep/runtime.h>
#include <upsweep/select.hpp>

#include "call.hpp"
#include "fold.hpp"
#include "gpu/shapes.hpp"
#include "shapes.hpp"

using namespace upsweep;
using namespace upsweep::runtime;

namespace {

template <class F>
void with_word(std::size_t bytes, F f)
{
    switch (bytes) {
    case 1: return f(std::uint8_t{});
    case 2: return f(std::uint16_t{});
    case 4: return f(std::uint32_t{});
    default: return f(std::uint64_t{});
    }
}

// Calls move(host, elements, flags, room for results), spans, which returns how many results there are, or for memory of a GPU
// move_on_gpu(device, elements, flags, room for results).
template <class Move, class MoveOnGpu>
void move_by_flags(const char* call, upsweep_context* context, const upsweep_array* in, const upsweep_array* flags,
                   const upsweep_array* out, std::uint64_t* selected, Move move, MoveOnGpu move_on_gpu)
{
    const elements from = checked_elements(call, "the input", in);
    const elements each = checked_elements(call, "the array of flags", flags);
    const elements to = checked_elements(call, "the output", out);
    check_same_dtype(call, each, UPSWEEP_BOOL);
    check_same_dtype(call, to, from.dtype);
    require(selected != nullptr, call, "the number of selected elements is a null pointer", "pass where it is written");
    if (from.count != each.count)
        throw error(error_kind::invalid_argument, call,
                    "there are " + std::to_string(from.count) + " elements and " + std::to_string(each.count) +
                        " flags",
                    "give one flag an element");
    const execution where = execution_of(context);
    const in_use taken(where);
    const bool is_on_gpu = lie_on_gpu(call, where, {from, each, to});
    const cpu& host = where.host;
    check_places(call, to);
    check_apart(call, from, to);
    check_apart(call, each, to);
    if (is_on_gpu) {
        check_has_no_gaps(call, to);
        const gpu::without_gaps all(*where.gpu, from);
        const gpu::without_gaps truths(*where.gpu, each);
        const gpu::found_on_gpu found = move_on_gpu(*where.gpu, all.get(), truths.get(), to);
        must_be_done(call, found.is_done, "a GPU moves elements of up to 64 bits");
        if (found.count > to.count)
            detail::refuse_selection(call, "selected", found.count, to.count);
        *selected = found.count;
        return;
    }
    const side_by_side all(host, from);
    const side_by_side truths(host, each);
    results_side_by_side results(host, to, to.count);
    with_word(from.bytes(), [&]<class Word>(Word) {
        const std::uint64_t moved = move(host, std::span(reinterpret_cast<const Word*>(all.data()), from.count),
                                         std::span(reinterpret_cast<const std::uint8_t*>(truths.data()), from.count),
                                         std::span(reinterpret_cast<Word*>(results.data()), to.count), selected);
        results.write(0, moved);
    });
}

} // namespace

extern "C" {

upsweep_status upsweep_select(upsweep_context* context, const upsweep_array* in, const upsweep_array* flags,
                              const upsweep_array* out, uint64_t* selected)
{
    return guarded([&] {
        move_by_flags(
            "select", context, in, flags, out, selected,
            [](const cpu& host, auto from, auto truths, auto to, std::uint64_t* count) {
                upsweep::select(host, from, truths, to, count);
                return *count;
            },
            gpu::select);
    });
}

upsweep_status upsweep_partition(upsweep_context* context, const upsweep_array* in, const upsweep_array* flags,
                                 const upsweep_array* out, uint64_t* selected)
{
    return guarded([&] {
        move_by_flags(
            "partition", context, in, flags, out, selected,
            [](const cpu& host, auto from, auto truths, auto to, std::uint64_t* count) {
                upsweep::partition(host, from, truths, to, count);
                return static_cast<std::uint64_t>(from.size());
            },
            gpu::partition);
    });
}

} // extern "C"
