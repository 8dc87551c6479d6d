#!/usr/bin/env python3
# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""usage: twins.py GPU_HEADER SIMULATOR_HEADER

Two headers have one name: that of the GPU holds inline PTX, and that of the simulator plays its instructions. Kernels
include either, so both must declare the same names with the same parameters, results and public members. This test
compares the declarations, and shows that it would notice a name that one side lacks."""
import re
import sys

TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[A-Za-z_]\w*|\d[\w.\']*|::|->|\S')
# How a function is compiled, which is no part of what a kernel calls.
QUALIFIERS = {'__device__', '__host__', 'inline', 'UPSWEEP_INLINE', '__forceinline__'}


def tokens_of(text):
    text = re.sub(r'//[^\n]*|/\*.*?\*/', ' ', text, flags=re.DOTALL)
    text = re.sub(r'^\s*#(?:[^\n\\]|\\.|\\\n)*', ' ', text, flags=re.MULTILINE)
    return TOKEN.findall(text)


def end_of_braces(tokens, opening):
    depth = 0
    for i in range(opening, len(tokens)):
        depth += {'{': 1, '}': -1}.get(tokens[i], 0)
        if depth == 0:
            return i
    raise ValueError('a brace is not closed')


def without_initialisers(head):
    """A constructor's head ends before the colon that begins its member initialisers."""
    depth = 0
    for i, token in enumerate(head):
        depth += {'(': 1, ')': -1}.get(token, 0)
        if token == ':' and depth == 0:
            return head[:i]
    return head


def declarations(tokens, scope='', is_public=True):
    """The declarations of a scope, each as one line of text. Private members are left out, and so is every body."""
    found, head, i = [], [], 0
    while i < len(tokens):
        token = tokens[i]
        if token in ('public', 'private', 'protected') and tokens[i + 1] == ':':
            is_public = token == 'public'
            i += 2
            continue
        if token == ';' or token == '{':
            text = ' '.join(t for t in without_initialisers(head) if t not in QUALIFIERS)
            if token == '{':
                end = end_of_braces(tokens, i)
                if head[:1] == ['namespace']:
                    found += declarations(tokens[i + 1:end], scope + ' '.join(head[1:]) + ' :: ')
                elif is_public:
                    found.append(scope + text)
                    if 'class' in head[:1] or 'struct' in head[:1]:
                        found += declarations(tokens[i + 1:end], scope + head[-1] + ' :: ', head[0] == 'struct')
                i = end
            elif text and is_public:
                # What an alias stands for may differ: an address is a number to one side and a pointer to the other.
                found.append(scope + (' '.join(head[:2]) if head[0] == 'using' else text))
            head = []
        else:
            head.append(token)
        i += 1
    return found


def difference(gpu, simulator):
    ours, theirs = declarations(tokens_of(gpu)), declarations(tokens_of(simulator))
    if ours == theirs:
        return []
    lines = ['only for the GPU: ' + d for d in ours if d not in theirs]
    lines += ['only in the simulator: ' + d for d in theirs if d not in ours]
    return lines or ['the same declarations stand in another order, or twice']


def blind_spots(gpu, simulator):
    """Renames each function, type and parameter type of either header in turn; returns the changes that go unnoticed."""
    names = set(re.findall(r'(\w+) (?:\(|$)', '\n'.join(declarations(tokens_of(gpu)))))
    names |= {'uint4', 'rank'}
    missed = []
    for name in sorted(names):
        pattern = re.compile(rf'\b{name}\b')
        if not difference(pattern.sub(name + '_x', gpu), simulator) or not difference(gpu, pattern.sub('x', simulator)):
            missed.append(name)
    return missed if len(names) > 30 else ['the parser finds only ' + ', '.join(sorted(names))]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    gpu, simulator = (open(path, encoding='utf-8').read() for path in sys.argv[1:])
    different = difference(gpu, simulator)
    for line in different:
        print(line)
    missed = blind_spots(gpu, simulator)
    if missed:
        print('a change of these goes unnoticed: ' + ', '.join(missed))
    if different or missed:
        sys.exit(1)
    print(f'{len(declarations(tokens_of(gpu)))} declarations are the same')


if __name__ == '__main__':
    main()
