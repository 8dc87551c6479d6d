// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "segments.h"

#include <link.h>

namespace upsweep::simulator {

segment loaded_segment(std::uintptr_t address)
{
    struct search {
        std::uintptr_t address;
        segment found = {};
    } wanted{address};
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) {
            auto& look = *static_cast<search*>(data);
            for (int i = 0; i < info->dlpi_phnum; ++i) {
                const auto& part = info->dlpi_phdr[i];
                const auto begin = info->dlpi_addr + part.p_vaddr;
                if (part.p_type != PT_LOAD || look.address - begin >= part.p_memsz)
                    continue;
                look.found = {begin, begin + part.p_memsz};
                return 1;
            }
            return 0;
        },
        &wanted);
    return wanted.found;
}

} // namespace upsweep::simulator
