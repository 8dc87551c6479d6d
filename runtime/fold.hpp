// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "array.hpp"
#include "context.hpp"
#include "engine.hpp"

// What the functions of the C ABI that fold have in common.
namespace upsweep::runtime {

// Returns the engine of the CPU for a dtype.
const dtype_engine& engine(upsweep_dtype dtype);

// Refuses an array of another type than what it is fed to.
void check_same_dtype(const char* call, const elements& in, upsweep_dtype dtype);

// Makes a reduction of elements of a dtype; throws where the operator is not defined for it.
std::unique_ptr<any_reducer> make_reducer_for(const execution& where, upsweep_op op, upsweep_dtype dtype);

// Converts elements as a scan does, on the calling thread.
void convert_elements(upsweep_dtype from, const void* in, upsweep_dtype to, void* out, std::size_t count);

// Refuses types between which there is no scan by the operator.
void check_scan_types(upsweep_op op, upsweep_dtype in_dtype, upsweep_dtype out_dtype);

// Refuses an output of a scan that has not as many elements as the input.
void check_count_of_scan(const char* call, const elements& in, const elements& out);

// Makes a scan of elements of one type with results of another; they have been checked.
std::unique_ptr<any_scanner> make_scanner_for(const execution& where, upsweep_op op, bool exclusive,
                                              upsweep_dtype in_dtype, upsweep_dtype out_dtype, const void* init);

// Elements within reach of a context, as they are folded there: those on a GPU as an array without gaps, which is copied
// once if it must be.
class folded_input {
public:
    folded_input(const char* call, const execution& where, const elements& in)
        : host_(where.host), elements_(in), is_on_gpu_(where.lies_on_gpu(call, in))
    {
        if (is_on_gpu_)
            elements_ = on_gpu_.emplace(*where.gpu, in).get();
    }

    bool is_on_gpu() const { return is_on_gpu_; }
    const elements& get() const { return elements_; }

    // Feeds all elements to a reducer or a counter.
    template <class To>
    void feed(To& to) const
    {
        if (is_on_gpu_)
            to.feed_on_gpu(elements_);
        else
            for_each_piece(host_, elements_, [&](const std::byte* data, std::uint64_t count) {
                to.feed(data, count);
                if constexpr (requires { to.is_decided(); })
                    return !to.is_decided();
            });
    }

private:
    cpu host_;
    elements elements_;
    bool is_on_gpu_;
    std::optional<gpu::without_gaps> on_gpu_;
};

} // namespace upsweep::runtime
