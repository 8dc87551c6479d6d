// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "command.hpp"

#include <cstdint>

#include <fmt/format.h>
#include <upsweep/runtime.h>

#include "options.hpp"
#include "report.hpp"

namespace upsweep::cli {

namespace {

// The library has a GPU if it can fold one element there.
bool has_gpu()
{
    const std::int32_t one = 1;
    std::int64_t result = 0;
    return upsweep_reduce({UPSWEEP_CUDA, 0}, UPSWEEP_PLUS, UPSWEEP_I32, &one, 1, &result) == UPSWEEP_OK;
}

void run_info(bool as_json)
{
    const std::string gpu = has_gpu() ? "present" : "none";
    if (as_json) {
        const json object = {{"command", "info"},
                             {"version", upsweep_version()},
                             {"cpu_isa", upsweep_cpu_isa()},
                             {"cpu_threads", upsweep_cpu_threads()},
                             {"gpu", gpu}};
        print(object.dump() + '\n');
        return;
    }
    print(table({{"version", upsweep_version()},
                 {"cpu isa", upsweep_cpu_isa()},
                 {"cpu threads", std::to_string(upsweep_cpu_threads())},
                 {"gpu", gpu}}));
}

} // namespace

void add_info(CLI::App& app)
{
    CLI::App* const command = app.add_subcommand("info", "Tell the version and what this machine offers");
    const auto as_json = std::make_shared<bool>(false);
    command->add_flag("--json", *as_json, "Print one JSON object");
    command->callback([as_json] { run_info(*as_json); });
}

} // namespace upsweep::cli
