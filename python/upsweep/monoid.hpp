// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

// What upsweep.monoid compiles for an operator of the user: the engine of the CPU, for arrays of up to 8 dimensions.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>

#include <upsweep/axis.hpp>

namespace upsweep::python {

inline constexpr std::size_t rank = 8;

// Elements as Python tells them; the same struct is in upsweep/_monoid.py. Strides are in elements.
struct array {
    void* data;
    std::int64_t extents[rank];
    std::int64_t strides[rank];
};

template <class T>
view<T, rank> view_of(const array& of)
{
    std::array<std::size_t, rank> extents;
    std::array<std::ptrdiff_t, rank> strides;
    for (std::size_t k = 0; k < rank; ++k) {
        extents[k] = static_cast<std::size_t>(of.extents[k]);
        strides[k] = static_cast<std::ptrdiff_t>(of.strides[k]);
    }
    return {static_cast<T*>(of.data), extents, strides};
}

inline constexpr std::size_t message_bytes = 1024;

// No exception leaves the library. Returns 0, or 1 and what has failed.
template <class Call>
int guarded(char* message, Call call)
{
    try {
        call();
        return 0;
    } catch (const std::exception& failure) {
        std::snprintf(message, message_bytes, "%s", failure.what());
        return 1;
    }
}

template <class T, class F>
int reduce(const array* in, const array* out, std::int64_t along, const void* identity, char* message)
{
    return guarded(message, [&] {
        const monoid op{F{}, *static_cast<const T*>(identity)};
        upsweep::reduce(cpu{}, view_of<const T>(*in), axis{static_cast<std::size_t>(along)}, view_of<T>(*out), op);
    });
}

// `init` may be null.
template <class T, class F>
int scan(const array* in, const array* out, std::int64_t along, const void* identity, const void* init, bool exclusive,
         char* message)
{
    return guarded(message, [&] {
        const monoid op{F{}, *static_cast<const T*>(identity)};
        const axis of{static_cast<std::size_t>(along)};
        const auto from = view_of<const T>(*in);
        const auto to = view_of<T>(*out);
        const auto* first = static_cast<const T*>(init);
        if (exclusive)
            detail::scan_lines<scan_kind::exclusive>(cpu{}, from, of, to, op, first);
        else
            detail::scan_lines<scan_kind::inclusive>(cpu{}, from, of, to, op, first);
    });
}

} // namespace upsweep::python
