// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Whole programs in nvcc's launch syntax.
#include <gtest/gtest.h>

#include <stdexcept>

#include "learner.h"
#include "rewrite.h"

namespace {

int run_program(const std::string& name, unsigned schedules = 1)
{
    lab::settings how;
    how.schedules = schedules;
    return lab::run_file(std::string(LAB_PROGRAMS) + "/" + name, how, false, {});
}

bool rewrites(const std::string& from, const std::string& kernel, const std::string& rest)
{
    const auto to = lab::rewrite_launches(from);
    return to.find("named_launch(\"" + kernel + "\"") != to.npos && to.find(rest) != to.npos &&
           to.find("<<<") == to.npos;
}

} // namespace

TEST(rewrite, finds_the_kernel_before_the_launch)
{
    EXPECT_TRUE(rewrites("f<<<1, 2>>>(a, b);", "f", ", 1, 2)(a, b);"));
    EXPECT_TRUE(rewrites("  ns::f<int, g<3>> <<<dim3(1, 2), n / 2, 4 * sizeof(T), s>>> (a);", "ns::f<int, g<3>>",
                         "dim3(1, 2), n / 2, 4 * sizeof(T), s) (a);"));
    EXPECT_TRUE(rewrites("if (x) f<<<a<b>(), 2>>>();", "f", ", a<b>(), 2)();"));
}

TEST(rewrite, leaves_the_rest_alone)
{
    for (const std::string text :
         {"int a = b << 3;", "// f<<<1, 1>>>(x)\n", "const char* s = \"<<<>>>\";", "/* k<<<1,1>>>() */ int x = '\\'';"})
        EXPECT_EQ(lab::rewrite_launches(text), text);
}

TEST(rewrite, keeps_line_numbers_and_names_a_broken_launch)
{
    const auto text = lab::rewrite_launches("a\nf<<<1,\n 2>>>(x);\nb\n");
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
    try {
        lab::rewrite_launches("\nf<<<1, 2>>(x);");
        FAIL();
    } catch (const std::invalid_argument& problem) {
        EXPECT_NE(std::string(problem.what()).find("line 2"), std::string::npos);
    }
}

TEST(programs, a_right_one_keeps_its_own_exit_status)
{
    EXPECT_EQ(run_program("sum.cu", 5), 0);
    EXPECT_EQ(run_program("exits_with_three.cu"), 3);
}

TEST(programs, a_finding_is_status_one) { EXPECT_EQ(run_program("racing.cu"), 1); }

TEST(programs, one_that_does_not_compile_says_so)
{
    EXPECT_THROW(run_program("does_not_compile.cu"), std::runtime_error);
    EXPECT_THROW(run_program("no_such_file.cu"), std::runtime_error);
}
