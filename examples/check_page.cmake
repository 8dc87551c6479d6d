# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#
# cmake -D PAGE=... -D SOURCE=... -P check_page.cmake: the page shows the C program to the letter.
file(READ ${PAGE} page)
file(READ ${SOURCE} source)
string(FIND "${page}" "```c\n${source}```\n" position)
if(position EQUAL -1)
  message(FATAL_ERROR "${PAGE} does not show ${SOURCE} as it is")
endif()
