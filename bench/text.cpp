// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <stdexcept>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <tbb/parallel_for.h>
#include <unistd.h>

#include "contenders.hpp"
#include "input.hpp"
#include "program.hpp"
#include "roof.hpp"

namespace bench {
namespace {

constexpr double lo = -1000;
constexpr double hi = 1000;
constexpr std::size_t bins = 20;

// A text of numbers, one a line, about twelve bytes each, and what its sum and its histogram must be.
class number_file {
public:
    number_file(std::string path, std::size_t lines) : path_(std::move(path)), counts_(bins)
    {
        std::FILE* file = std::fopen(path_.c_str(), "w");
        if (file == nullptr)
            throw std::runtime_error("cannot write " + path_);
        random_numbers random;
        for (std::size_t line = 0; line < lines; ++line) {
            const double number = std::round((lo + (hi - lo) * random.uniform()) * 1e7) / 1e7;
            fmt::print(file, "{:.7f}\n", number);
            sum_ += number;
            ++counts_[static_cast<std::size_t>((number - lo) / (hi - lo) * bins)];
        }
        if (std::fclose(file) != 0)
            throw std::runtime_error("cannot write " + path_);
    }
    ~number_file() { std::filesystem::remove(path_); }
    number_file(const number_file&) = delete;
    number_file& operator=(const number_file&) = delete;

    const std::string& path() const { return path_; }
    std::size_t bytes() const { return std::filesystem::file_size(path_); }
    const std::vector<double>& counts() const { return counts_; }
    double sum() const { return static_cast<double>(sum_); }

private:
    std::string path_;
    long double sum_ = 0;
    std::vector<double> counts_;
};

// The last field of every line.
std::vector<double> numbers_in(const std::string& output)
{
    std::vector<double> numbers;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);)
        numbers.push_back(std::stod(line.substr(line.find_last_of('\t') + 1)));
    return numbers;
}

// One pass over the bytes of a file, through buffers that stay in the caches.
std::size_t read_in_pieces(const number_file& file, const read_kernel& kernel)
{
    constexpr std::size_t piece = std::size_t{256} << 10;
    const std::size_t bytes = file.bytes();
    const int descriptor = open(file.path().c_str(), O_RDONLY | O_CLOEXEC);
    std::atomic<std::size_t> value{0};
    tbb::parallel_for(std::size_t{0}, bytes / piece + 1, [&](std::size_t k) {
        alignas(64) static thread_local std::array<std::byte, piece> buffer;
        const ssize_t size = pread(descriptor, buffer.data(), piece, static_cast<off_t>(k * piece));
        if (size > 0)
            value += kernel.run({buffer.data(), static_cast<std::size_t>(size)});
    });
    close(descriptor);
    return value;
}

std::vector<contender> file_roofs(const number_file& file)
{
    const auto roof = [](const std::string& name, auto read) {
        return contender{"roof", "file: " + name, "", timed([read] {
                             volatile std::size_t value = read();
                             static_cast<void>(value);
                         })};
    };
    const read_kernel& halves = read_kernels().front();
    return {
        roof("mapped", [&] { return halves.run(mapped_file(file.path()).bytes()); }),
        roof("mapped and populated", [&] { return halves.run(mapped_file(file.path(), MAP_POPULATE).bytes()); }),
        roof("read in pieces", [&] { return read_in_pieces(file, halves); }),
    };
}

} // namespace

void measure_text(session& run)
{
    const settings& chosen = run.chosen();
    subject sum{"reduce", "text", "sum", chosen.text_lines, 0};
    subject histogram{"histogram", "text", fmt::format("{} even bins", bins), chosen.text_lines, 0};
    if (!run.wants(sum) && !run.wants(histogram))
        return;

    const number_file file(chosen.folder + "/numbers.txt", chosen.text_lines);
    sum.bytes = histogram.bytes = file.bytes();

    std::string output;
    const auto spoil = [&] { output.clear(); };
    const auto program = [&](const std::string& library, const std::string& name, const std::string& version,
                             const std::string& command, const auto& check) {
        return contender{library, name, version, timed([&output, command] { output = output_of(command); }),
                         spoil,   check};
    };
    const std::string mawk = output_of("mawk -W version 2>&1 | sed -n 's/^mawk \\([0-9. ]*[0-9]\\).*/\\1/p'");
    const std::string mawk_version = mawk.substr(0, mawk.find('\n'));
    const std::string datamash = output_of("datamash --version | sed -n '1s/.* //p'");
    const std::string datamash_version = datamash.substr(0, datamash.find('\n'));
    const std::string& upsweep_version = versions_in_use().upsweep;
    const requirement far_ahead{.times_best_peer = 20};

    if (run.wants(sum)) {
        const auto check = [&] {
            const std::vector<double> numbers = numbers_in(output);
            return numbers.size() == 1 && std::abs(numbers[0] - file.sum()) < 1e-2;
        };
        std::vector<contender> contenders = file_roofs(file);
        contenders.push_back(program("upsweep", "upsweep reduce", upsweep_version,
                                     fmt::format("'{}' reduce '{}'", chosen.command, file.path()), check));
        contenders.push_back(
            program("mawk", "sum += $1", mawk_version,
                    fmt::format("mawk '{{ sum += $1 }} END {{ printf \"%.17g\\n\", sum }}' '{}'", file.path()), check));
        contenders.push_back(program("datamash", "datamash sum 1", datamash_version,
                                     fmt::format("datamash --format %.17g sum 1 < '{}'", file.path()), check));
        run.measure(sum, far_ahead, std::move(contenders));
    }
    if (run.wants(histogram)) {
        const auto check = [&] { return numbers_in(output) == file.counts(); };
        std::vector<contender> contenders = file_roofs(file);
        contenders.push_back(program(
            "upsweep", "upsweep histogram", upsweep_version,
            fmt::format("'{}' histogram --bins {} --range={}:{} '{}'", chosen.command, bins, lo, hi, file.path()),
            check));
        contenders.push_back(program("mawk", "++count[int(...)]", mawk_version,
                                     fmt::format("mawk '{{ ++count[int(($1 + 1000) / 100)] }} "
                                                 "END {{ for (k = 0; k < 20; ++k) print count[k] }}' '{}'",
                                                 file.path()),
                                     check));
        run.measure(histogram, far_ahead, std::move(contenders));
    }
}

} // namespace bench
