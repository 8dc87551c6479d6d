// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <upsweep/cpu/vector.hpp>

#include "shapes.hpp"

namespace upsweep::runtime {

// An operator on words of the size of an element.
template <class Word>
struct word_fold {
    using vector = cpu_engine::vector_t<Word>;

    Word (*fold)(Word, Word);
    vector (*fold_vectors)(vector, vector); // lane by lane
    bool is_exact;                          // any order gives the same bits
    Word neutral;
    Word (*result)(Word); // what a reduction makes of a fold; null: the fold
};
template <class Word>
std::unique_ptr<shape_reducer> make_word_reducer(const word_fold<Word>& of);
template <class Word>
std::unique_ptr<shape_scanner> make_word_scanner(const word_fold<Word>& of);

} // namespace upsweep::runtime
