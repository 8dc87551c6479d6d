// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// A script stands for the program that measures on a GPU.
#include "gpu_times.h"
#include "json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

#include "process.h"

namespace {

const lab::ladder& named(const std::string& name)
{
    for (const auto& l : lab::ladders())
        if (l.name == name)
            return l;
    throw std::logic_error("no ladder " + name);
}

class gpu_times : public testing::Test {
protected:
    // Runs as a shell script; $8 is the file for the rows.
    void measure_with(const std::string& script)
    {
        const auto program = scratch_.path / "program";
        std::ofstream(program) << "#!/bin/sh\n" << script;
        std::filesystem::permissions(program, std::filesystem::perms::owner_all);
        lab::add_gpu_times(rows, program, named("reduce"), {4096, 128});
    }

    gpu_times()
    {
        for (const auto& r : named("reduce").rungs)
            rows.emplace_back().of = &r;
    }

    const lab::measurement& row(const std::string& name) const
    {
        for (const auto& m : rows)
            if (m.of->row == name)
                return m;
        throw std::logic_error("no row " + name);
    }

    std::vector<lab::measurement> rows;

private:
    lab::scratch_folder scratch_;
};

constexpr char two_rows[] = R"(
test "$1 $2 $3 $4 $5 $6 $7" = "--ladder reduce --size 4096 --block 128 --out" || exit 1
cat > "$8" << END
{"row":"R4","kernel":"reduce_shared_tree","n":4096,"ms":0.25,"gbps":1.5,"share_of_roof":0.125,"right":true}
{"row":"R14","kernel":"reduce_shuffle","n":4096,"error":"the launch failed","right":false}
END
)";

} // namespace

TEST_F(gpu_times, stand_beside_the_counters)
{
    EXPECT_EQ(lab::table_of(rows).find("GPU ms"), std::string::npos);
    measure_with(two_rows);
    const auto table = lab::table_of(rows);
    EXPECT_NE(table.find("GPU ms  roof%"), table.npos) << table;
    EXPECT_NE(table.find("  0.2500   12.5  none"), table.npos) << table;
    EXPECT_EQ(lab::json_of(row("R4"))["gpu"]["gbps"], 1.5);
    EXPECT_TRUE(lab::json_of(row("R12"))["gpu"].is_null()) << "R12 and R14 are one kernel";
}

TEST_F(gpu_times, a_wrong_answer_of_the_gpu_is_not_as_expected)
{
    EXPECT_TRUE(row("R14").as_expected());
    measure_with(two_rows);
    EXPECT_TRUE(row("R4").as_expected());
    EXPECT_FALSE(row("R14").as_expected());
    EXPECT_NE(lab::table_of(rows).find(" wrong "), std::string::npos);
}

TEST_F(gpu_times, are_absent_without_a_gpu)
{
    measure_with("exit 1\n");
    lab::add_gpu_times(rows, "/nowhere/upsweep-lab-gpu", named("reduce"), {4096, 128});
    for (const auto& m : rows)
        EXPECT_FALSE(m.gpu.has_value());
}
