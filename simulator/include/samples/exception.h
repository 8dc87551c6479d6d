// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Exceptions that know where they were thrown, under the names of the CUDA samples.
#pragma once

#include <stdlib.h>

#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>

template <class Base>
class Exception : public Base {
public:
    explicit Exception(const std::string& text) : Base(text) {}
    static void throw_it(const char* file, int line, const char* detail)
    {
        throw Exception(std::string("Exception in file '") + file + "' in line " + std::to_string(line) +
                        "\nDetailed description: " + detail + "\n");
    }
    static void throw_it(const char* file, int line, const std::string& detail)
    {
        throw_it(file, line, detail.c_str());
    }
};

template <class Thrown>
inline void handleException(const Thrown& thrown)
{
    std::cerr << thrown.what() << std::endl;
    exit(EXIT_FAILURE);
}

#define RUNTIME_EXCEPTION(message) Exception<std::runtime_error>::throw_it(__FILE__, __LINE__, message)
#define LOGIC_EXCEPTION(message) Exception<std::logic_error>::throw_it(__FILE__, __LINE__, message)
#define RANGE_EXCEPTION(message) Exception<std::range_error>::throw_it(__FILE__, __LINE__, message)
