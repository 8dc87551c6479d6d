// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "shapes.hpp"

namespace upsweep::runtime {

template std::unique_ptr<shape_reducer> make_sums<f16>(bool);
template std::unique_ptr<shape_scanner> make_running_sums<f16>();
template std::unique_ptr<shape_reducer> make_sums<bf16>(bool);
template std::unique_ptr<shape_scanner> make_running_sums<bf16>();

} // namespace upsweep::runtime
