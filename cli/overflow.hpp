// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <upsweep/runtime.h>

#include "inputs.hpp"
#include "runtime_call.hpp"

// Integers that a type of 8 to 64 bits does not have: the library takes them modulo a power of two, which the command tells rather than
// shows.
namespace upsweep::cli {

__extension__ using int128 = __int128;

// Bool, and integers.
[[nodiscard]] bool is_integral(upsweep_dtype dtype);
[[nodiscard]] inline bool is_integer(upsweep_dtype dtype) { return is_integral(dtype) && dtype != UPSWEEP_BOOL; }

// Stores the number, modulo a power of two, as one of a type of integers. Returns whether it is the same number.
[[nodiscard]] bool store_integer(int128 number, upsweep_dtype dtype, scalar& value);

// What upsweep_reduce makes of integers, or of bool.
[[nodiscard]] int128 integer_fold(upsweep_context& context, upsweep_op op, const upsweep_array& in,
                                  const std::string& file);

// Throws a failure that names the first element of the chunk that `to` does not have, where both are types of integers.
void check_elements_fit(const input_chunk& chunk, upsweep_dtype from, upsweep_dtype to);

// Looks for the first value of a scan that is not the sum or the product of its prefix: the first that is not that of the value before it
// and of the element between.
class scan_check {
public:
    // `init` is the value before the first element, of type `out`.
    scan_check(upsweep_op op, bool exclusive, upsweep_dtype in, upsweep_dtype out, const scalar* init);

    // Throws a failure that names the first element of a piece of a chunk, from its element `first` on, whose value has wrapped.
    void feed(const input_chunk& chunk, std::uint64_t first, std::uint64_t count, const void* values);

private:
    template <class In, class Out>
    std::optional<std::uint64_t> first_wrapped(const In* elements, const Out* values, std::uint64_t count);
    template <class In, class Out>
    bool cannot_wrap(std::uint64_t count) const;

    upsweep_op op_;
    bool exclusive_;
    upsweep_dtype in_;
    upsweep_dtype out_;
    int128 last_value_ = 0; // or the initial one
    // Of an exclusive scan: the last element, which the next value has. There is none before the first value.
    std::optional<int128> last_element_ = {};
};

} // namespace upsweep::cli
