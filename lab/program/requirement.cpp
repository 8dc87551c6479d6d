// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "requirement.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <stdexcept>

namespace lab::program {

namespace {

double ratio(double of, double to, double otherwise) { return to == 0 ? otherwise : of / to; }

// The counters by their names, and what is computed from them.
std::map<std::string, double> values_of(const kernel_report& kernel)
{
    std::map<std::string, double> out;
    for (const counter& c : all_counters())
        out[c.name] = static_cast<double>(kernel.counts.*c.member);
    out["conflicts"] = out["bank_conflicts"];
    out["divergent"] = out["divergent_instructions"];
    out["transactions"] = out["load_transactions"] + out["store_transactions"];
    out["sectors_per_load"] = ratio(out["load_transactions"], out["load_instructions"], 0);
    out["sectors_per_store"] = ratio(out["store_transactions"], out["store_instructions"], 0);
    out["efficiency"] = 100 * kernel.counts.efficiency();
    out["idle"] = 100 * (1 - ratio(out["active_lanes"], out["possible_lanes"], 1));
    out["launches"] = static_cast<double>(kernel.launches);
    out["shared_bytes"] = static_cast<double>(kernel.dynamic_shared + kernel.static_shared);
    out["steps"] = static_cast<double>(kernel.steps);
    out["work"] = static_cast<double>(kernel.work);
    return out;
}

const std::map<std::string, std::function<bool(double, double)>>& comparisons()
{
    static const std::map<std::string, std::function<bool(double, double)>> all{
        {"=", std::equal_to<>{}},    {"<", std::less<>{}},           {">", std::greater<>{}},
        {"<=", std::less_equal<>{}}, {">=", std::greater_equal<>{}},
    };
    return all;
}

} // namespace

requirement::requirement(const std::string& text) : text_(text)
{
    const auto sign = text.find_first_of("<>=");
    const auto number = sign == text.npos ? text.npos : text.find_first_not_of("<>=", sign);
    if (number == text.npos)
        throw std::invalid_argument("'" + text +
                                    "' requires nothing: write NAME=NUMBER, or <, <=, >=, > in place of =");
    name_ = text.substr(0, sign);
    comparison_ = text.substr(sign, number - sign);
    if (comparison_ == "==")
        comparison_ = "=";
    if (const auto colon = name_.rfind(':'); colon != name_.npos && colon > 0 && name_[colon - 1] != ':') {
        kernel_ = name_.substr(0, colon);
        name_.erase(0, colon + 1);
    }
    std::size_t read = 0;
    try {
        limit_ = std::stod(text.substr(number), &read);
    } catch (const std::exception&) {
        read = 0;
    }
    if (read == 0 || number + read != text.size() || !comparisons().contains(comparison_))
        throw std::invalid_argument("'" + text + "' has no number to compare with");
    const auto known = values_of({});
    if (known.contains(name_))
        return;
    std::string names;
    for (const auto& [name, value] : known)
        names += (names.empty() ? "" : ", ") + name;
    throw std::invalid_argument("nothing that is counted is called '" + name_ + "'; there are " + names);
}

std::vector<std::string> requirement::unmet_by(const std::vector<kernel_report>& kernels) const
{
    std::vector<std::string> out;
    bool is_there = false;
    for (const kernel_report& k : kernels) {
        if (!kernel_.empty() && k.name != kernel_ && !k.name.starts_with(kernel_ + "<"))
            continue;
        is_there = true;
        const double value = values_of(k).at(name_);
        if (!comparisons().at(comparison_)(value, limit_))
            out.push_back(fmt::format("{} is required, but {} has {:g}", text_, k.name, value));
    }
    if (!is_there)
        out.push_back(kernel_.empty() ? text_ + " is required, but no kernel ran"
                                      : text_ + " is required, but no kernel " + kernel_ + " ran");
    return out;
}

} // namespace lab::program
