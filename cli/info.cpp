// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "command.hpp"

#include <string>

#include <fmt/core.h>
#include <upsweep/runtime.h>

#include "options.hpp"
#include "report.hpp"

namespace upsweep::cli {

namespace {

void run_info(bool as_json)
{
    const char* const name = upsweep_gpu_name();
    const std::string gpu = name != nullptr ? name : "none";
    if (as_json) {
        json_object object;
        object.add("command", "info");
        object.add("version", upsweep_version());
        object.add("cpu_isa", upsweep_cpu_isa());
        object.add("cpu_threads", static_cast<std::uint64_t>(upsweep_cpu_threads()));
        object.add("gpu", gpu);
        print(object.text() + '\n');
        return;
    }
    print(table({{"version", upsweep_version()},
                 {"cpu isa", upsweep_cpu_isa()},
                 {"cpu threads", std::to_string(upsweep_cpu_threads())},
                 {"gpu", gpu}}));
}

} // namespace

void add_info(command_line& line)
{
    subcommand command = line.add_subcommand("info", "Tell the version and what this machine offers");
    const auto as_json = std::make_shared<bool>(false);
    command.add_flag("--json", *as_json, "Print one JSON object");
    command.callback([as_json] { run_info(*as_json); });
}

} // namespace upsweep::cli
