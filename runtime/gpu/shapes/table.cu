// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>

#include "kernels.hpp"

namespace upsweep::runtime::gpu {

namespace {

template <class T>
inline constexpr value_kernels of_values{reduce_segments_of<T>,
                                         scan_segments_of<T>,
                                         reduce_by_key_of<std::uint32_t, T>,
                                         reduce_by_key_of<std::uint64_t, T>,
                                         scan_by_key_of<std::uint32_t, T>,
                                         scan_by_key_of<std::uint64_t, T>};
template <class Word>
inline constexpr word_kernels of_words{decode_runs_of<Word>, select_of<Word>};

} // namespace

const value_kernels* value_kernels_of(upsweep_dtype dtype)
{
    switch (dtype) {
    case UPSWEEP_I32: return &of_values<std::int32_t>;
    case UPSWEEP_I64: return &of_values<std::int64_t>;
    case UPSWEEP_F32: return &of_values<float>;
    case UPSWEEP_F64: return &of_values<double>;
    default: return nullptr;
    }
}

encode_kernels encode_kernels_of(upsweep_dtype dtype)
{
    switch (dtype) {
    case UPSWEEP_I32:
    case UPSWEEP_U32: return encode_runs_of<std::uint32_t>;
    case UPSWEEP_I64:
    case UPSWEEP_U64: return encode_runs_of<std::uint64_t>;
    case UPSWEEP_F32: return encode_runs_of<float>;
    case UPSWEEP_F64: return encode_runs_of<double>;
    default: return nullptr;
    }
}

const word_kernels* word_kernels_of(std::size_t bytes)
{
    switch (bytes) {
    case 1: return &of_words<std::uint8_t>;
    case 2: return &of_words<std::uint16_t>;
    case 4: return &of_words<std::uint32_t>;
    default: return &of_words<std::uint64_t>;
    }
}

recurrence_kernels recurrence_kernels_of(upsweep_dtype dtype)
{
    return dtype == UPSWEEP_F32 ? recur<float> : recur<double>;
}

} // namespace upsweep::runtime::gpu
