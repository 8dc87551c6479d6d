// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "fold.hpp"

#include <fmt/format.h>

#include "conversion.hpp"
#include "exact_product.hpp"
#include "exact_sum.hpp"
#include "overflow.hpp"

namespace upsweep::cli {

namespace {

// By the library, in the type of the elements or in another one.
class library_fold final : public fold {
public:
    library_fold(upsweep_context* context, const fold_kind& kind)
        : out_(kind.out), folded_(kind.out ? folded_dtype(kind.op, kind.in, *kind.out, kind.name) : kind.in),
          as_folded_(kind.in, folded_, kind.wraps), name_(kind.name)
    {
        check(upsweep_reduce_dtype(kind.op, folded_, &result_), name_);
        upsweep_reducer* created = nullptr;
        check(upsweep_reducer_create(context, kind.op, folded_, &created), name_);
        reducer_.reset(created);
    }

    void feed(const input_chunk& chunk) override
    {
        as_folded_(chunk, [&](const void* converted, std::uint64_t count) {
            const auto size = static_cast<std::int64_t>(count);
            const upsweep_array piece = upsweep_array_of(converted, folded_, &size);
            check(upsweep_reducer_feed(reducer_.get(), &piece), chunk.file);
        });
    }

    fold_result result() override
    {
        fold_result total{result_};
        check(upsweep_reducer_result(reducer_.get(), &total.value), name_);
        if (out_) {
            convert_value(result_, &total.value, *out_, &total.value);
            total.dtype = *out_;
        }
        return total;
    }

private:
    std::optional<upsweep_dtype> out_;
    upsweep_dtype folded_;
    upsweep_dtype result_{};
    element_converter as_folded_;
    reducer_ptr reducer_;
    std::string name_;
};

// Sums and products of integers as they are, not modulo a power of two.
template <class Accumulator>
class exact_fold final : public fold {
public:
    exact_fold(upsweep_context* context, const fold_kind& kind)
        : accumulator_(context, kind.in, kind.on_gpu), kind_(kind)
    {
        check(upsweep_reduce_dtype(kind.op, kind.in, &natural_), kind.name);
    }

    void feed(const input_chunk& chunk) override { accumulator_.feed(chunk); }

    fold_result result() override
    {
        const int128 total = accumulator_.value();
        fold_result result{kind_.out.value_or(natural_)};
        if (store_integer(total, result.dtype, result.value))
            return result;
        result.i128_digits = fmt::format("{}", total);
        if (kind_.out)
            throw failure(
                fmt::format("{}: the {} is {}, which does not fit {}; give a wider --out-dtype, or --wrap for "
                            "it modulo 2^{}",
                            kind_.name, Accumulator::noun, result.i128_digits, upsweep_dtype_name(*kind_.out),
                            8 * upsweep_dtype_size(*kind_.out)));
        return result;
    }

private:
    Accumulator accumulator_;
    fold_kind kind_;
    upsweep_dtype natural_{};
};

} // namespace

std::string fold_result::type() const { return i128_digits.empty() ? upsweep_dtype_name(dtype) : "i128"; }

std::string fold_result::text() const { return i128_digits.empty() ? files::value_text(dtype, &value) : i128_digits; }

std::unique_ptr<fold> make_fold(upsweep_context* context, const fold_kind& kind)
{
    const bool of_integers = is_integral(kind.in) && (!kind.out || is_integer(*kind.out));
    if (of_integers && !kind.wraps && kind.op == UPSWEEP_PLUS)
        return std::make_unique<exact_fold<exact_sum>>(context, kind);
    if (of_integers && !kind.wraps && kind.op == UPSWEEP_MULTIPLIES)
        return std::make_unique<exact_fold<exact_product>>(context, kind);
    return std::make_unique<library_fold>(context, kind);
}

} // namespace upsweep::cli
