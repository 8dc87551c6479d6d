// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "engine.hpp"
#include "histograms.hpp"
#include "lines.hpp"
#include "shapes.hpp"

namespace upsweep::runtime::gpu {

namespace {

[[noreturn]] void throw_none()
{
    throw error(error_kind::no_device, "upsweep", "this build has no GPU engine",
                "use the target cpu or auto, or build where CUDA's compiler, nvcc, is installed");
}

} // namespace

std::string device_name() { throw_none(); }
std::shared_ptr<device> open(int, void*) { throw_none(); }
int number_of(const device&) { throw_none(); }
void wait(const device&) { throw_none(); }
void check_memory(const device&, const char*, const elements&) { throw_none(); }
void write(const device&, void*, const void*, std::size_t) { throw_none(); }
void copy_and_wait(const device&, void*, const void*, std::size_t) { throw_none(); }
without_gaps::without_gaps(const device& gpu, const elements&, bool) : gpu_(gpu) { throw_none(); }
without_gaps::without_gaps(const device& gpu, const elements&, bool, bool) : gpu_(gpu) { throw_none(); }
without_gaps::~without_gaps() { static_cast<void>(gpu_); }
void without_gaps::write_back() const
{
    wait(gpu_); // It throws, as everything here.
}
std::unique_ptr<any_reducer> make_reducer(const reduce_request&) { throw_none(); }
std::unique_ptr<any_scanner> make_scanner(const scan_request&) { throw_none(); }
std::unique_ptr<any_counter> make_counter(const counter_request&, const even_bins&) { throw_none(); }
std::unique_ptr<any_counter> make_counter(const counter_request&, const edges&) { throw_none(); }
std::unique_ptr<any_counter> make_byte_counter(const counter_request&) { throw_none(); }
bool reduce_by_type(const reduce_request&, const elements&, void*, bool) { throw_none(); }
bool scan_by_type(const scan_request&, const elements&, const elements&) { throw_none(); }
bool count_by_type(const counter_request&, const even_bins&, const elements&, std::span<std::uint64_t>, outside*, bool)
{
    throw_none();
}
bool count_by_type(const counter_request&, const edges&, const elements&, std::span<std::uint64_t>, outside*, bool)
{
    throw_none();
}
void write_variance(const device&, double, const elements&, void*, bool) { throw_none(); }
bool reduce_lines(const device&, const shape_fold&, upsweep_dtype, const line_layout&, bool) { throw_none(); }
bool scan_lines(const device&, const shape_fold&, const line_layout&, const scan_start&) { throw_none(); }
void fill(const device&, const shape_fold&, const elements&, const void*) { throw_none(); }
bool variances_of_lines(const device&, upsweep_dtype, const line_layout&, std::optional<double>) { throw_none(); }
void variances_of_moments(const device&, const line_layout&, double, upsweep_dtype) { throw_none(); }
bool find_arguments(const device&, upsweep_op, upsweep_dtype, const line_layout&) { throw_none(); }
void reduce_segments(const device&, const shape_fold&, const elements&, const elements&, const elements&)
{
    throw_none();
}
void scan_segments(const device&, const shape_fold&, const elements&, const elements&, const elements&,
                   const scan_start&)
{
    throw_none();
}
scratch::scratch(const device& gpu, const elements& like) : gpu_(gpu), elements_(like) { throw_none(); }
scratch::~scratch() { static_cast<void>(gpu_); }
converted::converted(const device& gpu, const elements& of, upsweep_dtype, upsweep_dtype) : dense_(gpu, of) {}
converted_results::converted_results(const device& gpu, const elements& of, upsweep_dtype, written)
    : gpu_(gpu), dense_(gpu, of)
{
}
void converted_results::write(std::uint64_t, const elements*) const
{
    static_cast<void>(gpu_);
    throw_none();
}
void write_truths(const device&, const elements&, const elements&) { throw_none(); }
bool has_bits_of(upsweep_dtype, upsweep_dtype) { throw_none(); }
void check_offsets(const device&, const elements&, std::uint64_t) { throw_none(); }
upsweep_dtype key_dtype(upsweep_dtype) { throw_none(); }
key_words::key_words(const device& gpu, const elements& keys) : keys_(gpu, keys, keys.dtype) { throw_none(); }
std::uint64_t reduce_by_key(const device&, const shape_fold&, const elements&, const elements&, const elements&,
                            const elements&)
{
    throw_none();
}
void scan_by_key(const device&, const shape_fold&, const elements&, const elements&, const elements&, const scan_start&)
{
    throw_none();
}
found_on_gpu encode_runs(const device&, const elements&, const elements&, const elements&) { throw_none(); }
bool decode_runs(const device&, const elements&, const elements&, const elements&) { throw_none(); }
found_on_gpu select(const device&, const elements&, const elements&, const elements&) { throw_none(); }
found_on_gpu partition(const device&, const elements&, const elements&, const elements&) { throw_none(); }
bool linear_recurrence(const device&, upsweep_dtype, const recurrence_layout&) { throw_none(); }
bool integrate_images(const device&, upsweep_dtype, upsweep_dtype, const image_layout&) { throw_none(); }
upsweep_dtype counted_as(upsweep_dtype) { throw_none(); }
upsweep_dtype weighed_as(upsweep_dtype) { throw_none(); }

template <class Bins>
bool count_lines(const device&, upsweep_dtype, const counted_layout&, const Bins&)
{
    throw_none();
}
template <class Bins>
void count_segments(const device&, const elements&, const elements&, const Bins&, const elements&, outside*)
{
    throw_none();
}
template <class Bins>
void add_up_weights(const device&, const elements&, const elements&, const Bins&, const elements&, const elements&)
{
    throw_none();
}
UPSWEEP_HISTOGRAMS_IN(even_bins);
UPSWEEP_HISTOGRAMS_IN(edges);

} // namespace upsweep::runtime::gpu
