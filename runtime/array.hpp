// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <upsweep/runtime.h>
#include <upsweep/target.hpp>
#include <upsweep/view.hpp>

// The arrays of the C ABI: checked, and told by as few dimensions as there can be.
namespace upsweep::runtime {

inline constexpr std::size_t most_dimensions = 8;

// Where the elements of an array lie, in their order. The last dimensions are the array's; those before them have
// extent 1.
struct elements {
    std::byte* data = nullptr;
    upsweep_dtype dtype = UPSWEEP_U8;
    upsweep_memory memory = UPSWEEP_HOST;
    int device = 0;
    std::uint64_t count = 0;
    std::array<std::size_t, most_dimensions> extents{};
    std::array<std::ptrdiff_t, most_dimensions> strides{}; // in elements

    std::size_t bytes() const { return upsweep_dtype_size(dtype); } // of one element
    bool is_contiguous() const;
    bool lies_in_host() const { return memory != UPSWEEP_DEVICE; }
};

// Checks what an array says of itself: that its type, memory and shape exist, and that elements lie in memory, aligned.
// `name` is what messages call it. Throws refusal and error.
elements checked_elements(const char* call, const char* name, const upsweep_array* array);

// Refuses an output that has a place for two of its elements.
void check_places(const char* call, const elements& out);

// Refuses the same, and an output that shares memory with other elements of `in`.
void check_output(const char* call, const elements& in, const elements& out);

// Refuses an output that shares memory with `in`, be it the same array.
void check_apart(const char* call, const elements& in, const elements& out);

// The elements in another order, those of the last dimension lying closest together, by as few dimensions as there can be.
elements in_order_of_strides(const elements& of);

// The elements in the order in which they lie in memory, side by side, if there are no gaps between them: those of a transposed array, say.
std::optional<elements> in_order_of_memory(const elements& of);

// Makes elements those of an array that has as many as `extent` of them, which lie `stride` apart: with one more dimension before the others, unless they lie as
// along the first of these.
void put_before(elements& of, std::size_t extent, std::ptrdiff_t stride);

// Two arrays of the same extents with their elements in another order, that in which the output lies in memory, if they are told by the same
// dimensions.
std::pair<elements, elements> in_order_of_output(const elements& in, const elements& out);

// Copies elements `first` to `first + count` to an array without gaps, or from there, by the threads of `host`. They lie in
// memory that the host reaches.
void gather(const cpu& host, const elements& from, std::uint64_t first, std::uint64_t count, std::byte* to);
void scatter(const cpu& host, const std::byte* from, std::uint64_t first, std::uint64_t count, const elements& to);

// How many elements that are not in one piece are gathered at a time: so many stay in the caches of the threads.
std::uint64_t gathered_at_once(const cpu& host, const elements& of);

// Calls f(data, count) for all elements, which lie in memory that the host reaches: where they lie if they are in one piece,
// or else gathered piece by piece, as long as f needs more, if it returns whether it does.
template <class F>
void for_each_piece(const cpu& host, const elements& in, F f)
{
    if (in.count == 0 || in.is_contiguous()) {
        f(static_cast<const std::byte*>(in.data), in.count);
        return;
    }
    const std::uint64_t most = std::min(gathered_at_once(host, in), in.count);
    std::vector<std::byte> piece(most * in.bytes());
    for (std::uint64_t first = 0; first < in.count; first += most) {
        const std::uint64_t count = std::min(most, in.count - first);
        gather(host, in, first, count, piece.data());
        const auto* const data = static_cast<const std::byte*>(piece.data());
        if constexpr (std::is_void_v<std::invoke_result_t<F, const std::byte*, std::uint64_t>>)
            f(data, count);
        else if (!f(data, count))
            return;
    }
}

} // namespace upsweep::runtime
