// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include <upsweep/error.hpp>

namespace upsweep {

// The concepts of ranges come with <span>, which is made of them. <ranges> would bring the views, too: with nvcc, that
// takes as long as a kernel.

// What verbs read: a span, a vector, an array, or any other random-access range that knows its size, a transform view
// for one.
template <class R>
concept input_range = std::ranges::random_access_range<R> && std::ranges::sized_range<R>;

// What a scan writes: such a range whose elements can be assigned.
template <class R>
concept output_range = input_range<R> && std::ranges::output_range<R, std::ranges::range_value_t<R>>;

namespace detail {

// The beginning of a range: a pointer where the elements are contiguous, so that the engines need not know the
// container.
template <input_range R>
auto first_of(R&& range)
{
    if constexpr (std::ranges::contiguous_range<R>)
        return std::ranges::data(range);
    else
        return std::ranges::begin(range);
}

template <input_range R>
std::size_t size_of(R&& range)
{
    return static_cast<std::size_t>(std::ranges::size(range));
}

// An iterator whose elements lie apart, that of up::view for one. Engines ask it at run time whether they lie one
// behind the other, at address(), and else copy blocks of them, which is faster than one after the other.
template <class It>
concept strided_iterator = requires(const It& it, std::size_t count, std::iter_value_t<It>* elements)
{
    {
        it.is_contiguous()
        } -> std::same_as<bool>;
    it.address();
    it.read(count, elements);
};

// Whether two contiguous ranges, by their first_of, are the same elements.
template <class In, class Out>
bool same_elements(In in, Out out)
{
    if constexpr (std::is_pointer_v<In> && std::is_pointer_v<Out>)
        return static_cast<const void*>(in) == static_cast<const void*>(out) && sizeof(*in) == sizeof(*out);
    else
        return false;
}

// A scan may be in place, but not half in place: results would overwrite elements that are still to be read.
template <class In, class Out>
void check_overlap(std::string_view call, In in, Out out, std::size_t count)
{
    if constexpr (std::is_pointer_v<In> && std::is_pointer_v<Out>) {
        const auto in_first = reinterpret_cast<std::uintptr_t>(in);
        const auto out_first = reinterpret_cast<std::uintptr_t>(out);
        const bool apart = in_first + count * sizeof(*in) <= out_first || out_first + count * sizeof(*out) <= in_first;
        if (!apart && !same_elements(in, out))
            throw error(error_kind::invalid_argument, call, "input and output overlap without being the same span",
                        "scan in place or into a span of its own");
    }
}

} // namespace detail
} // namespace upsweep
