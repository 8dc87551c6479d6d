// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Command-line options and file names, under the names by which the CUDA samples ask for them. An option is written -name,
// --name or -name=value, in either case.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <string>

#ifndef STRCASECMP
#define STRCASECMP strcasecmp
#endif
#ifndef STRNCASECMP
#define STRNCASECMP strncasecmp
#endif
#ifndef STRCPY
#define STRCPY(to, size, from) strcpy(to, from)
#endif
#ifndef FOPEN
#define FOPEN(file, name, mode) (file = fopen(name, mode))
#endif
#ifndef FOPEN_FAIL
#define FOPEN_FAIL(result) (result == NULL)
#endif
#ifndef SSCANF
#define SSCANF sscanf
#endif
#ifndef SPRINTF
#define SPRINTF sprintf
#endif
#ifndef EXIT_WAIVED
#define EXIT_WAIVED 2
#endif

// How many of the characters at the beginning are the delimiter; 0 where nothing follows them.
inline int stringRemoveDelimiter(char delimiter, const char* text)
{
    int start = 0;
    while (text[start] == delimiter)
        ++start;
    return text[start] == '\0' ? 0 : start;
}

inline int getFileExtension(char* name, char** extension)
{
    char* dot = strrchr(name, '.');
    *extension = dot != nullptr ? dot + 1 : name + strlen(name);
    return static_cast<int>(*extension - name);
}

namespace upsweep_samples {

// What follows the name of an option, its '=' included, in the last argument that has this name; null where there is none.
inline const char* value_of_option(int argc, const char** argv, const char* name)
{
    const char* found = nullptr;
    const std::size_t length = strlen(name);
    for (int i = 1; i < argc; ++i) {
        const char* argument = argv[i] + stringRemoveDelimiter('-', argv[i]);
        if (STRNCASECMP(argument, name, length) == 0 && (argument[length] == '\0' || argument[length] == '='))
            found = argument + length;
    }
    return found;
}

inline const char* text_after_equals(const char* value) { return *value == '=' ? value + 1 : value; }

} // namespace upsweep_samples

inline bool checkCmdLineFlag(const int argc, const char** argv, const char* name)
{
    return upsweep_samples::value_of_option(argc, argv, name) != nullptr;
}

// The options without a value count as 0, as those that are not given.
inline int getCmdLineArgumentInt(const int argc, const char** argv, const char* name)
{
    const char* value = upsweep_samples::value_of_option(argc, argv, name);
    return value != nullptr ? atoi(upsweep_samples::text_after_equals(value)) : 0;
}

inline float getCmdLineArgumentFloat(const int argc, const char** argv, const char* name)
{
    const char* value = upsweep_samples::value_of_option(argc, argv, name);
    return value != nullptr ? static_cast<float>(atof(upsweep_samples::text_after_equals(value))) : 0.0f;
}

template <class T>
inline bool getCmdLineArgumentValue(const int argc, const char** argv, const char* name, T* result)
{
    const char* value = upsweep_samples::value_of_option(argc, argv, name);
    if (value == nullptr)
        return false;
    *result = static_cast<T>(atoi(upsweep_samples::text_after_equals(value)));
    return true;
}

inline bool getCmdLineArgumentString(const int argc, const char** argv, const char* name, char** result)
{
    const char* value = upsweep_samples::value_of_option(argc, argv, name);
    *result = value != nullptr ? const_cast<char*>(upsweep_samples::text_after_equals(value)) : nullptr;
    return value != nullptr;
}

// Looks for a file beside the program's input: here, in the folders of data, and in those above. The caller frees the path;
// null where there is no such file.
inline char* sdkFindFilePath(const char* name, const char* executable)
{
    std::string home;
    if (executable != nullptr) {
        home = executable;
        const auto slash = home.find_last_of('/');
        home = slash == std::string::npos ? std::string() : home.substr(0, slash + 1);
    }
    for (const std::string& base : {std::string(), home})
        for (const char* folder : {"", "data/", "../", "../data/", "../../", "../../data/", "../../../",
                                   "../../../data/", "../Common/data/", "../../Common/data/", "../../../Common/data/",
                                   "../../../../Common/data/", "common/data/", "../common/data/"}) {
            const std::string path = base + folder + name;
            if (FILE* file = fopen(path.c_str(), "rb")) {
                fclose(file);
                return strdup(path.c_str());
            }
        }
    return nullptr;
}
