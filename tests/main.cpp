// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include <gtest/gtest.h>

#include "samples.hpp"

int main(int argc, char** argv)
{
    ::testing::InitGoogleTest(&argc, argv);
    if (!GTEST_FLAG_GET(list_tests))
        std::cout << "UPSWEEP_TEST_SEED=" << upsweep::test::seed() << '\n';
    return RUN_ALL_TESTS();
}
