// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Linear recurrences along an axis.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <upsweep/recurrence.hpp>
#include <upsweep/runtime.h>

#include "call.hpp"
#include "fold.hpp"
#include "shapes.hpp"

using namespace upsweep;
using namespace upsweep::runtime;

namespace {

constexpr const char* call = "linear_recurrence";

// The dimensions of an array behind as many of extent 1 as are left; `missing` is an axis that it lacks.
template <class T>
view<T, most_dimensions> view_of(const upsweep_array& array, std::size_t rank, std::size_t missing = most_dimensions)
{
    std::array<std::size_t, most_dimensions> extents;
    std::array<std::ptrdiff_t, most_dimensions> strides;
    extents.fill(1);
    strides.fill(1);
    std::ptrdiff_t behind = 1;
    auto of_array = static_cast<std::size_t>(array.rank);
    for (std::size_t k = rank; k-- > 0;) {
        if (k == missing)
            continue;
        --of_array;
        const std::size_t at = most_dimensions - rank + k;
        extents[at] = static_cast<std::size_t>(array.shape[of_array]);
        strides[at] = array.strides != nullptr ? static_cast<std::ptrdiff_t>(array.strides[of_array]) : behind;
        behind *= static_cast<std::ptrdiff_t>(extents[at]);
    }
    return {static_cast<T*>(array.data), extents, strides};
}

// The arrays of a call, but for the states before the first elements, which may be left out.
struct recurrence_arrays {
    const upsweep_array* a;
    const upsweep_array* b;
    const upsweep_array* h0;
    const upsweep_array* out;
};

void check_rank(const upsweep_array& array, std::int32_t rank)
{
    if (array.rank != rank)
        throw error(error_kind::invalid_argument, call, "the arrays differ in their dimensions",
                    "give all of them the shape of the coefficients, but for the states before the first elements");
}

template <class T>
void run(const cpu& host, const recurrence_arrays& of, std::size_t axis, direction begin)
{
    const auto rank = static_cast<std::size_t>(of.a->rank);
    const auto a = view_of<const T>(*of.a, rank);
    const auto b = view_of<const T>(*of.b, rank);
    const auto out = view_of<T>(*of.out, rank);
    const upsweep::axis along{most_dimensions - rank + axis};
    if (of.h0 == nullptr)
        return linear_recurrence(host, a, b, out, T{}, along, begin);
    const bool lacks_axis = of.h0->rank + 1 == of.a->rank;
    linear_recurrence(host, a, b, out, view_of<const T>(*of.h0, rank, lacks_axis ? axis : most_dimensions), along,
                      begin);
}

} // namespace

extern "C" {

upsweep_status upsweep_linear_recurrence(upsweep_context* context, const upsweep_array* a, const upsweep_array* b,
                                         const upsweep_array* h0, int32_t axis, bool backward, const upsweep_array* out)
{
    return guarded([&] {
        const elements of_a = checked_elements(call, "the array a", a);
        const elements of_b = checked_elements(call, "the array b", b);
        const elements of_out = checked_elements(call, "the output", out);
        if (of_out.dtype != UPSWEEP_F32 && of_out.dtype != UPSWEEP_F64)
            throw refusal(UPSWEEP_UNSUPPORTED, call, "the results are neither f32 nor f64", "convert to one of them");
        check_same_dtype(call, of_a, of_out.dtype);
        check_same_dtype(call, of_b, of_out.dtype);
        if (a->rank > static_cast<std::int32_t>(most_dimensions))
            throw refusal(UPSWEEP_UNSUPPORTED, call, "the arrays have more than 8 dimensions", "reshape them to fewer");
        if (axis < 0 || axis >= a->rank)
            throw error(error_kind::invalid_argument, call,
                        "axis " + std::to_string(axis) + " of an array of " + std::to_string(a->rank) + " dimensions",
                        "number the axes from 0");
        check_rank(*b, a->rank);
        check_rank(*out, a->rank);
        const execution where = execution_of(context);
        const in_use taken(where);
        const cpu& host = host_of(call, where);
        for (const elements& each : {of_a, of_b, of_out})
            where.lies_on_gpu(call, each);
        check_output(call, of_a, of_out);
        check_output(call, of_b, of_out);
        if (h0 != nullptr) {
            const elements of_h0 = checked_elements(call, "the array of states", h0);
            check_same_dtype(call, of_h0, of_out.dtype);
            if (h0->rank + 1 != a->rank)
                check_rank(*h0, a->rank);
            where.lies_on_gpu(call, of_h0);
            check_apart(call, of_h0, of_out);
        }
        const recurrence_arrays all{a, b, h0, out};
        const direction begin = backward ? direction::backward : direction::forward;
        if (of_out.dtype == UPSWEEP_F32)
            run<float>(host, all, static_cast<std::size_t>(axis), begin);
        else
            run<double>(host, all, static_cast<std::size_t>(axis), begin);
    });
}

} // extern "C"
