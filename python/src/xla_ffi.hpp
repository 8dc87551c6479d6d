// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// What the module uses of the C interface by which XLA calls foreign functions (xla/ffi/api/c_api.h, which jaxlib has in
// jax.ffi.include_dir()), from version 0.1, of jaxlib 0.5, to version 0.3. It is an ABI: names are ours, members and their order are
// XLA's. Each structure tells its size, so that later versions can append members; python/tests/test_jax.py compares them with
// XLA's own.
namespace upsweep::python::xla_ffi {

// Structures that follow others in a list, as a request for metadata follows a call.
struct extension {
    std::size_t size;
    std::int32_t type;
    extension* next;
};

struct version {
    std::size_t size;
    extension* extensions;
    int major;
    int minor;
};

inline constexpr int major_version = 0;
inline constexpr int least_minor_version = 1;
inline constexpr int last_minor_version = 3;

// --- errors -----------------------------------------------------------------------------------------------------------------

struct error; // of XLA

// Those of Abseil.
enum class error_code : std::int32_t {
    invalid_argument = 3,
    resource_exhausted = 8,
    unimplemented = 12,
    internal = 13,
    unavailable = 14
};

struct error_request {
    std::size_t size;
    extension* extensions;
    const char* message;
    error_code code;
};

// --- buffers and attributes ---------------------------------------------------------------------------------------------------

enum class data_type : std::int32_t {
    boolean = 1,
    i8 = 2,
    i16 = 3,
    i32 = 4,
    i64 = 5,
    u8 = 6,
    u16 = 7,
    u32 = 8,
    u64 = 9,
    f16 = 10,
    f32 = 11,
    f64 = 12,
    bf16 = 16
};

struct buffer {
    std::size_t size;
    extension* extensions;
    data_type dtype;
    void* data;
    std::int64_t rank;
    std::int64_t* shape;
};

// Arguments or results. Type 1 is a buffer, and there is no other.
struct buffers {
    std::size_t size;
    extension* extensions;
    std::int64_t count;
    std::int32_t* types;
    void** at;
};

struct name {
    const char* first;
    std::size_t length;
};

inline constexpr std::int32_t scalar_attribute = 3;

struct scalar {
    data_type dtype;
    void* value;
};

// Sorted by their names.
struct attributes {
    std::size_t size;
    extension* extensions;
    std::int64_t count;
    std::int32_t* types;
    name** names;
    void** at;
};

// --- calls ------------------------------------------------------------------------------------------------------------------

struct execution_context; // of XLA

struct stream_request {
    std::size_t size;
    extension* extensions;
    execution_context* context;
    void* stream; // is written: a cudaStream_t
};

struct device_request {
    std::size_t size;
    extension* extensions;
    execution_context* context;
    std::int32_t device; // is written
};

// The functions of XLA. Those that give an error give null where there is none.
struct api {
    std::size_t size;
    extension* extensions;
    xla_ffi::version version;
    const void* of_xla;
    error* (*create_error)(error_request*);
    void* message_of_error;
    void (*destroy_error)(void*);
    void* register_handler;
    error* (*get_stream)(stream_request*);
    void* others[12];                      // types, states, memory, threads, futures, the number of a run
    error* (*get_device)(device_request*); // where `size` says that it is there: it is not in jaxlib 0.5
};

inline constexpr std::int32_t execute_stage = 3;

struct call_frame {
    std::size_t size;
    extension* extensions;
    const xla_ffi::api* api; // null where an early version asks for metadata
    execution_context* context;
    std::int32_t stage;
    buffers arguments;
    buffers results;
    xla_ffi::attributes attributes;
    // A future follows, for handlers that return before their results are there.
};

// A handler is called once when it is registered, with this extension, and tells of itself.
inline constexpr std::int32_t metadata_extension = 1;

struct metadata {
    std::size_t size;
    xla_ffi::version version; // of this interface that the handler has been made for
    std::uint32_t traits;     // 1: calls can be captured in a CUDA graph and replayed
};

struct metadata_request {
    extension base;
    xla_ffi::metadata* metadata;
};

using handler = error*(call_frame*);

} // namespace upsweep::python::xla_ffi
