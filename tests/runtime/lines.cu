// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// In the simulator sums, variances, scans, logarithms of sums and positions of minima of f32, and other operators on integers of 32 bits, stand for all folds along an
// axis.
#include <cstdint>
#include <type_traits>

#include <gpu/lines/arguments.cuh>
#include <gpu/lines/variances.cuh>

UPSWEEP_SUM_LINES(float);
UPSWEEP_SCAN_SUMS_OF_LINES(float);
UPSWEEP_WORD_EXTREMA_OF_LINES(std::uint32_t);
UPSWEEP_BITS_OF_LINES(std::uint32_t);
UPSWEEP_SCAN_LINES_BY_ANY(std::uint32_t);
UPSWEEP_LOG_SUM_EXP_OF_LINES(float);
UPSWEEP_RUNNING_LOG_SUM_EXP_OF_LINES(float);
UPSWEEP_ARGUMENTS_OF_LINES(float);
UPSWEEP_VARIANCES_OF_LINES(float);

namespace upsweep::runtime::gpu {

namespace {

[[noreturn]] void throw_left_out()
{
    throw error(error_kind::unsupported, "upsweep", "the simulator has no kernel for this type", "take f32");
}

} // namespace

#define UPSWEEP_LEFT_OUT(T)                                                                                            \
    template <>                                                                                                        \
    void sum_lines<T>(const cuda&, const line_layout&, bool, bool)                                                     \
    {                                                                                                                  \
        throw_left_out();                                                                                              \
    }
UPSWEEP_LEFT_OUT(std::int8_t)
UPSWEEP_LEFT_OUT(std::uint8_t)
UPSWEEP_LEFT_OUT(std::int16_t)
UPSWEEP_LEFT_OUT(std::uint16_t)
UPSWEEP_LEFT_OUT(std::int32_t)
UPSWEEP_LEFT_OUT(std::uint32_t)
UPSWEEP_LEFT_OUT(std::uint64_t)
UPSWEEP_LEFT_OUT(f16)
UPSWEEP_LEFT_OUT(bf16)
UPSWEEP_LEFT_OUT(double)
#undef UPSWEEP_LEFT_OUT
#define UPSWEEP_LEFT_OUT(T)                                                                                            \
    template <>                                                                                                        \
    void extrema_of_half_floats<T>(const cuda&, const shape_fold&, const line_layout&)                                 \
    {                                                                                                                  \
        throw_left_out();                                                                                              \
    }
UPSWEEP_LEFT_OUT(f16)
UPSWEEP_LEFT_OUT(bf16)
#undef UPSWEEP_LEFT_OUT
#define UPSWEEP_LEFT_OUT(T)                                                                                            \
    template <>                                                                                                        \
    void products_of_lines<T>(const cuda&, const line_layout&)                                                         \
    {                                                                                                                  \
        throw_left_out();                                                                                              \
    }
UPSWEEP_LEFT_OUT(std::int8_t)
UPSWEEP_LEFT_OUT(std::uint8_t)
UPSWEEP_LEFT_OUT(std::int16_t)
UPSWEEP_LEFT_OUT(std::uint16_t)
UPSWEEP_LEFT_OUT(std::int32_t)
UPSWEEP_LEFT_OUT(std::uint32_t)
UPSWEEP_LEFT_OUT(std::uint64_t)
UPSWEEP_LEFT_OUT(f16)
UPSWEEP_LEFT_OUT(bf16)
UPSWEEP_LEFT_OUT(float)
UPSWEEP_LEFT_OUT(double)
#undef UPSWEEP_LEFT_OUT
#define UPSWEEP_LEFT_OUT(T)                                                                                            \
    template <>                                                                                                        \
    void extrema_of_lines<T>(const cuda&, upsweep_op, const line_layout&)                                              \
    {                                                                                                                  \
        throw_left_out();                                                                                              \
    }
UPSWEEP_LEFT_OUT(std::int8_t)
UPSWEEP_LEFT_OUT(std::uint8_t)
UPSWEEP_LEFT_OUT(std::int16_t)
UPSWEEP_LEFT_OUT(std::uint16_t)
UPSWEEP_LEFT_OUT(std::int32_t)
UPSWEEP_LEFT_OUT(std::int64_t)
UPSWEEP_LEFT_OUT(float)
UPSWEEP_LEFT_OUT(double)
#undef UPSWEEP_LEFT_OUT
template <>
void word_extrema_of_lines<std::uint64_t>(const cuda&, const shape_fold&, upsweep_dtype, const line_layout&)
{
    throw_left_out();
}
template <>
void bits_of_lines<std::uint64_t>(const cuda&, const shape_fold&, const line_layout&)
{
    throw_left_out();
}
#define UPSWEEP_LEFT_OUT(T)                                                                                            \
    template <>                                                                                                        \
    void scan_lines_by_any<T>(const cuda&, const shape_fold&, const line_layout&, const scan_start&)                   \
    {                                                                                                                  \
        throw_left_out();                                                                                              \
    }
UPSWEEP_LEFT_OUT(std::uint64_t)
UPSWEEP_LEFT_OUT(float)
UPSWEEP_LEFT_OUT(double)
#undef UPSWEEP_LEFT_OUT
#define UPSWEEP_LEFT_OUT(T)                                                                                            \
    template <>                                                                                                        \
    void log_sum_exp_of_lines<T>(const cuda&, const line_layout&)                                                      \
    {                                                                                                                  \
        throw_left_out();                                                                                              \
    }                                                                                                                  \
    template <>                                                                                                        \
    void running_log_sum_exp_of_lines<T>(const cuda&, const line_layout&, const scan_start&)                           \
    {                                                                                                                  \
        throw_left_out();                                                                                              \
    }
UPSWEEP_LEFT_OUT(double)
#undef UPSWEEP_LEFT_OUT
#define UPSWEEP_LEFT_OUT(T)                                                                                            \
    template <>                                                                                                        \
    void variances_of_lines<T>(const cuda&, line_layout, std::optional<double>)                                        \
    {                                                                                                                  \
        throw_left_out();                                                                                              \
    }
UPSWEEP_LEFT_OUT(f16)
UPSWEEP_LEFT_OUT(bf16)
UPSWEEP_LEFT_OUT(double)
#undef UPSWEEP_LEFT_OUT
#define UPSWEEP_LEFT_OUT(T)                                                                                            \
    template <>                                                                                                        \
    void scan_sums_of_lines<T>(const cuda&, const line_layout&, const scan_start&)                                     \
    {                                                                                                                  \
        throw_left_out();                                                                                              \
    }
UPSWEEP_LEFT_OUT(std::uint32_t)
UPSWEEP_LEFT_OUT(std::uint64_t)
UPSWEEP_LEFT_OUT(f16)
UPSWEEP_LEFT_OUT(bf16)
UPSWEEP_LEFT_OUT(double)
#undef UPSWEEP_LEFT_OUT
#define UPSWEEP_LEFT_OUT(T)                                                                                            \
    template <>                                                                                                        \
    void arguments_of_lines<T>(const cuda&, upsweep_op, const line_layout&)                                            \
    {                                                                                                                  \
        throw_left_out();                                                                                              \
    }
UPSWEEP_LEFT_OUT(std::int8_t)
UPSWEEP_LEFT_OUT(std::uint8_t)
UPSWEEP_LEFT_OUT(std::int16_t)
UPSWEEP_LEFT_OUT(std::uint16_t)
UPSWEEP_LEFT_OUT(std::int32_t)
UPSWEEP_LEFT_OUT(std::uint32_t)
UPSWEEP_LEFT_OUT(std::int64_t)
UPSWEEP_LEFT_OUT(std::uint64_t)
UPSWEEP_LEFT_OUT(double)
UPSWEEP_LEFT_OUT(f16)
UPSWEEP_LEFT_OUT(bf16)

} // namespace upsweep::runtime::gpu
