# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Completion of weft for bash. Commands and options are those that --help of
# the very weft prints, so they cannot differ.

# What help lists: commands, and the options of one.
_weft_commands()
{
	"$1" --help 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\)  *[a-z].*/\1/p'
}

_weft_options()
{
	"$1" "$2" --help 2>/dev/null |
		sed -n 's/^  \(-.,\|   \) --\([a-z-]*\).*/--\2/p'
}


# The words that an option's value can be; "-": a file.
_weft_values()
{
	case $2:$3 in
	*:--input | *:-i | *:--output | *:-o | *:--symfs | *:--debug-dir)
		echo - ;;
	top:--by) echo function stack process thread binary attribute ;;
	diff:--by) echo function stack ;;
	traces:--sort) echo cpu samples duration cpu-share ;;
	hist:--of) echo time duration cpu length ;;
	sql:--format | sql:-f) echo table csv json ;;
	export:--format | export:-f)
		echo folded pprof speedscope otlp csv json ;;
	export:--only) echo shape detail ;;
	measure:--unit) echo ns bytes none ;;
	record:--obi) echo auto off always ;;
	record:--event | record:-e)
		"$1" list events 2>/dev/null |
			sed -n 's/^ *\([a-z][a-z-]*\)\( .*\)\{0,1\}$/\1/p' ;;
	esac
}

_weft()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local weft=${COMP_WORDS[0]} command=${COMP_WORDS[1]} words

	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W \
			"$(_weft_commands "$weft") --help --version" -- "$cur")
		return
	fi
	words=$(_weft_values "$weft" "$command" "$prev")
	if [ "$words" = - ]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	elif [ -n "$words" ]; then
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
	elif [ "$command" = help ]; then
		mapfile -t COMPREPLY < <(compgen -W \
			"$(_weft_commands "$weft")" -- "$cur")
	elif [ "$command" = list ] && [ "$COMP_CWORD" -eq 2 ]; then
		mapfile -t COMPREPLY < <(compgen -W \
			"events tracepoints symbols usdt" -- "$cur")
	elif [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W \
			"$(_weft_options "$weft" "$command")" -- "$cur")
	elif [ "$command" = sql ] && [[ $prev$cur == *@* ]]; then
		# @ may be a word of its own: it breaks words where
		# $COMP_WORDBREAKS says so.
		words=$("$weft" sql --list 2>/dev/null | sed 's/ .*//')
		[[ $cur == @* ]] || words=${words//@/}
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	fi
}

complete -o filenames -F _weft weft
