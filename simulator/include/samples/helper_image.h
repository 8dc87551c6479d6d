// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Images in the formats PGM and PPM, files of numbers, and comparisons of results, under the names by which the CUDA samples
// call them. A function that fails says why on stderr and returns false.
#pragma once

#include <assert.h>
#include <exception.h>
#include <helper_string.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <string>
#include <type_traits>
#include <vector>

#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif
#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif
#ifndef __MIN_EPSILON_ERROR
#define __MIN_EPSILON_ERROR 1e-3f
#endif

namespace upsweep_samples {

inline bool refused(const char* function, const char* file, const char* why)
{
    std::cerr << function << "() : " << file << ": " << why << std::endl;
    return false;
}

// The next number of an image's header. A comment runs from # to the end of its line.
inline bool read_header_number(std::istream& in, unsigned& number)
{
    while (in >> std::ws && in.peek() == '#')
        in.ignore(1 << 20, '\n');
    return static_cast<bool>(in >> number);
}

// Values of images as floats lie between 0 and 1.
template <class T>
inline T from_byte(unsigned char value)
{
    if constexpr (std::is_floating_point_v<T>)
        return static_cast<T>(value) / 255;
    else
        return static_cast<T>(value);
}
template <class T>
inline unsigned char to_byte(T value)
{
    if constexpr (std::is_floating_point_v<T>)
        return static_cast<unsigned char>(value * 255);
    else
        return static_cast<unsigned char>(value);
}

// Whether few enough values differ by more than epsilon: none where the threshold is 0, or a part of them below it.
template <class T, class S>
inline bool few_differ(const T* reference, const T* data, std::size_t count, S epsilon, float threshold,
                       const char* unit)
{
    std::size_t errors = 0;
    for (std::size_t i = 0; i < count; ++i)
        errors += !(std::fabs(static_cast<double>(reference[i]) - static_cast<double>(data[i])) <= epsilon);
    if (errors != 0)
        printf("%4.2f(%%) of %s mismatched (count=%zu)\n",
               100.0 * static_cast<double>(errors) / static_cast<double>(count), unit, errors);
    return threshold == 0 ? errors == 0
                          : static_cast<double>(errors) < static_cast<double>(threshold) * static_cast<double>(count);
}

template <class T>
inline bool read_binary(const char* name, const char* executable, std::size_t count, std::vector<T>& values)
{
    char* path = sdkFindFilePath(name, executable);
    std::ifstream in(path != nullptr ? path : name, std::ios::binary);
    free(path);
    values.resize(count);
    in.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(count * sizeof(T)));
    return in ? true : refused("compareBin2Bin", name, "cannot be read");
}

template <class T>
inline bool same_files(const char* source, const char* reference, std::size_t count, float epsilon, float threshold,
                       const char* executable)
{
    std::vector<T> ours, theirs;
    if (!read_binary(source, nullptr, count, ours) || !read_binary(reference, executable, count, theirs))
        return false;
    return few_differ(theirs.data(), ours.data(), count, epsilon, threshold, "values");
}

// `load` reads an image of so many channels.
template <class Load>
inline bool same_images(const char* source, const char* reference, Load load, unsigned channels, float epsilon,
                        float threshold, bool verbose)
{
    unsigned char *ours = nullptr, *theirs = nullptr;
    unsigned width = 0, height = 0, reference_width = 0, reference_height = 0;
    const bool same =
        load(reference, &theirs, &reference_width, &reference_height) && load(source, &ours, &width, &height) &&
        width == reference_width && height == reference_height &&
        few_differ(theirs, ours, static_cast<std::size_t>(width) * height * channels, epsilon, threshold, "bytes");
    if (verbose)
        std::cerr << "> " << source << (same ? " is like " : " differs from ") << reference << "\n";
    free(ours);
    free(theirs);
    return same;
}

} // namespace upsweep_samples

// Reads an image of one channel (P5) or three (P6). Where *data is null, the memory comes from malloc.
inline bool __loadPPM(const char* file, unsigned char** data, unsigned* width, unsigned* height, unsigned* channels)
{
    using upsweep_samples::refused;
    std::ifstream in(file, std::ios::binary);
    char kind[2] = {};
    unsigned w = 0, h = 0, highest = 0;
    if (!in.read(kind, 2))
        return refused("__LoadPPM", file, "cannot be read");
    if (kind[0] != 'P' || (kind[1] != '5' && kind[1] != '6'))
        return refused("__LoadPPM", file, "is not a PPM or PGM image");
    if (!upsweep_samples::read_header_number(in, w) || !upsweep_samples::read_header_number(in, h) ||
        !upsweep_samples::read_header_number(in, highest))
        return refused("__LoadPPM", file, "has no complete header");
    in.get(); // the white space before the pixels
    *channels = kind[1] == '5' ? 1 : 3;
    if (*data != nullptr && (*width != w || *height != h))
        return refused("__LoadPPM", file, "has other dimensions than the memory given");
    const std::size_t bytes = static_cast<std::size_t>(w) * h * *channels;
    if (*data == nullptr)
        *data = static_cast<unsigned char*>(malloc(bytes));
    *width = w;
    *height = h;
    return in.read(reinterpret_cast<char*>(*data), static_cast<std::streamsize>(bytes))
               ? true
               : refused("__LoadPPM", file, "ends too early");
}

template <class T>
inline bool sdkLoadPGM(const char* file, T** data, unsigned* width, unsigned* height)
{
    unsigned char* bytes = nullptr;
    unsigned channels = 0;
    const bool loaded = __loadPPM(file, &bytes, width, height, &channels);
    if (loaded) {
        const std::size_t count = static_cast<std::size_t>(*width) * *height * channels;
        if (*data == nullptr)
            *data = static_cast<T*>(malloc(count * sizeof(T)));
        std::transform(bytes, bytes + count, *data, upsweep_samples::from_byte<T>);
    }
    free(bytes);
    return loaded;
}

// Pixels of four channels, of which the last is 0.
template <class T>
inline bool sdkLoadPPM4(const char* file, T** data, unsigned* width, unsigned* height)
{
    unsigned char* bytes = nullptr;
    unsigned channels = 0;
    const bool loaded = __loadPPM(file, &bytes, width, height, &channels);
    if (loaded) {
        const std::size_t count = static_cast<std::size_t>(*width) * *height;
        *data = static_cast<T*>(calloc(count * 4, sizeof(T)));
        for (std::size_t i = 0; i < count; ++i)
            for (unsigned channel = 0; channel < 3; ++channel)
                (*data)[4 * i + channel] = bytes[i * channels + (channels == 3 ? channel : 0)];
    }
    free(bytes);
    return loaded;
}
inline bool sdkLoadPPM4ub(const char* file, unsigned char** data, unsigned* width, unsigned* height)
{
    return sdkLoadPPM4(file, data, width, height);
}
inline bool sdkLoadPPMub(const char* file, unsigned char** data, unsigned* width, unsigned* height)
{
    unsigned channels = 0;
    return __loadPPM(file, data, width, height, &channels);
}

inline bool __savePPM(const char* file, unsigned char* data, unsigned width, unsigned height, unsigned channels)
{
    if (channels != 1 && channels != 3)
        return upsweep_samples::refused("__savePPM", file, "an image has one channel or three");
    std::ofstream out(file, std::ios::binary);
    out << (channels == 1 ? "P5\n" : "P6\n") << width << '\n' << height << "\n255\n";
    out.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(width) * height * channels);
    return out.flush() ? true : upsweep_samples::refused("__savePPM", file, "cannot be written");
}

template <class T>
inline bool sdkSavePGM(const char* file, T* data, unsigned width, unsigned height)
{
    std::vector<unsigned char> bytes(static_cast<std::size_t>(width) * height);
    std::transform(data, data + bytes.size(), bytes.begin(), upsweep_samples::to_byte<T>);
    return __savePPM(file, bytes.data(), width, height, 1);
}
inline bool sdkSavePPMub(const char* file, unsigned char* data, unsigned width, unsigned height)
{
    return __savePPM(file, data, width, height, 3);
}
inline bool sdkSavePPM4ub(const char* file, unsigned char* data, unsigned width, unsigned height)
{
    std::vector<unsigned char> bytes(static_cast<std::size_t>(width) * height * 3);
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = data[i / 3 * 4 + i % 3];
    return __savePPM(file, bytes.data(), width, height, 3);
}

// Reads the numbers of a text file. Where *data is null, the memory comes from malloc.
template <class T>
inline bool sdkReadFile(const char* file, T** data, unsigned* count, bool)
{
    std::ifstream in(file);
    if (!in)
        return upsweep_samples::refused("sdkReadFile", file, "cannot be read");
    std::vector<T> values;
    while (in >> std::ws && !in.eof())
        if (in.peek() == '#')
            in.ignore(1 << 20, '\n');
        else if (T value{}; in >> value)
            values.push_back(value);
    if (*data != nullptr && *count != values.size())
        return upsweep_samples::refused("sdkReadFile", file, "has another number of values than the memory given");
    if (*data == nullptr)
        *data = static_cast<T*>(malloc(values.size() * sizeof(T)));
    *count = static_cast<unsigned>(values.size());
    std::copy(values.begin(), values.end(), *data);
    return true;
}

template <class T>
inline bool sdkReadFileBlocks(const char* file, T** data, unsigned* count, unsigned block, unsigned block_bytes, bool)
{
    std::ifstream in(file, std::ios::binary);
    if (!in)
        return upsweep_samples::refused("sdkReadFileBlocks", file, "cannot be read");
    data[block] = static_cast<T*>(malloc(block_bytes));
    in.seekg(static_cast<std::streamoff>(block) * block_bytes);
    in.read(reinterpret_cast<char*>(data[block]), block_bytes);
    *count = static_cast<unsigned>(static_cast<std::size_t>(in.gcount()) / sizeof(T));
    return true;
}

template <class T, class S>
inline bool sdkWriteFile(const char* file, const T* data, unsigned count, const S epsilon, bool, bool append = false)
{
    std::ofstream out(file, append ? std::ios::app : std::ios::trunc);
    out << "# " << epsilon << '\n';
    for (unsigned i = 0; i < count; ++i)
        out << data[i] << ' ';
    out << std::endl;
    return out ? true : upsweep_samples::refused("sdkWriteFile", file, "cannot be written");
}

inline void sdkDumpBin(void* data, unsigned bytes, const char* file)
{
    printf("sdkDumpBin: <%s>\n", file);
    std::ofstream(file, std::ios::binary).write(static_cast<const char*>(data), bytes);
}

template <class T, class S>
inline bool compareData(const T* reference, const T* data, const unsigned count, const S epsilon, const float threshold)
{
    return upsweep_samples::few_differ(reference, data, count, epsilon, threshold, "bytes");
}
template <class T, class S>
inline bool compareDataAsFloatThreshold(const T* reference, const T* data, const unsigned count, const S epsilon,
                                        const float threshold)
{
    const double limit = MAX(static_cast<double>(epsilon), static_cast<double>(__MIN_EPSILON_ERROR));
    return upsweep_samples::few_differ(reference, data, count, limit, threshold, "values");
}

// Whether the distance of the arrays, divided by the length of the reference, is below epsilon.
inline bool sdkCompareL2fe(const float* reference, const float* data, const unsigned count, const float epsilon)
{
    double distance = 0, length = 0;
    for (unsigned i = 0; i < count; ++i) {
        const double difference = static_cast<double>(reference[i]) - data[i];
        distance += difference * difference;
        length += static_cast<double>(reference[i]) * reference[i];
    }
    if (length < 1e-7) {
        std::cerr << "ERROR, reference l2-norm is 0\n";
        return false;
    }
    const double error = std::sqrt(distance) / std::sqrt(length);
    if (!(error < epsilon))
        std::cerr << "ERROR, l2-norm error " << error << " is greater than epsilon " << epsilon << "\n";
    return error < epsilon;
}

inline bool sdkCompareBin2BinUint(const char* source, const char* reference, unsigned count, const float epsilon,
                                  const float threshold, char* executable)
{
    return upsweep_samples::same_files<unsigned>(source, reference, count, epsilon, threshold, executable);
}
inline bool sdkCompareBin2BinFloat(const char* source, const char* reference, unsigned count, const float epsilon,
                                   const float threshold, char* executable)
{
    const float limit = MAX(epsilon, __MIN_EPSILON_ERROR);
    return upsweep_samples::same_files<float>(source, reference, count, limit, threshold, executable);
}

inline bool sdkComparePPM(const char* source, const char* reference, const float epsilon, const float threshold,
                          bool verbose)
{
    return upsweep_samples::same_images(source, reference, sdkLoadPPM4ub, 4, epsilon, threshold, verbose);
}
inline bool sdkComparePGM(const char* source, const char* reference, const float epsilon, const float threshold,
                          bool verbose)
{
    return upsweep_samples::same_images(source, reference, sdkLoadPGM<unsigned char>, 1, epsilon, threshold, verbose);
}
