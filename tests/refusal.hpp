// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>

#include <gtest/gtest.h>
#include <upsweep/error.hpp>

// What a call says that refuses its arguments.
namespace upsweep::test {

// The text of the error, which is one of arguments; "no error" where there is none.
template <class Call>
std::string refusal_of(Call call)
{
    try {
        call();
    } catch (const error& failure) {
        EXPECT_EQ(failure.kind(), error_kind::invalid_argument);
        return failure.what();
    }
    return "no error";
}

// The call is refused, with all of these words.
template <class Call>
void expect_refusal(Call call, std::initializer_list<std::string> words)
{
    const std::string text = refusal_of(call);
    EXPECT_NE(text, "no error");
    for (const std::string& word : words)
        EXPECT_NE(text.find(word), std::string::npos) << text;
}

} // namespace upsweep::test
