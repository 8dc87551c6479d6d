// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <concepts>

#include "../word_fold.hpp"
#include "shapes.hpp"

namespace upsweep::runtime {

namespace {

template <class Word>
class word_operator {
    using vector = typename word_fold<Word>::vector;

public:
    static constexpr bool takes_vectors = true;
    bool is_exact() const { return of_.is_exact; }

    explicit word_operator(const word_fold<Word>& of) : of_(of) {}

    Word operator()(Word a, Word b) const { return of_.fold(a, b); }
    vector operator()(vector a, vector b) const { return of_.fold_vectors(a, b); }
    template <std::same_as<Word>>
    Word identity() const
    {
        return of_.neutral;
    }

private:
    word_fold<Word> of_;
};

template <class Word>
struct word_result {
    Word (*result)(Word);
    void operator()(const Word& fold, Word& to) const { to = result != nullptr ? result(fold) : fold; }
};

template <class Word>
class word_reducer final : public shape_reducer {
public:
    explicit word_reducer(const word_fold<Word>& of) : op_(of), result_{of.result} {}

    void reduce_lines(const cpu& host, const line_layout& lines) const override
    {
        detail::engine<cpu, detail::verb::reduce_lines>::fold<Word>(host, lines_as<Word, Word>(lines), op_, result_);
    }
    void reduce_segments(const cpu& host, const void* in, std::span<const std::uint64_t> offsets,
                         void* out) const override
    {
        auto* const results = static_cast<Word*>(out);
        detail::engine<cpu, detail::verb::reduce_segments>::fold<Word>(host, static_cast<const Word*>(in),
                                                                       offsets.back(), offsets, results, op_);
        if (result_.result != nullptr)
            std::transform(results, results + (offsets.size() - 1), results, result_.result);
    }

private:
    word_operator<Word> op_;
    word_result<Word> result_;
};

} // namespace

template <class Word>
std::unique_ptr<shape_reducer> make_word_reducer(const word_fold<Word>& of)
{
    return std::make_unique<word_reducer<Word>>(of);
}

template <class Word>
std::unique_ptr<shape_scanner> make_word_scanner(const word_fold<Word>& of)
{
    return std::make_unique<typed_shape_scanner<Word, Word, word_operator<Word>>>(word_operator<Word>(of));
}

template std::unique_ptr<shape_reducer> make_word_reducer(const word_fold<std::uint8_t>&);
template std::unique_ptr<shape_scanner> make_word_scanner(const word_fold<std::uint8_t>&);
template std::unique_ptr<shape_reducer> make_word_reducer(const word_fold<std::uint16_t>&);
template std::unique_ptr<shape_scanner> make_word_scanner(const word_fold<std::uint16_t>&);
template std::unique_ptr<shape_reducer> make_word_reducer(const word_fold<std::uint32_t>&);
template std::unique_ptr<shape_scanner> make_word_scanner(const word_fold<std::uint32_t>&);
template std::unique_ptr<shape_reducer> make_word_reducer(const word_fold<std::uint64_t>&);
template std::unique_ptr<shape_scanner> make_word_scanner(const word_fold<std::uint64_t>&);

} // namespace upsweep::runtime
