// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>

#include "annotate.h"
#include "json.h"
#include "measure.h"

namespace lab {

// A kernel with one of the inputs of its ladder.
struct subject {
    const ladder* of;
    const rung* kernel;
    unsigned input;
};

std::string name_of(const subject& s)
{
    std::string name = s.kernel->row + "_" + s.kernel->name;
    if (!s.of->inputs.empty())
        name += "_" + s.of->inputs[s.input].name;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

// The name of a test says which kernel, not where it lies in memory.
// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest asks for it
static void PrintTo(const subject& s, std::ostream* out) { *out << name_of(s); }

} // namespace lab

namespace {

std::vector<lab::subject> subjects(bool faulty)
{
    std::vector<lab::subject> all;
    for (const auto& l : lab::ladders())
        for (const auto& r : l.rungs)
            for (unsigned input = 0; input < std::max<std::size_t>(1, l.inputs.size()); ++input)
                if (r.fault.empty() != faulty)
                    all.push_back({&l, &r, input});
    return all;
}

std::string name_of_test(const testing::TestParamInfo<lab::subject>& info) { return name_of(info.param); }

class correct : public testing::TestWithParam<lab::subject> {
protected:
    static std::uint64_t fences()
    {
        lab::settings how;
        how.what.input = GetParam().input;
        return lab::measure(*GetParam().kernel, how).counts.fences;
    }
    static void expect_no_findings(lab::settings how)
    {
        how.what.input = GetParam().input;
        const auto m = lab::measure(*GetParam().kernel, how);
        EXPECT_TRUE(m.as_expected()) << how.what.n << " elements\n" << lab::table_of({m}) << lab::findings_of({m});
    }
};
class exhibit : public testing::TestWithParam<lab::subject> {};

} // namespace

TEST_P(correct, at_tile_borders)
{
    for (unsigned n : {2u, 63u, 64u, 65u, 128u, 511u, 513u, 1500u}) {
        lab::settings how;
        how.what = {n, 64};
        expect_no_findings(how);
    }
}

TEST_P(correct, under_two_hundred_random_schedules)
{
    lab::settings how;
    // Two blocks of those that take eight elements a thread, and four tiles of those of which each waits for the one before.
    how.what = {600, 64};
    if (GetParam().of->name == "keys")
        how.what.n = 200;
    if (GetParam().of->name == "image")
        how.what.n = 33 * 33;
    how.schedules = 270;
    const auto schedules = lab::schedules_of(how);
    EXPECT_EQ(std::count_if(schedules.begin(), schedules.end(),
                            [](const auto& s) { return s.kind == upsweep::simulator::schedule::order::random; }),
              200);
    // Of a ladder with several inputs, blocks that learn nothing from one another have little to fear from their order.
    if (GetParam().input > 0 || (!GetParam().of->inputs.empty() && fences() == 0))
        how.schedules = 24;
    expect_no_findings(how);
}

TEST_P(correct, on_the_first_machine)
{
    lab::settings how;
    how.what = {1000, 128};
    how.geometry = "g80";
    expect_no_findings(how);
}

TEST_P(exhibit, is_named)
{
    lab::settings how;
    how.what = {512, 64};
    const auto m = lab::measure(*GetParam().kernel, how);
    EXPECT_TRUE(m.as_expected()) << lab::table_of({m}) << lab::findings_of({m});
    for (const auto& f : m.findings) {
        EXPECT_NE(f.kernel.find(GetParam().kernel->name), std::string::npos);
        ASSERT_FALSE(f.parties.empty());
        EXPECT_NE(f.parties[0].where.file.find("exhibits.cuh"), std::string::npos) << f.text();
    }
}

INSTANTIATE_TEST_SUITE_P(lab, correct, testing::ValuesIn(subjects(false)), name_of_test);
INSTANTIATE_TEST_SUITE_P(lab, exhibit, testing::ValuesIn(subjects(true)), name_of_test);

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

// Operators need not commute: to the left of each application lie only elements before those to the right. Rectangles of an
// image have no such order.
TEST(data_flow, segments_and_keys_are_folded_in_order)
{
    for (const auto& s : subjects(false)) {
        if (s.of->name != "segments" && s.of->name != "keys")
            continue;
        lab::combinations().clear();
        upsweep::simulator::recording quiet;
        s.kernel->trace({32, 64, 1, s.input});
        bool any = s.of->inputs[s.input].name == "runs-of-1";
        for (const auto& c : lab::combinations())
            if (c.left != 0 && c.right != 0) {
                any = true;
                EXPECT_LT(std::bit_width(c.left), std::countr_zero(c.right) + 1) << name_of(s);
            }
        EXPECT_TRUE(any) << name_of(s);
        lab::combinations().clear();
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
    m.of = subjects(false).front().kernel;
    m.counts.bulk_copies = 3;
    EXPECT_EQ(lab::json_of(m)["bulk_copies"], 3);

    m.counts.load_transactions = 12;
    EXPECT_NE(lab::annotated({{7, m.counts}}, "").find("    7  3 bulk copies in 12 transactions"), std::string::npos);
}
