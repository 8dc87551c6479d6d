// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Checks of errors and the choice of a device, under the names by which the CUDA samples call them.
#pragma once

#include <cuda_runtime.h>
#include <helper_string.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif
#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif
#ifndef DEVICE_RESET
#define DEVICE_RESET cudaDeviceReset();
#endif

inline const char* _cudaGetErrorEnum(cudaError_t error) { return cudaGetErrorName(error); }

template <class T>
void check(T result, const char* const call, const char* const file, const int line)
{
    if (result == static_cast<T>(0))
        return;
    fprintf(stderr, "CUDA error at %s:%d code=%u(%s) \"%s\" \n", file, line, static_cast<unsigned>(result),
            _cudaGetErrorEnum(result), call);
    exit(EXIT_FAILURE);
}
#define checkCudaErrors(call) check((call), #call, __FILE__, __LINE__)

inline void __printLastCudaError(const char* message, const char* file, const int line)
{
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess)
        fprintf(stderr, "%s(%i) : getLastCudaError() CUDA error : %s : (%d) %s.\n", file, line, message,
                static_cast<int>(error), cudaGetErrorString(error));
}
#define printLastCudaError(message) __printLastCudaError(message, __FILE__, __LINE__)

inline void __getLastCudaError(const char* message, const char* file, const int line)
{
    const cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "%s(%i) : getLastCudaError() CUDA error : %s : (%d) %s.\n", file, line, message,
            static_cast<int>(error), cudaGetErrorString(error));
    exit(EXIT_FAILURE);
}
#define getLastCudaError(message) __getLastCudaError(message, __FILE__, __LINE__)

// To the nearest integer, halves away from zero.
inline int ftoi(float value) { return value >= 0 ? static_cast<int>(value + 0.5f) : static_cast<int>(value - 0.5f); }

namespace upsweep_samples {

struct architecture {
    int version, cores; // version is 0xMm; cores are those of one multiprocessor
    const char* name;
};
inline const architecture& architecture_of(int major, int minor)
{
    static const architecture known[] = {
        {0x10, 8, "Tesla"},       {0x30, 192, "Kepler"},    {0x32, 192, "Kepler"},    {0x35, 192, "Kepler"},
        {0x37, 192, "Kepler"},    {0x50, 128, "Maxwell"},   {0x52, 128, "Maxwell"},   {0x53, 128, "Maxwell"},
        {0x60, 64, "Pascal"},     {0x61, 128, "Pascal"},    {0x62, 128, "Pascal"},    {0x70, 64, "Volta"},
        {0x72, 64, "Xavier"},     {0x75, 64, "Turing"},     {0x80, 64, "Ampere"},     {0x86, 128, "Ampere"},
        {0x87, 128, "Ampere"},    {0x89, 128, "Ada"},       {0x90, 128, "Hopper"},    {0xa0, 128, "Blackwell"},
        {0xa1, 128, "Blackwell"}, {0xa3, 128, "Blackwell"}, {0xb0, 128, "Blackwell"}, {0xc0, 128, "Blackwell"},
        {0xc1, 128, "Blackwell"}};
    const architecture* best = known;
    for (const auto& one : known)
        if (one.version <= (major << 4) + minor)
            best = &one;
    return *best;
}

} // namespace upsweep_samples

inline int _ConvertSMVer2Cores(int major, int minor) { return upsweep_samples::architecture_of(major, minor).cores; }
inline const char* _ConvertSMVer2ArchName(int major, int minor)
{
    return upsweep_samples::architecture_of(major, minor).name;
}

// Makes the device current and returns its number; the program ends where there is no such device.
inline int gpuDeviceInit(int device)
{
    int count = 0;
    checkCudaErrors(cudaGetDeviceCount(&count));
    if (count == 0) {
        fprintf(stderr, "gpuDeviceInit() CUDA error: no devices supporting CUDA.\n");
        exit(EXIT_FAILURE);
    }
    device = device < 0 ? 0 : device;
    if (device >= count) {
        fprintf(stderr, "gpuDeviceInit() -device=%d is not a valid GPU; there are %d.\n", device, count);
        return -device;
    }
    checkCudaErrors(cudaSetDevice(device));
    cudaDeviceProp properties;
    checkCudaErrors(cudaGetDeviceProperties(&properties, device));
    printf("gpuDeviceInit() CUDA Device [%d]: \"%s\"\n", device,
           _ConvertSMVer2ArchName(properties.major, properties.minor));
    return device;
}

inline int gpuGetMaxGflopsDeviceId()
{
    int count = 0, best = 0;
    double most = -1;
    checkCudaErrors(cudaGetDeviceCount(&count));
    for (int device = 0; device < count; ++device) {
        cudaDeviceProp p;
        int clock = 0;
        checkCudaErrors(cudaGetDeviceProperties(&p, device));
        checkCudaErrors(cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, device));
        const double speed = static_cast<double>(p.multiProcessorCount) * _ConvertSMVer2Cores(p.major, p.minor) * clock;
        if (speed > most) {
            most = speed;
            best = device;
        }
    }
    return best;
}

// The device of the option -device=N, or the fastest.
inline int findCudaDevice(int argc, const char** argv)
{
    if (checkCmdLineFlag(argc, argv, "device")) {
        const int device = gpuDeviceInit(getCmdLineArgumentInt(argc, argv, "device"));
        if (device < 0) {
            printf("exiting...\n");
            exit(EXIT_FAILURE);
        }
        return device;
    }
    const int device = gpuGetMaxGflopsDeviceId();
    checkCudaErrors(cudaSetDevice(device));
    cudaDeviceProp properties;
    checkCudaErrors(cudaGetDeviceProperties(&properties, device));
    printf("GPU Device %d: \"%s\" with compute capability %d.%d\n\n", device,
           _ConvertSMVer2ArchName(properties.major, properties.minor), properties.major, properties.minor);
    return device;
}

// The first integrated GPU, or -1.
inline int findIntegratedGPU()
{
    int count = 0;
    checkCudaErrors(cudaGetDeviceCount(&count));
    for (int device = 0; device < count; ++device) {
        int integrated = 0;
        checkCudaErrors(cudaDeviceGetAttribute(&integrated, cudaDevAttrIntegrated, device));
        if (integrated != 0) {
            checkCudaErrors(cudaSetDevice(device));
            return device;
        }
    }
    fprintf(stderr, "CUDA error: No GPU found that is integrated.\n");
    return -1;
}

inline bool checkCudaCapabilities(int major, int minor)
{
    int device = 0;
    cudaDeviceProp p;
    checkCudaErrors(cudaGetDevice(&device));
    checkCudaErrors(cudaGetDeviceProperties(&p, device));
    const bool has = p.major > major || (p.major == major && p.minor >= minor);
    if (has)
        printf("  Device %d: <%16s >, Compute SM %d.%d detected\n", device, p.name, p.major, p.minor);
    else
        printf("  No GPU device was found that can support CUDA compute capability %d.%d.\n", major, minor);
    return has;
}
