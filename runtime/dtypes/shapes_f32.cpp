// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "shapes.hpp"

namespace upsweep::runtime {

template std::unique_ptr<shape_reducer> make_sums<float>(bool);
template std::unique_ptr<shape_scanner> make_running_sums<float>();
template std::unique_ptr<shape_reducer> make_extrema<float>(upsweep_op);
template std::unique_ptr<shape_scanner> make_running_extrema<float>(upsweep_op);

} // namespace upsweep::runtime
