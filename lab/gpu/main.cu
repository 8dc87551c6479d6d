// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The ladders on a GPU. Each rung is compared with the serial answer, and timed.
//   nvcc -O3 -std=c++20 -arch=native --expt-relaxed-constexpr -I lab lab/gpu/main.cu lab/reduce.cu lab/scan.cu
//        lab/histogram.cu lab/segments.cu lab/keys.cu lab/image.cu lab/exhibits.cu lab/ladders.cpp -o upsweep-lab-gpu
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <map>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "launch.cuh"
#include "roof.cuh"

namespace {

using lab::check;

struct choices {
    std::vector<unsigned> checked{64, 1000, 1u << 16};
    std::vector<lab::task> timed{{512, 512}, {1u << 22, 256}, {1u << 26, 256}};
    std::string ladder, input, machine, commit, out;
};

struct item {
    const lab::ladder* ladder;
    const lab::rung* rung;
    lab::task what;
};

// How many elements a rung is given at most: as many as one block holds, or as one thread, one warp, quadratic work or nine
// operators get done in a fraction of a second.
unsigned most(const lab::ladder& of, const lab::rung& which, unsigned input)
{
    static const std::map<std::string, unsigned> limits{{"R1", 1u << 20},
                                                        {"S1", 1u << 20},
                                                        {"H1", 1u << 20},
                                                        {"S2", 1u << 16},
                                                        {"S3", 512},
                                                        {"S4", 512},
                                                        {"S5", 512},
                                                        {"R14", 1u << 22},
                                                        {"K1", 1u << 20},
                                                        {"G1 giant", 1u << 20},
                                                        {"I1 tall", 1u << 22},
                                                        {"G2 giant", 1u << 24},
                                                        {"G1 power-law", 1u << 24}};
    auto limit = limits.find(which.row);
    if (limit == limits.end() && !of.inputs.empty())
        limit = limits.find(which.row + " " + of.inputs[input].name);
    return limit == limits.end() ? ~0u : limit->second;
}

// Whether a ladder writes about as much as it reads, so that the fastest copy is what bounds it.
bool copies(const lab::ladder& of) { return of.name == "scan" || of.name == "keys" || of.name == "image"; }

double median(std::vector<double> values)
{
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// The median time of the repetitions after the first one, which warms up.
double settled(const lab::stopwatch& watch)
{
    const auto& all = watch.milliseconds;
    return median(all.size() == 1 ? all : std::vector<double>(all.begin() + 1, all.end()));
}

// The least time in which this GPU reads so many bytes, or copies one half of them to the other.
double roof_ms(std::size_t bytes, bool copy)
{
    static std::map<std::pair<std::size_t, bool>, double> known;
    double& best = known[{bytes, copy}];
    if (best != 0)
        return best;
    int multiprocessors = 0;
    check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0), "cudaDeviceGetAttribute");
    const auto vectors = static_cast<unsigned>((copy ? bytes / 2 : bytes) / sizeof(uint4));
    const lab::buffer<int> numbers(lab::small_numbers(4 * vectors));
    const auto* in = reinterpret_cast<const uint4*>(numbers.data());
    const lab::buffer<uint4> out(copy ? vectors : 1);
    best = INFINITY;
    for (unsigned blocks_per_processor : {2u, 4u, 8u, 32u, 64u}) {
        const unsigned grid =
            std::max(1u, std::min(lab::blocks_for(vectors, 256), blocks_per_processor * unsigned(multiprocessors)));
        lab::stopwatch watch;
        lab::timing = &watch;
        lab::repeat(8, vectors, bytes, [&] {
            if (copy)
                lab::launch(lab::copy_roof, grid, 256, 0, in, out.data(), vectors);
            else
                lab::launch(lab::read_roof, grid, 256, 0, in, &out.data()->x, vectors);
            return true;
        });
        lab::timing = nullptr;
        best = std::min(best, settled(watch));
    }
    return best;
}

nlohmann::ordered_json row_of(const item& what, const choices& c)
{
    nlohmann::ordered_json row;
    row["machine"] = c.machine;
    row["commit"] = c.commit;
    row["library"] = "lab";
    row["algorithm"] = what.ladder->name;
    row["row"] = what.rung->row;
    row["kernel"] = what.rung->name;
    if (!what.ladder->inputs.empty())
        row["input"] = what.ladder->inputs[what.what.input].name;
    row["size"] = what.what.n;
    row["n"] = what.what.n;
    row["block"] = what.what.block;
    return row;
}

void put(const nlohmann::ordered_json& row, std::FILE* rows)
{
    if (rows != nullptr)
        std::fprintf(rows, "%s\n", row.dump().c_str());
    std::fflush(nullptr);
}

// Checks one rung at every size, times it at its own, and reports both.
void measure(const item& what, const choices& c, std::FILE* rows)
{
    const auto& r = *what.rung;
    auto row = row_of(what, c);
    bool right = true;
    std::printf("%-4s %-31s ", r.row.c_str(), r.name.c_str());
    if (!what.ladder->inputs.empty())
        std::printf("%-10s ", what.ladder->inputs[what.what.input].name.c_str());
    try {
        for (unsigned n : c.checked)
            right = right &&
                    r.run({std::min(n, most(*what.ladder, r, what.what.input)), what.what.block, 1, what.what.input});
        lab::stopwatch watch;
        lab::timing = &watch;
        lab::task timed = what.what;
        timed.repetitions = timed.n > 1u << 24 ? 4 : 12;
        right = r.run(timed) && right;
        lab::timing = nullptr;
        const double ms = settled(watch), gbps = static_cast<double>(watch.bytes) / ms / 1e6,
                     share = roof_ms(watch.bytes, copies(*what.ladder)) / ms;
        std::printf("%-6s %10zu %5u %8u %10.4f %9.1f %6.1f%%\n", right ? "right" : "wrong", watch.elements,
                    what.what.block, watch.launches, ms, gbps, 100 * share);
        row.update({{"n", watch.elements},
                    {"launches", watch.launches},
                    {"bytes", watch.bytes},
                    {"ms", ms},
                    {"gbps", gbps},
                    {"share_of_roof", share}});
    } catch (const std::exception& problem) {
        lab::timing = nullptr;
        right = false;
        std::printf("%s\n", problem.what());
        row["error"] = problem.what();
    }
    row["right"] = right;
    put(row, rows);
}

// Works through the items in a process of its own, which says so after each of them: a fault of a kernel takes the GPU away
// from its whole process, and a process that hangs can be ended from outside. Returns the number of items that were
// finished. Throws where there is no GPU.
std::size_t work_through(const std::vector<item>& items, std::size_t from, const choices& c, std::FILE* rows)
{
    constexpr int no_gpu = 3;
    constexpr int patience_ms = 30'000;
    int done[2];
    if (pipe(done) != 0)
        throw std::runtime_error("cannot make a pipe");
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0)
        throw std::runtime_error("cannot start a process");
    if (child == 0) {
        cudaDeviceProp gpu{};
        if (const auto error = cudaGetDeviceProperties(&gpu, 0); error != cudaSuccess) {
            std::fprintf(stderr, "upsweep-lab-gpu: no GPU: %s\n", cudaGetErrorString(error));
            _exit(no_gpu);
        }
        choices named = c;
        if (named.machine.empty())
            named.machine = gpu.name;
        for (std::size_t i = from; i < items.size(); ++i) {
            measure(items[i], named, rows);
            if (write(done[1], "", 1) != 1 || cudaDeviceSynchronize() != cudaSuccess)
                _exit(1);
        }
        _exit(0);
    }
    close(done[1]);
    std::size_t finished = 0;
    for (pollfd wait{done[0], POLLIN, 0};;) {
        char byte;
        if (poll(&wait, 1, patience_ms) <= 0)
            kill(child, SIGKILL);
        else if (read(done[0], &byte, 1) != 1)
            break;
        else
            ++finished;
    }
    close(done[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == no_gpu)
        throw std::runtime_error("nothing was measured");
    return finished;
}

std::vector<item> items_of(const choices& c)
{
    std::vector<item> items;
    for (const auto& l : lab::ladders()) {
        if (l.name == "exhibits" || (!c.ladder.empty() && c.ladder != l.name))
            continue;
        const unsigned only = c.input.empty() ? 0 : l.input_named(c.input);
        const unsigned inputs = c.input.empty() ? std::max<unsigned>(1, unsigned(l.inputs.size())) : 1;
        for (unsigned input = only; input < only + inputs; ++input)
            for (const auto& r : l.rungs) {
                unsigned last = 0;
                for (lab::task what : c.timed) {
                    what.n = std::min(what.n, most(l, r, input));
                    what.input = input;
                    if (what.n != last)
                        items.push_back({&l, &r, what});
                    last = what.n;
                }
            }
    }
    return items;
}

int run(const choices& c)
{
    std::FILE* rows = c.out.empty() ? nullptr : std::fopen(c.out.c_str(), "w");
    if (!c.out.empty() && rows == nullptr)
        throw std::runtime_error("cannot write " + c.out);
    const auto items = items_of(c);
    std::printf("%-4s %-31s %-6s %10s %5s %8s %10s %9s %7s\n", "row", "kernel", "answer", "elements", "block",
                "launches", "ms", "GB/s", "roof");
    std::size_t unfinished = 0;
    for (std::size_t next = 0; next < items.size(); ++next) {
        next += work_through(items, next, c, rows);
        if (next < items.size()) {
            std::printf("%-4s %-31s ended before it was measured\n", items[next].rung->row.c_str(),
                        items[next].rung->name.c_str());
            auto row = row_of(items[next], c);
            row["error"] = "ended before it was measured";
            row["right"] = false;
            put(row, rows);
            ++unfinished;
        }
    }
    if (rows != nullptr)
        std::fclose(rows);
    return unfinished != 0;
}

} // namespace

int main(int argc, char** argv)
{
    choices c;
    lab::task one{0, 256};
    CLI::App app("Checks the ladders on a GPU, and times them");
    app.add_option("--ladder", c.ladder, "this one alone");
    app.add_option("--input", c.input, "of this ladder, alone");
    app.add_option("--size", one.n, "elements");
    app.add_option("--block", one.block, "threads in a block");
    app.add_option("--machine", c.machine, "its name in the rows; the name of the GPU if it is not given");
    app.add_option("--commit", c.commit, "its name in the rows");
    app.add_option("--out", c.out, "where the rows go, as JSON, one a line");
    CLI11_PARSE(app, argc, argv);
    if (one.n != 0) {
        c.timed = {one};
        c.checked = {};
    }
    try {
        return run(c);
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "upsweep-lab-gpu: %s\n", problem.what());
        return 1;
    }
}
