// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Linear recurrences along an axis.
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <upsweep/recurrence.hpp>
#include <upsweep/runtime.h>

#include "call.hpp"
#include "fold.hpp"
#include "gpu/shapes.hpp"
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

// A dimension of all arrays of a call. The strides are those of a, b, h0 and out.
struct shared_dimension {
    std::size_t extent;
    std::array<std::ptrdiff_t, 4> strides;

    // Whether it and the one behind it are one dimension.
    bool continues(const shared_dimension& behind) const
    {
        for (std::size_t n = 0; n < strides.size(); ++n)
            if (strides[n] != static_cast<std::ptrdiff_t>(behind.extent) * behind.strides[n])
                return false;
        return true;
    }
};

// The axis, and what is left of the other dimensions when those of extent 1 are left out and neighbours are one where they can be.
std::vector<shared_dimension> dimensions_for_gpu(const recurrence_arrays& of, std::size_t axis)
{
    const auto rank = static_cast<std::size_t>(of.a->rank);
    const auto a = view_of<const char>(*of.a, rank);
    const auto b = view_of<const char>(*of.b, rank);
    const auto out = view_of<const char>(*of.out, rank);
    const bool lacks_axis = of.h0 != nullptr && of.h0->rank < of.a->rank;
    const auto h0 = of.h0 != nullptr ? view_of<const char>(*of.h0, rank, lacks_axis ? axis : most_dimensions) : a;
    std::vector<shared_dimension> all{{a.extent(most_dimensions - rank + axis), {}}};
    for (std::size_t k = most_dimensions - rank; k < most_dimensions; ++k) {
        const bool is_axis = k == most_dimensions - rank + axis;
        const shared_dimension next{a.extent(k), {a.stride(k), b.stride(k), is_axis ? 0 : h0.stride(k), out.stride(k)}};
        if (is_axis)
            all.front() = next;
        else if (next.extent != 1 && all.size() > 1 && all.back().continues(next))
            all.back() = {all.back().extent * next.extent, next.strides};
        else if (next.extent != 1)
            all.push_back(next);
    }
    return all;
}

// Refuses arrays whose extents differ: on a CPU the views tell.
void check_extents(const recurrence_arrays& of, std::size_t axis)
{
    bool agree = true;
    for (std::int32_t k = 0; k < of.a->rank; ++k)
        agree = agree && of.b->shape[k] == of.a->shape[k] && of.out->shape[k] == of.a->shape[k];
    if (of.h0 != nullptr)
        for (std::int32_t k = 0, of_h0 = 0; k < of.a->rank; ++k) {
            const bool is_axis = static_cast<std::size_t>(k) == axis;
            if (is_axis && of.h0->rank < of.a->rank)
                continue;
            agree = agree && of.h0->shape[of_h0++] == (is_axis ? 1 : of.a->shape[k]);
        }
    if (!agree)
        throw error(error_kind::invalid_argument, call, "the extents of the arrays differ",
                    "give all arrays the extents of the coefficients, but for the states before the first elements, "
                    "which lack the axis or have it once");
}

void run_on_gpu(const gpu::device& gpu, const recurrence_arrays& of, std::size_t axis, bool backward)
{
    check_extents(of, axis);
    const std::vector<shared_dimension> dimensions = dimensions_for_gpu(of, axis);
    gpu::recurrence_layout layout;
    constexpr const char* what_there_is =
        "a GPU has recurrences along an axis beside which up to 2 dimensions do not lie as fewer";
    must_be_done(call, dimensions.size() <= layout.extents.size(), what_there_is);
    layout.a = of.a->data;
    layout.b = of.b->data;
    layout.h0 = of.h0 != nullptr ? of.h0->data : nullptr;
    layout.out = of.out->data;
    layout.is_backward = backward;
    for (std::size_t k = 0; k < dimensions.size(); ++k) {
        layout.extents[k] = dimensions[k].extent;
        layout.a_strides[k] = dimensions[k].strides[0];
        layout.b_strides[k] = dimensions[k].strides[1];
        layout.h0_strides[k] = dimensions[k].strides[2];
        layout.out_strides[k] = dimensions[k].strides[3];
    }
    must_be_done(call, gpu::linear_recurrence(gpu, of.out->dtype, layout), what_there_is);
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
        if (of_out.dtype < UPSWEEP_F16)
            throw refusal(UPSWEEP_UNSUPPORTED, call, "the results are no floating-point numbers",
                          "convert the arrays to f32 or f64");
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
        const bool is_on_gpu = lie_on_gpu(call, where, {of_a, of_b, of_out});
        check_output(call, of_a, of_out);
        check_output(call, of_b, of_out);
        if (h0 != nullptr) {
            const elements of_h0 = checked_elements(call, "the array of states", h0);
            check_same_dtype(call, of_h0, of_out.dtype);
            if (h0->rank + 1 != a->rank)
                check_rank(*h0, a->rank);
            lie_on_gpu(call, where, {of_h0});
            check_apart(call, of_h0, of_out);
        }
        const recurrence_arrays all{a, b, h0, out};
        if (is_on_gpu)
            return run_on_gpu(*where.gpu, all, static_cast<std::size_t>(axis), backward);
        const cpu& host = where.host;
        const direction begin = backward ? direction::backward : direction::forward;
        with_type(of_out.dtype, [&]<class T>(std::type_identity<T>) {
            if constexpr (!std::integral<T>)
                run<T>(host, all, static_cast<std::size_t>(axis), begin);
        });
    });
}

} // extern "C"
