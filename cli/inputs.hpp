// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <upsweep/files.hpp>

#include "options.hpp"
#include "report.hpp"
#include "runtime_call.hpp"

namespace upsweep::cli {

// Elements that follow one another in a file.
struct input_chunk {
    const std::string& file;
    const void* elements;
    std::uint64_t count;
    std::uint64_t first; // the position in the file
    const files::chunk& read;

    // Where an element is, for an error: "a.csv: line 12", "a.npy: element 12".
    std::string place_of(std::uint64_t index) const;
};

// The files of a command line as one array.
class inputs {
public:
    // Opens every file; a failure names the one that cannot be used or whose type differs from the others'.
    [[nodiscard]] static inputs open(const common_options& options);
    // The same, for the bytes of any file.
    [[nodiscard]] static inputs open_as_bytes(const common_options& options);

    upsweep_dtype dtype() const { return readers_.front()->dtype(); }
    // Has what can be read only once kept, as it is read for the first time, so that it can be read again.
    void keep();
    std::optional<std::uint64_t> count() const;
    // The only file, which is an array with extents, .npy. Throws a failure where there are several, or where it is none.
    const files::reader& array() const;
    // The file, or the first of several with the number of the others.
    std::string name() const;
    // How a table is read: its delimiter, its column and whether it has a header. Nothing of other files.
    void add_table_to(json_object& object) const;
    // Tells on standard error, of tables, how many records have no value; nothing where it is none.
    void tell_missing(const measurement& done) const;
    // Leaves the cores to those who turn bytes into elements, where these need them.
    void share_cores(upsweep_context& context) const;

    using sink = std::function<void(const input_chunk& chunk)>;
    // Gives all elements to `take`, file after file, with a progress bar. Returns what was read and how long it took.
    measurement stream(const sink& take) const;

private:
    explicit inputs(std::vector<std::unique_ptr<files::reader>> readers) : readers_(std::move(readers)) {}

    std::vector<std::unique_ptr<files::reader>> readers_;
};

} // namespace upsweep::cli
