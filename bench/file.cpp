// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The command, and programs that do the same by the headers, compiled for this machine: a file of elements is mapped and folded; the
// results of a scan are written to another file.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <upsweep/upsweep.hpp>

#include "contenders.hpp"
#include "input.hpp"
#include "program.hpp"
#include "roof.hpp"

namespace up = upsweep;

namespace bench {
namespace {

// A file of random elements, which is removed at the end.
template <class T>
class element_file {
public:
    element_file(const std::string& path, std::size_t n) : path_(path)
    {
        std::vector<T> elements(n);
        fill_for_folds(std::span(elements));
        std::FILE* file = std::fopen(path.c_str(), "w");
        if (file == nullptr || std::fwrite(elements.data(), sizeof(T), n, file) != n || std::fclose(file) != 0)
            throw std::runtime_error("cannot write " + path);
    }
    ~element_file() { std::filesystem::remove(path_); }
    element_file(const element_file&) = delete;
    element_file& operator=(const element_file&) = delete;

    const std::string& path() const { return path_; }

private:
    std::string path_;
};

// Scans a file into another one, through a buffer that stays in the caches.
void scan_file(const std::string& in, const std::string& out)
{
    const mapped_file file(in);
    std::span<const float> rest = file.as<float>();
    const int descriptor = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    std::vector<float> buffer(std::size_t{1} << 20);
    up::scanner<float> scanner(up::cpu{}, up::scan_kind::inclusive);
    while (!rest.empty()) {
        const std::size_t count = std::min(rest.size(), buffer.size());
        scanner.feed(rest.first(count), std::span(buffer).first(count));
        const auto bytes = static_cast<ssize_t>(count * sizeof(float));
        if (write(descriptor, buffer.data(), count * sizeof(float)) != bytes)
            throw std::runtime_error("cannot write " + out);
        rest = rest.subspan(count);
    }
    close(descriptor);
}

bool same_bytes(const std::string& a, const std::string& b)
{
    return std::ranges::equal(mapped_file(a).bytes(), mapped_file(b).bytes());
}

// The command twice: as it is waited for, and as it tells itself, without the start of a process.
std::vector<contender> commands(const std::string& name, const std::string& command, std::string& output,
                                const std::function<void()>& spoil, const std::function<bool()>& check)
{
    const std::string& version = versions_in_use().upsweep;
    return {{"upsweep", name, version, timed([&output, command] { output = output_of(command); }), spoil, check},
            {"upsweep", name + ", by its clock", version,
             [&output, command](int calls) {
                 double seconds = 0;
                 for (int call = 0; call < calls; ++call) {
                     output = output_of(command);
                     seconds += nlohmann::json::parse(output)["seconds"].get<double>();
                 }
                 return seconds * 1000 / calls;
             },
             spoil, check}};
}

contender file_roof(const std::string& path)
{
    return {"roof", "file: mapped", "", timed([&path] {
                volatile std::size_t value = read_kernels().front().run(mapped_file(path).bytes());
                static_cast<void>(value);
            })};
}

void add(std::vector<contender>& all, std::vector<contender> more) { std::ranges::move(more, std::back_inserter(all)); }

void measure_sum_of_file(session& run, const subject& what)
{
    const element_file<float> file(run.chosen().folder + "/elements.f32", what.n);
    const float expected = up::reduce(up::cpu{}, mapped_file(file.path()).as<float>());
    float ours = 0;
    std::string output;
    const auto spoil = [&] {
        ours = 0;
        output.clear();
    };
    std::vector<contender> contenders{file_roof(file.path())};
    contenders.push_back({"upsweep", "up::reduce of the mapped file", versions_in_use().upsweep,
                          timed([&] { ours = up::reduce(up::cpu{}, mapped_file(file.path()).as<float>()); }), spoil,
                          [&] { return ours == expected; }});
    add(contenders,
        commands("upsweep reduce", fmt::format("'{}' reduce --json '{}'", run.chosen().command, file.path()), output,
                 spoil, [&] { return nlohmann::json::parse(output)["result"].get<float>() == expected; }));
    run.measure(what, {}, std::move(contenders));
}

void measure_scan_of_file(session& run, const subject& what)
{
    const element_file<float> file(run.chosen().folder + "/elements.f32", what.n);
    const std::string expected = run.chosen().folder + "/expected.f32";
    const std::string out = run.chosen().folder + "/scanned.f32";
    scan_file(file.path(), expected);
    std::string output;
    const auto spoil = [&] { std::filesystem::remove(out); };
    const auto check = [&] { return same_bytes(out, expected); };
    std::vector<contender> contenders{file_roof(file.path())};
    contenders.push_back({"upsweep", "up::scanner over the mapped file", versions_in_use().upsweep,
                          timed([&] { scan_file(file.path(), out); }), spoil, check});
    add(contenders,
        commands("upsweep scan", fmt::format("'{}' scan --json -o '{}' '{}'", run.chosen().command, out, file.path()),
                 output, spoil, check));
    run.measure(what, {}, std::move(contenders));
    std::filesystem::remove(out);
    std::filesystem::remove(expected);
}

template <class T>
void measure_histogram_of_file(session& run, const subject& what, const up::even_bins& bins)
{
    const element_file<T> file(fmt::format("{}/elements.{}", run.chosen().folder, names_of<T>().ours), what.n);
    const auto count = [&](std::vector<std::uint64_t>& counts) {
        counts.assign(bins.count, 0);
        up::histogram(up::cpu{}, mapped_file(file.path()).as<T>(), bins, counts);
    };
    std::vector<std::uint64_t> expected;
    std::vector<std::uint64_t> ours;
    count(expected);
    std::string output;
    const auto spoil = [&] {
        ours.clear();
        output.clear();
    };
    std::vector<contender> contenders{file_roof(file.path())};
    contenders.push_back({"upsweep", "up::histogram of the mapped file", versions_in_use().upsweep,
                          timed([&] { count(ours); }), spoil, [&] { return ours == expected; }});
    add(contenders, commands("upsweep histogram",
                             fmt::format("'{}' histogram --json --bins {} --range={}:{} '{}'", run.chosen().command,
                                         bins.count, bins.lo, bins.hi, file.path()),
                             output, spoil, [&] {
                                 return nlohmann::json::parse(output)["counts"].get<std::vector<std::uint64_t>>() ==
                                        expected;
                             }));
    run.measure(what, {}, std::move(contenders));
}

} // namespace

void measure_file(session& run)
{
    // So many that the start of a process does not count.
    const std::size_t n = 4 * run.chosen().n;
    const subject sum{"reduce", "file of f32", "sum", n, n * sizeof(float)};
    const subject scan{"scan", "file of f32", "inclusive sum", n, 2 * n * sizeof(float)};
    const subject floats{"histogram", "file of f32", "256 even bins", n, n * sizeof(float)};
    const subject words{"histogram", "file of u16", "65,536 bins", n, n * sizeof(std::uint16_t)};
    if (run.wants(sum))
        measure_sum_of_file(run, sum);
    if (run.wants(scan))
        measure_scan_of_file(run, scan);
    if (run.wants(floats))
        measure_histogram_of_file<float>(run, floats, {-128, 128, 256});
    if (run.wants(words))
        measure_histogram_of_file<std::uint16_t>(run, words, {0, 65536, 65536});
}

} // namespace bench
