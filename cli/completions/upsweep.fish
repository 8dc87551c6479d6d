# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
# Completion of upsweep(1) for fish.
set -l commands reduce scan histogram info
set -l types bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64
set -l folds '__fish_seen_subcommand_from reduce scan histogram'

complete -c upsweep -n "not __fish_seen_subcommand_from $commands" -f -l version -d 'Print the version'
complete -c upsweep -n "not __fish_seen_subcommand_from $commands" -f -a reduce -d 'Fold all elements into one value'
complete -c upsweep -n "not __fish_seen_subcommand_from $commands" -f -a scan -d 'Fold every prefix'
complete -c upsweep -n "not __fish_seen_subcommand_from $commands" -f -a histogram -d 'Count samples in bins'
complete -c upsweep -n "not __fish_seen_subcommand_from $commands" -f -a info -d 'Tell what this machine offers'
complete -c upsweep -f -s h -l help -d 'Print help'

complete -c upsweep -n $folds -x -l format -a 'npy raw text csv' -d 'How the files are written'
complete -c upsweep -n $folds -x -l dtype -a "$types" -d 'Type of raw elements, or of numbers in text'
complete -c upsweep -n $folds -x -l column -d 'Column of a CSV table: position or name'
complete -c upsweep -n $folds -x -l delimiter -a 'tab space' -d 'Between the fields of a table'
complete -c upsweep -n $folds -x -l header -a 'auto yes no' -d 'Whether the first CSV record names the columns'
complete -c upsweep -n $folds -x -l missing -a 'none' -d 'More words for missing values, or none'
complete -c upsweep -n $folds -x -l comment -d 'What lines begin with that are passed over'
complete -c upsweep -n $folds -x -l skip-lines -d 'Lines before the table'
complete -c upsweep -n $folds -x -l decimal -a '. ,' -d 'The decimal point of a table'
complete -c upsweep -n $folds -x -l target -a 'auto cpu cuda' -d 'Where to run'
complete -c upsweep -n $folds -x -l threads -d 'CPU threads'
complete -c upsweep -n $folds -x -l gpu-memory -d 'For elements on their way'
complete -c upsweep -n '__fish_seen_subcommand_from reduce scan histogram info' -f -l json -d 'Print one JSON object'
complete -c upsweep -n $folds -f -s v -l verbose -d 'Print for people'

complete -c upsweep -n '__fish_seen_subcommand_from reduce scan' -x -l op -a 'sum product min max and or xor all any' -d 'Operator'
complete -c upsweep -n '__fish_seen_subcommand_from scan' -f -l exclusive -d 'Leave the element itself out'
complete -c upsweep -n '__fish_seen_subcommand_from scan' -x -l init -d 'A value before the first'
complete -c upsweep -n '__fish_seen_subcommand_from reduce scan' -x -l out-dtype -a "$types" -d 'Type of the result, or of the values'
complete -c upsweep -n '__fish_seen_subcommand_from reduce scan' -l wrap -d 'Fold integers modulo 2^bits'
complete -c upsweep -n '__fish_seen_subcommand_from scan histogram' -r -s o -l output -d 'Where the values go'
complete -c upsweep -n '__fish_seen_subcommand_from histogram' -x -l bins -d 'Bins of equal width'
complete -c upsweep -n '__fish_seen_subcommand_from histogram' -x -l range -d 'Bounds of the bins, LO:HI'
complete -c upsweep -n '__fish_seen_subcommand_from histogram' -x -l edges -d 'Borders of the bins, A,B,...'
complete -c upsweep -n '__fish_seen_subcommand_from histogram' -f -l text -d 'Count letters'
complete -c upsweep -n '__fish_seen_subcommand_from histogram' -x -l group -d 'Letters that share a bin'
