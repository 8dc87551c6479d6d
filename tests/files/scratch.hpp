// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>
#include <upsweep/files.hpp>

namespace upsweep::files::test {

// A folder for the files of a test, and ways to fill and read them.
class scratch : public ::testing::Test {
protected:
    scratch()
    {
        std::string name = ::testing::TempDir() + "upsweep-files-XXXXXX";
        folder_ = ::mkdtemp(name.data());
    }
    ~scratch() override { std::filesystem::remove_all(folder_); }

    std::string path(const std::string& name) const { return (folder_ / name).string(); }

    std::string write(const std::string& name, std::string_view content) const
    {
        std::ofstream(path(name), std::ios::binary) << content;
        return path(name);
    }

    std::string content(const std::string& name) const
    {
        std::ifstream file(path(name), std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    std::vector<std::string> names_in_folder() const
    {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(folder_))
            names.push_back(entry.path().filename().string());
        std::sort(names.begin(), names.end());
        return names;
    }

private:
    std::filesystem::path folder_;
};

// A pipe through which the content comes in drops of so many bytes.
class pipe_of {
public:
    explicit pipe_of(std::string content, std::size_t drop = 4099)
    {
        if (::pipe(ends_) != 0)
            std::abort();
        feeder_ = std::thread([this, drop, content = std::move(content)] {
            std::string_view rest = content;
            while (!rest.empty()) {
                const ssize_t done = ::write(ends_[1], rest.data(), std::min(drop, rest.size()));
                if (done < 0)
                    break;
                rest.remove_prefix(static_cast<std::size_t>(done));
            }
            ::close(ends_[1]);
        });
    }
    pipe_of(const pipe_of&) = delete;
    pipe_of& operator=(const pipe_of&) = delete;
    ~pipe_of()
    {
        char rest[4096];
        while (::read(ends_[0], rest, sizeof rest) > 0) { // what a reader that failed has left
        }
        feeder_.join();
        ::close(ends_[0]);
    }

    std::string path() const { return "/dev/fd/" + std::to_string(ends_[0]); }

private:
    int ends_[2] = {-1, -1};
    std::thread feeder_;
};

// The elements of all chunks; the bytes that were read for them are counted.
template <class T>
std::vector<T> elements_of(reader& in, std::uint64_t* bytes = nullptr)
{
    std::vector<T> elements;
    in.read([&](const chunk& c) {
        const std::size_t before = elements.size();
        elements.resize(before + c.count);
        if (c.count > 0)
            std::memcpy(static_cast<void*>(elements.data() + before), c.elements, c.count * sizeof(T));
        if (bytes != nullptr)
            *bytes += c.bytes;
    });
    return elements;
}

template <class T>
std::vector<T> elements_of(const std::string& path, const read_options& options = {})
{
    const std::unique_ptr<reader> in = open(path, options);
    if (std::is_same_v<T, double>)
        in->read_as(UPSWEEP_F64); // whatever the text looks like
    return elements_of<T>(*in);
}

// The failure that a call ends in.
template <class Call>
failure failure_of(const Call& call)
{
    try {
        (void)call();
    } catch (const failure& error) {
        return error;
    }
    ADD_FAILURE() << "nothing was thrown";
    return failure("", {}, {});
}

} // namespace upsweep::files::test
