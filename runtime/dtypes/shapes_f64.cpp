// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "shapes.hpp"

namespace upsweep::runtime {

template std::unique_ptr<shape_reducer> make_sums<double>(bool);
template std::unique_ptr<shape_scanner> make_running_sums<double>();
template std::unique_ptr<shape_reducer> make_extrema<double>(upsweep_op);
template std::unique_ptr<shape_scanner> make_running_extrema<double>(upsweep_op);

} // namespace upsweep::runtime
