// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "../runtime/element_type.hpp"

// What libupsweep tells about element types, without a need to link it.
namespace upsweep::files {

using runtime::with_type;

inline std::uint64_t dtype_size(upsweep_dtype dtype)
{
    return with_type(dtype, []<class T>(std::type_identity<T>) -> std::uint64_t { return sizeof(T); });
}

// The shorter name: "f32".
[[nodiscard]] std::string_view dtype_name(upsweep_dtype dtype);

} // namespace upsweep::files
