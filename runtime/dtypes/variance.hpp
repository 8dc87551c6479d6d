// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>

#include <upsweep/axis.hpp>
#include <upsweep/reduce.hpp>

#include "../variance.hpp"
#include "shapes.hpp"

// Variances of elements of one type. The files variance_*.cpp of this folder include it, and no others.
namespace upsweep::runtime {

template <class T>
class variance_reducer final : public any_reducer {
public:
    variance_reducer(double correction, cpu target) : variance_(correction), fold_(target) {}
    void feed(const void* in, std::size_t count) override { fold_.feed(std::span(static_cast<const T*>(in), count)); }
    void result(void* to) override
    {
        const auto value = variance_.result<quotient_t<T>>(fold_.result());
        std::memcpy(to, &value, sizeof value);
    }

private:
    variance variance_;
    upsweep::reducer<T, mean_and_variance> fold_;
};

template <class T>
const variance_engine& variance_engine_of()
{
    static constexpr variance_engine engine{[](double correction, cpu target) -> std::unique_ptr<any_reducer> {
                                                return std::make_unique<variance_reducer<T>>(correction, target);
                                            },
                                            [](const cpu& host, const line_layout& lines, double correction) {
                                                detail::engine<cpu, detail::verb::reduce_lines>::fold<moments<double>>(
                                                    host, lines_as<T, quotient_t<T>>(lines), mean_and_variance{},
                                                    variance_of_line{variance(correction)});
                                            }};
    return engine;
}

} // namespace upsweep::runtime
