// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Measures Upsweep, its peers and the roofs of the machine side by side.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <tbb/global_control.h>

#include "contenders.hpp"

namespace {

// The processor's name and the number of threads: "amd-epyc-2c".
std::string machine_name(std::size_t threads)
{
    std::string name = "unknown";
    std::ifstream cpuinfo("/proc/cpuinfo");
    for (std::string line; std::getline(cpuinfo, line);)
        if (line.starts_with("model name")) {
            name = line.substr(line.find(':') + 2);
            break;
        }
    std::string slug;
    for (const char c : name) {
        const bool is_word = std::isalnum(static_cast<unsigned char>(c)) != 0;
        if (is_word)
            slug += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        else if (!slug.empty() && slug.back() != '-')
            slug += '-';
    }
    return fmt::format("{}{}{}c", slug, slug.ends_with('-') ? "" : "-", threads);
}

class temporary_folder {
public:
    temporary_folder()
    {
        std::string pattern = std::filesystem::temp_directory_path() / "upsweep-bench-XXXXXX";
        if (mkdtemp(pattern.data()) == nullptr)
            throw std::runtime_error("cannot make a folder in " + std::filesystem::temp_directory_path().string());
        path_ = pattern;
    }
    ~temporary_folder()
    {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;

    const std::string& path() const { return path_; }

private:
    std::string path_;
};

void run(bench::settings settings, bool smoke, std::size_t threads, const std::string& out)
{
    if (smoke) {
        settings.n = 4099;
        settings.rounds = 1;
        settings.sweep = false;
        settings.text_lines = 1000;
    }
    if (settings.machine.empty())
        settings.machine = machine_name(threads);
    const temporary_folder folder;
    settings.folder = folder.path();

    bench::numpy_peer numpy(settings.python, settings.folder);
    bench::session session(settings);
    bench::measure_reduce(session, numpy);
    bench::measure_scan(session, numpy);
    bench::measure_histogram(session, numpy);
    bench::measure_shapes(session, numpy);
    bench::measure_file(session);
    bench::measure_text(session);
    fmt::print("{}", session.table());

    if (!out.empty()) {
        const std::string results = out + "/" + settings.machine;
        const std::string path = results + "/" + settings.commit + ".jsonl";
        std::filesystem::create_directories(results);
        std::ofstream file(path);
        file << session.json_lines();
        if (!file.flush())
            throw std::runtime_error("cannot write " + path);
        fmt::print("\n{}\n", path);
    }
}

} // namespace

int main(int argc, char** argv)
{
    bench::settings settings;
    std::size_t threads = std::thread::hardware_concurrency();
    bool smoke = false;
    std::string out;

    CLI::App app("Measures Upsweep, its peers and the roofs of the machine side by side, in interleaved rounds.");
    app.name("./dev bench");
    app.option_defaults()->take_last(); // ./dev gives some, which the user's come after
    app.add_option("WORD", settings.words, "Measure what has all these words in its name: reduce f32")->take_all();
    app.add_option("--rounds", settings.rounds, "Rounds")->capture_default_str();
    app.add_option("-n", settings.n, "Elements of the large arrays")->capture_default_str();
    app.add_option("--threads", threads, "Threads of all contenders")->capture_default_str();
    app.add_flag("--sweep,!--no-sweep", settings.sweep, "Sums and scans of f32 at sizes from 2^10 on");
    app.add_flag("--smoke", smoke, "Run everything once on small arrays and check the results");
    app.add_option("--machine", settings.machine, "The machine's name in the results");
    app.add_option("--commit", settings.commit, "The commit that is measured");
    app.add_option("--command", settings.command, "The command `upsweep`")->required();
    app.add_option("--python", settings.python, "A Python with NumPy")->capture_default_str();
    app.add_option("--out", out, "Folder for the results, as lines of JSON");
    CLI11_PARSE(app, argc, argv);

    try {
        const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
        run(settings, smoke, threads, out);
    } catch (const std::exception& problem) {
        fmt::print(stderr, "bench: {}\n", problem.what());
        return 1;
    }
}
