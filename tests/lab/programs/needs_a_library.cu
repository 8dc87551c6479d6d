// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cublas_v2.h>

int main() { return 0; }
