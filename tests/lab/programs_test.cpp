// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Whole programs, as `upsweep lab run FILE.cu` compiles, runs and reports them.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <system_error>

#include "program/requirement.h"
#include "program/translate.h"

namespace {

struct result {
    int status = -1;
    std::string text; // standard output, and standard error with it
};

// A folder of this test for what the laboratory puts aside, in which nothing may stay: it goes only where it is empty.
class empty_folder {
public:
    empty_folder() : name_((std::filesystem::temp_directory_path() / "upsweep-lab-test-XXXXXX").string())
    {
        EXPECT_NE(mkdtemp(name_.data()), nullptr);
    }
    empty_folder(const empty_folder&) = delete;
    empty_folder& operator=(const empty_folder&) = delete;
    ~empty_folder()
    {
        std::error_code stays;
        std::filesystem::remove(name_, stays);
    }

    const std::string& name() const { return name_; }

private:
    std::string name_;
};

const std::string& own_folder()
{
    static const empty_folder folder;
    return folder.name();
}

// Runs a shell command in the folder of the programs, in which $LAB is the laboratory.
result shell(const std::string& command)
{
    const std::string whole =
        "cd '" LAB_PROGRAMS "' && export TMPDIR='" + own_folder() + "' LAB='" LAB_COMMAND "' && { " + command + "; }";
    FILE* pipe = popen(("( " + whole + " ) 2>&1").c_str(), "r");
    result out;
    std::array<char, 4096> buffer;
    for (std::size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) != 0;)
        out.text.append(buffer.data(), n);
    const int status = pclose(pipe);
    out.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return out;
}

result run(const std::string& arguments) { return shell("\"$LAB\" run " + arguments); }

bool has(const result& r, const std::string& text) { return r.text.find(text) != r.text.npos; }

std::string translated(const std::string& source)
{
    return lab::program::translated("# 1 \"x.cu\"\n" + source, "# 1 \"x.cu\"\n" + source);
}

} // namespace

TEST(translate, leaves_alone_what_is_no_launch)
{
    for (const std::string text : {"int a = b << 3;", "const char* s = \"k<<<1, 1>>>()\";", "char c = '\\'', d = '<';",
                                   "auto r = R\"x(k<<<1, 1>>>())x\";", "bool b = a<b<c<d>>>::value;",
                                   "std::ostream& operator<< <int>(std::ostream&, int);", "int n = 1'000'000;"})
        EXPECT_NE(translated(text).find(text), std::string::npos) << translated(text);
}

TEST(translate, keeps_lines)
{
    const std::string text = translated("a;\nf<<<1,\n 2>>>(x);\nb;\n");
    EXPECT_EQ(text.substr(0, 11), "# 1 \"x.cu\"\n");
    EXPECT_EQ(text.find("b;"), text.find('\n', text.find('\n', text.find('\n', text.find('\n') + 1) + 1) + 1) + 1)
        << text;
}

TEST(translate, names_the_line_of_a_broken_launch)
{
    try {
        translated("\nint main() { f<<<1, 2>>(x); }");
        FAIL();
    } catch (const lab::program::syntax_error& problem) {
        EXPECT_NE(std::string(problem.what()).find("x.cu:2"), std::string::npos) << problem.what();
    }
}

TEST(translate, finds_the_body_of_every_kernel)
{
    const std::string classes =
        "namespace a { class b { int c = 3; int d{4}; b() : c(1), d{2} {} }; enum class e { f }; }";
    for (const std::string& head : {std::string("__global__ void k(int n)"),
                                    std::string("template <class T, int N = (3 > 2)> __global__ void k(T n)"),
                                    std::string("extern \"C\" __global__ void k(int n)"),
                                    std::string("void __global__ k(const struct point n, int (*f)(int))"),
                                    classes + " __global__ void k(int n)"}) {
        const std::string text = translated(head + " { n; }");
        EXPECT_NE(text.find("upsweep_stub.take(n"), std::string::npos) << text;
    }
}

TEST(programs, a_right_one_keeps_its_own_exit_status)
{
    EXPECT_EQ(run("--schedules 5 sum.cu").status, 0);
    EXPECT_EQ(run("exits_with_three.cu").status, 3);
}

TEST(programs, a_finding_is_status_one) { EXPECT_EQ(run("racing.cu").status, 1); }

TEST(programs, one_that_does_not_compile_says_so)
{
    const result r = run("does_not_compile.cu");
    EXPECT_EQ(r.status, 1);
    EXPECT_TRUE(has(r, "does_not_compile.cu:2:")) << r.text;
    EXPECT_TRUE(has(r, "does not compile")) << r.text;
    EXPECT_TRUE(has(run("no_such_file.cu"), "no_such_file.cu")) << r.text;
}

TEST(programs, launches_in_every_spelling)
{
    const result r = run("launches.cu");
    EXPECT_EQ(r.status, 0) << r.text;
    EXPECT_TRUE(has(r, "put_all<{int, int, int, int}>") || has(r, "put_all<<int, int, int, int>>"))
        << r.text; // as the compiler has it
}

TEST(programs, functions_of_the_device_and_of_the_host)
{
    const result r = run("architecture.cu");
    EXPECT_EQ(r.status, 0) << r.text;
}

TEST(programs, specifiers_where_nvcc_takes_them)
{
    const result r = run("specifiers.cu");
    EXPECT_EQ(r.status, 0) << r.text;
}

TEST(programs, right_ones_are_not_accused)
{
    const result r = run("--schedules 6 guesses.cu");
    EXPECT_EQ(r.status, 0) << r.text;
    EXPECT_TRUE(has(r, "\nno findings\n")) << r.text;
}

TEST(programs, a_function_without_its_value)
{
    const result r = run("no_return.cu");
    EXPECT_EQ(r.status, 1) << r.text;
    EXPECT_TRUE(has(r, "ends without the value that it should return")) << r.text;
    EXPECT_TRUE(has(r, "no_return.cu:")) << r.text;
}

TEST(programs, instructions_written_by_hand)
{
    EXPECT_EQ(run("ptx.cu").status, 0);
    const result r = run("ptx.cu reach_the_unknown_one");
    EXPECT_EQ(r.status, 1);
    EXPECT_TRUE(has(r, "griddepcontrol.wait")) << r.text;
    EXPECT_TRUE(has(r, "ptx.cu:24")) << r.text;
}

TEST(programs, of_several_files_with_folders_and_macros)
{
    const result r = run("-Iparts/headers -D STEP=4 parts/main.cu parts/other.cu parts/host.cpp -- -option x");
    EXPECT_EQ(r.status, 0) << r.text;
    EXPECT_TRUE(has(r, "increment.cuh")) << r.text; // counters beside the lines of headers, too
    EXPECT_TRUE(has(run("parts/main.cu"), "increment.cuh; -I FOLDER")) << r.text;
}

TEST(programs, a_library_that_is_not_simulated_is_named)
{
    const result r = run("needs_a_library.cu");
    EXPECT_EQ(r.status, 1);
    EXPECT_TRUE(has(r, "needs_a_library.cu:3: #include <cublas_v2.h>: cuBLAS is not simulated")) << r.text;
    EXPECT_EQ(std::count(r.text.begin(), r.text.end(), '\n'), 1) << r.text;
}

// However a program ends, what was found until then is told, and no file stays.
TEST(programs, report_at_every_end)
{
    struct end {
        const char* how;
        int status;
        const char* said;
    };
    for (const auto& [how, status, said] :
         {end{"abort", 134, "ended by abort"}, end{"assert", 134, "ended by abort"},
          end{"throw", 134, "ended by abort"}, end{"fault", 139, "ended by a segmentation fault"},
          end{"divide", 136, "ended by an arithmetic error"}, end{"exit", 1, "1 finding\n"},
          end{"_exit", 1, "1 finding\n"}, end{"quick_exit", 1, "1 finding\n"}, end{"leak", 1, "leaked memory"},
          end{"return", 1, "1 finding\n"}}) {
        const result r = run(std::string("ends.cu ") + how);
        EXPECT_EQ(r.status, status) << r.text;
        EXPECT_TRUE(has(r, said)) << r.text;
        EXPECT_TRUE(has(r, "race in count")) << r.text;
        EXPECT_TRUE(std::filesystem::is_empty(own_folder())) << how;
    }
}

TEST(programs, report_when_they_are_interrupted)
{
    for (const char* where : {"kernel", "host"}) {
        const result r =
            shell("\"$LAB\" run ends.cu " + std::string(where) +
                  " >\"$TMPDIR.out\" & until grep -q raced \"$TMPDIR.out\" 2>/dev/null; do sleep 0.05; done; "
                  "sleep 0.2; kill $!; wait $!; echo status $?; cat \"$TMPDIR.out\"; rm \"$TMPDIR.out\"");
        EXPECT_TRUE(has(r, "status 143")) << r.text;
        EXPECT_TRUE(has(r, "ended by SIGTERM")) << r.text;
        EXPECT_TRUE(has(r, "race in count")) << r.text;
        EXPECT_TRUE(std::filesystem::is_empty(own_folder())) << where;
    }
}

TEST(programs, report_at_the_limit_of_time)
{
    for (const char* where : {"kernel", "host", "managed", "managed", "managed"}) {
        const result r = run("--time 0.5 ends.cu " + std::string(where));
        EXPECT_EQ(r.status, 124) << r.text;
        EXPECT_TRUE(has(r, "ended by the limit of time")) << r.text;
        EXPECT_TRUE(has(r, "race in count")) << r.text;
    }
}

TEST(programs, launches_of_all_host_threads)
{
    const result r = run("--geometry sm_80 threads.cu");
    EXPECT_EQ(r.status, 1) << r.text;
    EXPECT_TRUE(has(r, "2 launches of 2 kernels on a simulated sm_80")) << r.text;
    EXPECT_TRUE(has(r, "race in second")) << r.text;
}

TEST(programs, a_sample_of_the_blocks)
{
    const auto began = std::chrono::steady_clock::now();
    const result r = run("--blocks 8 slow.cu");
    EXPECT_EQ(r.status, 0) << r.text;
    EXPECT_TRUE(has(r, "8 of the 65536 blocks of count ran")) << r.text;
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
}

TEST(programs, progress_is_told)
{
    const result r = shell("\"$LAB\" run --time 3 slow.cu");
    EXPECT_TRUE(has(r, " of 65536 blocks, ")) << r.text;
    EXPECT_TRUE(has(r, " s left")) << r.text;
}

TEST(programs, json_has_kernels_lines_and_findings_and_nothing_else)
{
    const result r = shell("\"$LAB\" run --json --schedules 3 racing.cu 2>/dev/null");
    EXPECT_EQ(r.status, 1);
    const auto json = nlohmann::json::parse(r.text);
    EXPECT_EQ(json.at("kernels").at(0).at("kernel"), "count");
    EXPECT_EQ(json.at("kernels").at(0).at("counters").at("global_loads"), 128);
    EXPECT_EQ(json.at("kernels").at(0).at("lines").at(0).at("line"), 2);
    EXPECT_EQ(json.at("findings").at(0).at("kind"), "race");
    EXPECT_EQ(json.at("runs").size(), 3u);
    EXPECT_EQ(json.at("status"), 1);
}

TEST(programs, lines_of_windows_are_not_listed_whole)
{
    const result r = run("windows.cu");
    EXPECT_EQ(r.status, 0) << r.text;
    EXPECT_TRUE(has(r, "*where = 1;")) << r.text;
    EXPECT_FALSE(has(r, "not_to_be_shown")) << r.text;
    EXPECT_FALSE(has(r, "\r")) << r.text;
}

TEST(programs, requirements_of_a_teacher)
{
    EXPECT_EQ(run("--require conflicts=0 --require 'sum_blocks:efficiency>=90' sum.cu").status, 0);
    const result r = run("--require barriers=0 sum.cu");
    EXPECT_EQ(r.status, 1);
    EXPECT_TRUE(has(r, "barriers=0 is required, but sum_blocks<128> has 64")) << r.text;
    EXPECT_EQ(run("--require conflict=0 sum.cu").status, 2);
    for (const char* wrong : {"", "conflicts", "=3", "conflicts=", "conflicts=x", "conflicts<>3"})
        EXPECT_THROW(lab::program::requirement{wrong}, std::invalid_argument) << wrong;
}

TEST(programs, one_line_explained)
{
    const result r = shell("\"$LAB\" explain sum.cu --line 10");
    EXPECT_EQ(r.status, 0) << r.text;
    EXPECT_TRUE(has(r, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum")) << r.text;
    EXPECT_TRUE(has(r, "1000 global_loads")) << r.text;
    EXPECT_TRUE(
        has(shell("\"$LAB\" explain sum.cu --line 1"), "the lines with accesses, barriers or intrinsics are 10, 11"))
        << r.text;
}
