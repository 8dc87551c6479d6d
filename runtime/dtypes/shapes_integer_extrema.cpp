// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "shapes.hpp"

namespace upsweep::runtime {

namespace {

// Takes the word that is the greater one when some of its bits are flipped: none of them for the maximum of unsigned integers, the
// sign for that of signed ones, and all others, or all, for their minima. So one instantiation serves four folds.
template <class Word>
struct greater_when_flipped {
    static constexpr bool takes_vectors = true;
    static constexpr bool is_exact() { return true; }

    Word flip;

    // Processors compare vectors of signed integers.
    cpu_engine::vector_t<Word> operator()(cpu_engine::vector_t<Word> a, cpu_engine::vector_t<Word> b) const
    {
        using integers = cpu_engine::vector_t<std::make_signed_t<Word>>;
        constexpr auto sign = static_cast<Word>(Word{1} << (8 * sizeof(Word) - 1));
        const auto flip_to_signed = static_cast<Word>(flip ^ sign);
        return (integers)(a ^ flip_to_signed) > (integers)(b ^ flip_to_signed) ? a : b;
    }
    Word operator()(const Word& a, const Word& b) const
    {
        return static_cast<Word>(a ^ flip) > static_cast<Word>(b ^ flip) ? a : b;
    }
    template <std::same_as<Word>>
    Word identity() const
    {
        return flip;
    }
};

struct as_it_is {
    template <class Word>
    void operator()(const Word& fold, Word& result) const
    {
        result = fold;
    }
};

template <class Word>
class integer_extremum final : public shape_reducer {
public:
    explicit integer_extremum(Word flip) : op_{flip} {}

    void reduce_lines(const cpu& host, const line_layout& lines) const override
    {
        detail::engine<cpu, detail::verb::reduce_lines>::fold<Word>(host, lines_as<Word, Word>(lines), op_, as_it_is{});
    }
    void reduce_segments(const cpu& host, const void* in, std::span<const std::uint64_t> offsets,
                         void* out) const override
    {
        detail::engine<cpu, detail::verb::reduce_segments>::fold<Word>(
            host, static_cast<const Word*>(in), offsets.back(), offsets, static_cast<Word*>(out), op_);
    }

private:
    greater_when_flipped<Word> op_;
};

} // namespace

template <class Word>
std::unique_ptr<shape_reducer> make_integer_extrema(upsweep_op op, bool is_signed)
{
    constexpr auto sign = static_cast<Word>(Word{1} << (8 * sizeof(Word) - 1));
    const Word of_maximum = is_signed ? sign : Word{0};
    return std::make_unique<integer_extremum<Word>>(op == UPSWEEP_MAXIMUM ? of_maximum
                                                                          : static_cast<Word>(~of_maximum));
}

template std::unique_ptr<shape_reducer> make_integer_extrema<std::uint8_t>(upsweep_op, bool);
template std::unique_ptr<shape_reducer> make_integer_extrema<std::uint16_t>(upsweep_op, bool);
template std::unique_ptr<shape_reducer> make_integer_extrema<std::uint32_t>(upsweep_op, bool);
template std::unique_ptr<shape_reducer> make_integer_extrema<std::uint64_t>(upsweep_op, bool);

} // namespace upsweep::runtime
