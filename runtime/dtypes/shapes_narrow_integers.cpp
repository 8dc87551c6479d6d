// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "shapes.hpp"

namespace upsweep::runtime {

template std::unique_ptr<shape_reducer> make_sums<std::int8_t>(bool);
template std::unique_ptr<shape_reducer> make_sums<std::uint8_t>(bool);
template std::unique_ptr<shape_reducer> make_sums<std::int16_t>(bool);
template std::unique_ptr<shape_reducer> make_sums<std::uint16_t>(bool);
template std::unique_ptr<shape_scanner> make_running_sums<std::uint8_t>();
template std::unique_ptr<shape_scanner> make_running_sums<std::uint16_t>();

} // namespace upsweep::runtime
