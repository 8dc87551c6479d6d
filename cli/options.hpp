// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <upsweep/files.hpp>
#include <upsweep/runtime.h>

#include "command_line.hpp"
#include "runtime_call.hpp"

namespace upsweep::cli {

// What reduce, scan and histogram have in common.
struct common_options {
    std::vector<std::string> files;
    std::string format;
    std::string dtype;
    std::string column;
    std::string delimiter;
    std::string header = "auto";
    std::string missing;
    std::string comment;
    std::string skip_lines = "0";
    std::string decimal = ".";
    std::string target = "auto";
    std::string threads_text;
    std::string gpu_memory;
    bool json = false;
    bool verbose = false;
    bool prints_as_it_reads = false;       // so that what has been printed cannot be taken back
    upsweep_dtype narrowest = UPSWEEP_I64; // that the numbers of a text may have, as far as they have been read
};

// Runs a command, from its beginning again where a number of a text turns out to need a wider type than those before it.
void run_with_types_of_numbers(common_options& options, const std::function<void()>& command);

void add_common_options(subcommand& command, common_options& options);
void add_op_option(subcommand& command, std::string& op);
void add_out_dtype_option(subcommand& command, std::string& out_dtype, const std::string& help);
void add_wrap_option(subcommand& command, bool& wrap);

// These throw usage_error.
[[nodiscard]] files::read_options read_options_of(const common_options& options);
[[nodiscard]] upsweep_place place_of(const common_options& options);
// 0 where all cores are meant.
[[nodiscard]] int threads_of(const common_options& options);
// Holds the whole process to --threads while it lives; null where all cores are meant.
[[nodiscard]] std::shared_ptr<void> limit_threads(const common_options& options);
// Bytes, if --gpu-memory was given.
[[nodiscard]] std::optional<std::uint64_t> gpu_memory_of(const common_options& options);
[[nodiscard]] upsweep_op op_of_name(const std::string& name);
[[nodiscard]] upsweep_dtype dtype_option(const std::string& option, const std::string& name);
// Nothing where the option was not given.
[[nodiscard]] std::optional<upsweep_dtype> out_dtype_option(const std::string& name);
// Where the options say that the elements are to be folded. Throws a failure where that is not possible on this machine.
[[nodiscard]] context_ptr context_of(const common_options& options);
// Whether the options that all commands share make sense, which is told before what is wrong with the machine or the files.
void check_common_options(const common_options& options);
// Throws a failure where the option is one that GPUs do not carry out, and the target is one.
void check_runs_on_cpu(const common_options& options, const std::string& option);
// A count from 1 to `most`.
[[nodiscard]] std::uint64_t count_option(const std::string& option, const std::string& text, std::uint64_t most);
// A number on the command line: bounds, edges.
[[nodiscard]] double number_option(const std::string& option, std::string_view text);

// Whether to explain the result to a person: standard output is a terminal, or --verbose.
[[nodiscard]] bool wants_table(const common_options& options);

} // namespace upsweep::cli
