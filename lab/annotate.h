// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "upsweep/simulator/report.h"

namespace lab {

// What was counted at a source line, in a few words.
std::string in_words(const upsweep::simulator::counters& counts);

// The functions of a file in which lines were counted, with the counters beside these lines. Where the file cannot be read,
// the lines' numbers stand alone.
std::string annotated(const std::map<int, upsweep::simulator::counters>& lines, const std::filesystem::path& source);

} // namespace lab
