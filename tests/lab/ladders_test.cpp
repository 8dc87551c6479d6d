// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "annotate.h"
#include "json.h"
#include "measure.h"

namespace lab {

// The name of a test says which kernel, not where it lies in memory.
// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest asks for it
static void PrintTo(const rung* r, std::ostream* out) { *out << r->name; }

} // namespace lab

namespace {

std::vector<const lab::rung*> rungs(bool faulty)
{
    std::vector<const lab::rung*> all;
    for (const auto& l : lab::ladders())
        for (const auto& r : l.rungs)
            if (r.fault.empty() != faulty)
                all.push_back(&r);
    return all;
}

std::string name_of_rung(const testing::TestParamInfo<const lab::rung*>& info)
{
    return info.param->row + "_" + info.param->name;
}

class correct : public testing::TestWithParam<const lab::rung*> {};
class exhibit : public testing::TestWithParam<const lab::rung*> {};

} // namespace

TEST_P(correct, at_tile_borders)
{
    for (unsigned n : {2u, 63u, 64u, 65u, 128u, 511u, 513u, 1500u}) {
        lab::settings how;
        how.what = {n, 64};
        const auto m = lab::measure(*GetParam(), how);
        EXPECT_TRUE(m.as_expected()) << n << " elements\n" << lab::table_of({m}) << lab::findings_of({m});
    }
}

TEST_P(correct, under_two_hundred_random_schedules)
{
    lab::settings how;
    how.what = {600, 64}; // two blocks of those that take eight elements a thread
    how.schedules = 270;
    const auto schedules = lab::schedules_of(how);
    EXPECT_EQ(std::count_if(schedules.begin(), schedules.end(),
                            [](const auto& s) { return s.kind == upsweep::simulator::schedule::order::random; }),
              200);
    const auto m = lab::measure(*GetParam(), how);
    EXPECT_TRUE(m.as_expected()) << lab::table_of({m}) << lab::findings_of({m});
}

TEST_P(correct, on_the_first_machine)
{
    lab::settings how;
    how.what = {1000, 128};
    how.geometry = "g80";
    const auto m = lab::measure(*GetParam(), how);
    EXPECT_TRUE(m.as_expected()) << lab::table_of({m}) << lab::findings_of({m});
}

TEST_P(exhibit, is_named)
{
    lab::settings how;
    how.what = {512, 64};
    const auto m = lab::measure(*GetParam(), how);
    EXPECT_TRUE(m.as_expected()) << lab::table_of({m}) << lab::findings_of({m});
    for (const auto& f : m.findings) {
        EXPECT_NE(f.kernel.find(GetParam()->name), std::string::npos);
        ASSERT_FALSE(f.parties.empty());
        EXPECT_NE(f.parties[0].where.file.find("exhibits.cuh"), std::string::npos) << f.text();
    }
}

INSTANTIATE_TEST_SUITE_P(lab, correct, testing::ValuesIn(rungs(false)), name_of_rung);
INSTANTIATE_TEST_SUITE_P(lab, exhibit, testing::ValuesIn(rungs(true)), name_of_rung);

TEST(data_flow, a_tree_of_sixteen_has_fifteen_nodes)
{
    for (const auto& l : lab::ladders())
        for (const auto& r : l.rungs)
            if (r.name == "reduce_shared_tree") {
                lab::combinations().clear();
                upsweep::simulator::recording quiet;
                r.trace({16, 16});
                ASSERT_EQ(lab::combinations().size(), 15u);
                const auto& root = lab::combinations().back();
                EXPECT_EQ(root.left | root.right, 0xffffu);
                EXPECT_EQ(root.left & root.right, 0u);
                EXPECT_EQ(root.interval, 4u);
                lab::combinations().clear();
                const auto picture = lab::data_flow(r, {4, 4});
                EXPECT_NE(picture.find("step 1\n    block  0 thread   0  a . b .\n"), picture.npos) << picture;
                EXPECT_NE(picture.find("step 2\n    block  0 thread   0  a b a b\n"), picture.npos) << picture;
            }
}

TEST(explain, shows_the_source_beside_its_counters)
{
    for (const auto& r : lab::reduce_ladder().rungs) {
        if (r.name != "reduce_shared_tree")
            continue;
        lab::settings how;
        how.what = {1024, 256};
        const auto text = lab::explain(r, how, LAB_KERNELS);
        EXPECT_NE(text.find("| 1280 loads in 160 transactions"), text.npos) << text;
        EXPECT_NE(text.find("__global__ void reduce_shared_tree"), text.npos);
    }
}

TEST(reports, show_bulk_copies)
{
    lab::measurement m;
    m.of = rungs(false).front();
    m.counts.bulk_copies = 3;
    EXPECT_EQ(lab::json_of(m)["bulk_copies"], 3);

    m.counts.load_transactions = 12;
    EXPECT_NE(lab::annotated({{7, m.counts}}, "").find("    7  3 bulk copies in 12 transactions"), std::string::npos);
}
