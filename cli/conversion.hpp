// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <upsweep/runtime.h>

#include "inputs.hpp"

namespace upsweep::cli {

// The type to which a reduce converts its elements so that its result, converted to `out` once more, is the last value
// of a scan of the same elements with results of type `out`. Throws a failure that begins with `name` where there is no
// such scan: the operator is not defined for one of the types, or floating-point numbers would become integers.
[[nodiscard]] upsweep_dtype folded_dtype(upsweep_op op, upsweep_dtype in, upsweep_dtype out, const std::string& name);

// Gives elements of one type to `take` as elements of another, piece by piece and in order. An integer that the other type does not
// have is a failure, unless `wraps` has it taken modulo a power of two.
class element_converter {
public:
    element_converter(upsweep_dtype from, upsweep_dtype to, bool wraps) : from_(from), to_(to), wraps_(wraps) {}

    using sink = std::function<void(const void* elements, std::uint64_t count)>;
    void operator()(const input_chunk& chunk, const sink& take);

private:
    upsweep_dtype from_;
    upsweep_dtype to_;
    bool wraps_;
    std::vector<std::uint64_t> converted_; // words, so that elements of every type are aligned
};

// One value; `in` may be `out`.
void convert_value(upsweep_dtype from, const void* in, upsweep_dtype to, void* out);

} // namespace upsweep::cli
