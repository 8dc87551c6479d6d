// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "gpu_times.h"

#include <fstream>

#include "folder.h"
#include "json.h"
#include "process.h"

namespace lab {

std::filesystem::path gpu_program() { return folder() / "upsweep-lab-gpu"; }

void add_gpu_times(std::vector<measurement>& rows, const std::filesystem::path& program, const ladder& of,
                   const task& what)
{
    if (!std::filesystem::exists(program))
        return;
    const scratch_folder scratch;
    const auto results = scratch.path / "rows.jsonl";
    std::vector<std::string> words{
        program.string(),           "--ladder", of.name,         "--size", std::to_string(what.n), "--block",
        std::to_string(what.block), "--out",    results.string()};
    if (!of.inputs.empty())
        words.insert(words.end(), {"--input", of.inputs[what.input].name});
    run_program(words, hidden);
    std::ifstream in(results);
    for (std::string line; std::getline(in, line);)
        add_gpu_time(rows, line);
}

} // namespace lab
