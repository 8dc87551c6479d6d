# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
# Completion of upsweep(1) for bash.
_upsweep()
{
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
    local common="--help --format --dtype --column --delimiter --header --missing --comment --skip-lines --decimal --target --threads --gpu-memory --json --verbose"
    local types="bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64"
    local words=
    COMPREPLY=()

    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W "reduce scan histogram runs info --help --version" -- "$word"))
        return
    fi
    case $previous in
        --op) words="sum product min max and or xor all any" ;;
        --format) words="npy raw text csv" ;;
        --dtype | --out-dtype) words=$types ;;
        --header) words="auto yes no" ;;
        --target) words="auto cpu cuda" ;;
        --delimiter) words="tab space" ;;
        --missing) words="none" ;;
        --decimal) words=". ," ;;
        --axis | --column | --comment | --skip-lines | --threads | --gpu-memory | --init | --bins | --range | --edges | --group) return ;;
    esac
    if [[ -n $words ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$word"))
        return
    fi
    if [[ $word == -* ]]; then
        case $command in
            reduce) words="$common --op --axis --output --out-dtype --wrap" ;;
            scan) words="$common --op --axis --exclusive --init --output --out-dtype --wrap" ;;
            histogram) words="$common --bins --range --edges --text --group --output" ;;
            runs) words=$common ;;
            info) words="--help --json" ;;
        esac
        COMPREPLY=($(compgen -W "$words" -- "$word"))
        return
    fi
    [[ $command == info ]] && return
    compopt -o filenames 2>/dev/null # an error where no completion is under way
    local IFS=$'\n'
    COMPREPLY=($(compgen -f -- "$word"))
}
complete -F _upsweep upsweep
