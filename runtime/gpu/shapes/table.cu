// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "../any_op.hpp"
#include "kernels.hpp"

namespace upsweep::runtime::gpu {

namespace {

template <class Key, class Word, class Operators>
inline constexpr key_kernels of_keys{reduce_by_key_of<Key, Word, Operators>, scan_by_key_of<Key, Word, Operators>};
template <class Word, class Operators>
inline constexpr segment_kernels of_segments{reduce_segments_of<Word, Operators>, scan_segments_of<Word, Operators>};
template <class Word>
inline constexpr word_kernels of_words{decode_runs_of<Word>, select_of<Word>, partition_of<Word>};
template <class T, class Bins>
inline constexpr histogram_kernels<Bins> of_samples{count_lines_of<T, Bins>, count_segments_of<T, Bins>};

template <class T, class Bins>
weight_kernels<Bins> kernels_of_weights(upsweep_dtype weights)
{
    switch (weights) {
    case UPSWEEP_F32: return add_up_weights_of<T, float, Bins>;
    case UPSWEEP_F64: return add_up_weights_of<T, double, Bins>;
    case UPSWEEP_I64:
    case UPSWEEP_U64: return add_up_weights_of<T, std::int64_t, Bins>;
    default: return nullptr;
    }
}

// Calls f(word, operators) with the types that kernels of a fold are instantiated for.
template <class F>
void with_kernels_of(const shape_fold& fold, F f)
{
    with_folded_type(fold.dtype, [&]<class Word>(Word word) {
        if constexpr (std::floating_point<Word>)
            if (fold.op == UPSWEEP_LOG_SUM_EXP)
                return f(word, std::type_identity<log_sum_exp_alone>{});
        f(word, std::type_identity<any_operator>{});
    });
}

} // namespace

const segment_kernels& segment_kernels_of(const shape_fold& fold)
{
    const segment_kernels* kernels = nullptr;
    with_kernels_of(fold, [&]<class Word, class Operators>(Word, std::type_identity<Operators>) {
        kernels = &of_segments<Word, Operators>;
    });
    return *kernels;
}

const key_kernels& key_kernels_of(const shape_fold& fold, std::size_t key_bytes)
{
    const key_kernels* kernels = nullptr;
    with_kernels_of(fold, [&]<class Word, class Operators>(Word, std::type_identity<Operators>) {
        kernels = key_bytes == 4 ? &of_keys<std::uint32_t, Word, Operators> : &of_keys<std::uint64_t, Word, Operators>;
    });
    return *kernels;
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

// Sums of integers are those of unsigned ones, of which a narrower element may be signed.
image_kernels image_kernels_of(upsweep_dtype in, upsweep_dtype out)
{
    struct entry {
        upsweep_dtype in;
        upsweep_dtype out;
        image_kernels kernels;
    };
    static constexpr entry all[]{{UPSWEEP_F32, UPSWEEP_F32, integrate<float, float>},
                                 {UPSWEEP_F16, UPSWEEP_F32, integrate<f16, float>},
                                 {UPSWEEP_BF16, UPSWEEP_F32, integrate<bf16, float>},
                                 {UPSWEEP_F64, UPSWEEP_F64, integrate<double, double>},
                                 {UPSWEEP_F32, UPSWEEP_F64, integrate<float, double>},
                                 {UPSWEEP_F16, UPSWEEP_F16, integrate<f16, f16>},
                                 {UPSWEEP_BF16, UPSWEEP_BF16, integrate<bf16, bf16>},
                                 {UPSWEEP_U32, UPSWEEP_U32, integrate<std::uint32_t, std::uint32_t>},
                                 {UPSWEEP_U8, UPSWEEP_U32, integrate<std::uint8_t, std::uint32_t>},
                                 {UPSWEEP_U64, UPSWEEP_U64, integrate<std::uint64_t, std::uint64_t>},
                                 {UPSWEEP_U32, UPSWEEP_U64, integrate<std::uint32_t, std::uint64_t>},
                                 {UPSWEEP_I32, UPSWEEP_U64, integrate<std::int32_t, std::uint64_t>},
                                 {UPSWEEP_U8, UPSWEEP_U64, integrate<std::uint8_t, std::uint64_t>}};
    const auto without_sign = [](upsweep_dtype dtype) {
        return dtype == UPSWEEP_I64 ? UPSWEEP_U64 : dtype == UPSWEEP_I32 ? UPSWEEP_U32 : dtype;
    };
    const upsweep_dtype sums = without_sign(out);
    const upsweep_dtype elements = upsweep_dtype_size(in) == upsweep_dtype_size(out) ? without_sign(in) : in;
    for (const entry& each : all)
        if (each.in == elements && each.out == sums)
            return each.kernels;
    return nullptr;
}

recurrence_kernels recurrence_kernels_of(upsweep_dtype dtype)
{
    switch (dtype) {
    case UPSWEEP_F16: return recur<f16>;
    case UPSWEEP_BF16: return recur<bf16>;
    case UPSWEEP_F32: return recur<float>;
    case UPSWEEP_F64: return recur<double>;
    default: return nullptr;
    }
}

template <class Bins>
const histogram_kernels<Bins>* histogram_kernels_of(upsweep_dtype dtype)
{
    switch (dtype) {
    case UPSWEEP_U8: return &of_samples<std::uint8_t, Bins>;
    case UPSWEEP_I32: return &of_samples<std::int32_t, Bins>;
    case UPSWEEP_F32: return &of_samples<float, Bins>;
    case UPSWEEP_F64: return &of_samples<double, Bins>;
    default: return nullptr;
    }
}
template const histogram_kernels<even_bins>* histogram_kernels_of<even_bins>(upsweep_dtype);
template const histogram_kernels<edges>* histogram_kernels_of<edges>(upsweep_dtype);

template <class Bins>
weight_kernels<Bins> weight_kernels_of(upsweep_dtype samples, upsweep_dtype weights)
{
    switch (samples) {
    case UPSWEEP_I32: return kernels_of_weights<std::int32_t, Bins>(weights);
    case UPSWEEP_F32: return kernels_of_weights<float, Bins>(weights);
    case UPSWEEP_F64: return kernels_of_weights<double, Bins>(weights);
    default: return nullptr;
    }
}
template weight_kernels<even_bins> weight_kernels_of<even_bins>(upsweep_dtype, upsweep_dtype);
template weight_kernels<edges> weight_kernels_of<edges>(upsweep_dtype, upsweep_dtype);

} // namespace upsweep::runtime::gpu
