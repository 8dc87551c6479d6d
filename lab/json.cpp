// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "json.h"

#include <nlohmann/json.hpp>

#include "program/report_file.h"

namespace lab {

nlohmann::json json_of(const measurement& m)
{
    const auto& c = m.counts;
    nlohmann::json found = nlohmann::json::array();
    for (const auto& f : m.findings)
        found.push_back(program::json_of(f));
    nlohmann::json gpu;
    if (m.gpu)
        gpu = {{"n", m.gpu->n},
               {"ms", m.gpu->ms},
               {"gbps", m.gpu->gbps},
               {"share_of_roof", m.gpu->share_of_roof},
               {"right", m.gpu->right}};
    return {{"gpu", gpu},
            {"row", m.of->row},
            {"kernel", m.of->name},
            {"right", m.right},
            {"launches", m.launches},
            {"blocks", m.blocks},
            {"steps", m.steps},
            {"work", m.work},
            {"instructions", c.instructions},
            {"active_lanes", c.active_lanes},
            {"possible_lanes", c.possible_lanes},
            {"divergent_instructions", c.divergent},
            {"global_loads", c.global_load_accesses},
            {"global_stores", c.global_store_accesses},
            {"load_transactions", c.load_transactions},
            {"store_transactions", c.store_transactions},
            {"bytes_used", c.load_bytes + c.store_bytes},
            {"bytes_moved", c.load_bytes_moved + c.store_bytes_moved},
            {"shared_loads", c.shared_load_accesses},
            {"shared_stores", c.shared_store_accesses},
            {"bank_conflicts", c.bank_conflicts},
            {"worst_bank", c.worst_bank},
            {"barriers", c.barriers},
            {"warp_barriers", c.warp_barriers},
            {"exchanges", c.exchanges},
            {"fences", c.fences},
            {"global_atomics", c.global_atomic_accesses},
            {"shared_atomics", c.shared_atomic_accesses},
            {"atomic_replays", c.atomic_replays},
            {"worst_address", c.worst_address},
            {"bulk_copies", c.bulk_copies},
            {"findings", found}};
}

std::string json_text(const std::vector<measurement>& rows)
{
    nlohmann::json all = nlohmann::json::array();
    for (const auto& m : rows)
        all.push_back(json_of(m));
    return all.dump(2);
}

void add_gpu_time(std::vector<measurement>& rows, const std::string& line)
{
    const auto row = nlohmann::json::parse(line);
    for (auto& m : rows)
        if (m.of->row == row.at("row") && m.of->name == row.at("kernel"))
            m.gpu = {row.at("n"), row.value("ms", 0.0), row.value("gbps", 0.0), row.value("share_of_roof", 0.0),
                     row.at("right")};
}

} // namespace lab
