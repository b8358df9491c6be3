# SPDX-License-Identifier: MIT
#
# Completion of weft for fish. Commands and options are those that --help of the
# very weft prints, so they cannot differ.

function __weft_commands
    set -l weft (commandline -opc)[1]
    $weft --help 2>/dev/null |
        string replace -rf '^  ([a-z][a-z-]*) +([a-z].*)' '$1\t$2'
end

# Is no command given yet?
function __weft_is_first
    test (count (commandline -opc)) -eq 1
end

function __weft_is_command
    set -l words (commandline -opc)
    test (count $words) -ge 2; and contains -- $words[2] $argv
end

# Is the word before the cursor one of these options?
function __weft_is_after
    contains -- (commandline -opc)[-1] $argv
end

function __weft_options
    set -l words (commandline -opc)
    test (count $words) -ge 2; or return
    $words[1] $words[2] --help 2>/dev/null |
        string replace -rf '^  (?:-.,|   ) (--[a-z-]+)(?: [^ ]+)? *(.*)' '$1\t$2'
end

function __weft_questions
    set -l weft (commandline -opc)[1]
    $weft sql --list 2>/dev/null | string replace -r '^(@[a-z_]+) +' '$1\t'
end

function __weft_events
    set -l weft (commandline -opc)[1]
    $weft list events 2>/dev/null |
        string replace -rf '^ *([a-z][a-z-]*)(?: .*)?$' '$1'
end

complete -c weft -n __weft_is_first -f -a '(__weft_commands)'
complete -c weft -n 'not __weft_is_first' -a '(__weft_options)'
complete -c weft -n '__weft_is_command help' -f -a '(__weft_commands)'
complete -c weft -n '__weft_is_command list' -a 'events tracepoints symbols usdt'
complete -c weft -n '__weft_is_command sql' -a '(__weft_questions)'
complete -c weft -n '__weft_is_command top; and __weft_is_after --by' -f \
    -a 'function stack process thread binary attribute'
complete -c weft -n '__weft_is_command diff; and __weft_is_after --by' -f \
    -a 'function stack'
complete -c weft -n '__weft_is_command traces; and __weft_is_after --sort' -f \
    -a 'cpu samples duration cpu-share'
complete -c weft -n '__weft_is_command hist; and __weft_is_after --of' -f \
    -a 'time duration cpu length'
complete -c weft -n '__weft_is_command sql; and __weft_is_after --format -f' -f \
    -a 'table csv json'
complete -c weft -n '__weft_is_command export; and __weft_is_after --format -f' \
    -f -a 'folded pprof speedscope otlp csv json'
complete -c weft -n '__weft_is_command export; and __weft_is_after --only' -f \
    -a 'shape detail'
complete -c weft -n '__weft_is_command measure; and __weft_is_after --unit' -f \
    -a 'ns bytes none'
complete -c weft -n '__weft_is_command record; and __weft_is_after --obi' -f \
    -a 'auto off always'
complete -c weft -n '__weft_is_command record; and __weft_is_after --event -e' \
    -f -a '(__weft_events)'
