// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "options.hpp"
#include "report.hpp"
#include "source.hpp"

namespace upsweep::cli {

// The files of a command line as one array.
class inputs {
public:
    // Opens every file; a failure names the one that cannot be used or whose type differs from the others'.
    [[nodiscard]] static inputs open(const common_options& options);
    // The same, for the bytes of any file.
    [[nodiscard]] static inputs open_as_bytes(const common_options& options);

    upsweep_dtype dtype() const { return sources_.front()->dtype(); }
    bool rereadable() const;
    std::optional<std::uint64_t> count() const;
    // The file, or the first of several with the number of the others.
    std::string name() const;
    // `target` with as many threads as the taker of the blocks should use.
    upsweep_target sink_target(upsweep_target target) const;

    using sink = std::function<void(const std::string& file, const void* elements, std::uint64_t count)>;
    // Gives all elements to `take`, file after file, with a progress bar. Returns what was read and how long it took.
    measurement stream(const sink& take) const;

private:
    explicit inputs(std::vector<std::unique_ptr<source>> sources) : sources_(std::move(sources)) {}

    std::vector<std::unique_ptr<source>> sources_;
};

} // namespace upsweep::cli
