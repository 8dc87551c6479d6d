// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// The structures of DLPack 1 (https://dmlc.github.io/dlpack/latest/c_api.html), by which array libraries show one another where
// elements lie. They are an ABI: names are ours, members and their order are the standard's.
namespace upsweep::python::dlpack {

enum device_type : std::int32_t { cpu = 1, cuda = 2, cuda_host = 3, cuda_managed = 13 };

struct device {
    std::int32_t type;
    std::int32_t number;
};

enum type_code : std::uint8_t { signed_integer = 0, unsigned_integer = 1, floating = 2, bfloat = 4, boolean = 6 };

struct data_type {
    std::uint8_t code;
    std::uint8_t bits;
    std::uint16_t lanes;
};

struct tensor {
    void* data;
    dlpack::device device;
    std::int32_t rank;
    data_type dtype;
    std::int64_t* shape;
    std::int64_t* strides; // in elements; null: without gaps
    std::uint64_t byte_offset;
};

struct version {
    std::uint32_t major;
    std::uint32_t minor;
};

inline constexpr std::uint64_t read_only = 1; // a flag

// What is handed over, and how it is given back.
struct managed {
    dlpack::version version;
    void* owner;
    void (*give_back)(managed* self);
    std::uint64_t flags;
    dlpack::tensor tensor;
};

// The same before version 1.
struct managed_before_1 {
    dlpack::tensor tensor;
    void* owner;
    void (*give_back)(managed_before_1* self);
};

// The names of the capsules that hold these, before and after somebody has taken what is in them.
inline constexpr const char* capsule = "dltensor_versioned";
inline constexpr const char* taken_capsule = "used_dltensor_versioned";
inline constexpr const char* capsule_before_1 = "dltensor";
inline constexpr const char* taken_capsule_before_1 = "used_dltensor";

// The functions of a library's arrays, which it shows as `__dlpack_c_exchange_api__` of their type: a capsule of this name.
inline constexpr const char* exchange_capsule = "dlpack_exchange_api";

struct exchange_header {
    dlpack::version version;
    exchange_header* before; // of an older version, or null
};

// Those that return a number give 0, or -1 and tell Python of an exception. None waits for a GPU.
struct exchange {
    exchange_header header;
    int (*allocate)(tensor* like, managed** out, void* context,
                    void (*set_error)(void* context, const char* kind, const char* message));
    int (*managed_of)(void* array, managed** out);
    int (*array_of)(managed* given, void** out);
    int (*tensor_of)(void* array, tensor* out); // may be null
    int (*current_stream)(std::int32_t type, std::int32_t number, void** out);
};

} // namespace upsweep::python::dlpack
