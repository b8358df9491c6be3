#!/bin/bash
# SPDX-License-Identifier: MIT
# What bash completes is what --help lists, command by command; zsh and fish,
# where they are installed, offer the same.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

PATH=$(cd "$(dirname "$weft")" && pwd):$PATH

# completed WORD...: what bash offers for the last word, a line each
completed() (
	# shellcheck source=completions/weft.bash disable=SC1091
	. "$root/completions/weft.bash"
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	COMPREPLY=()
	_weft
	printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort
)

# Both of help, by other means than the completions use.
commands() {
	weft --help | awk '/^commands:/ { on = 1; next } /^$/ { on = 0 }
		on { print $1 }'
}

options() {
	weft "$1" --help | awk '/^  (-.,|   ) --/ {
		for (i = 1; i <= NF; i++)
			if ($i ~ /^--/) { sub(/\[.*/, "", $i); print $i; break } }' | LC_ALL=C sort
}

in_bash() {
	local command
	{ commands; echo --help; echo --version; } | LC_ALL=C sort >want
	[ "$(wc -l <want)" -ge 15 ]
	completed weft '' | diff want -
	completed weft help '' | diff <(commands | LC_ALL=C sort) -
	for command in $(commands); do
		echo "$command:"
		options "$command" >want
		completed weft "$command" -- | sed '/^$/d' | diff want -
		[ "$command" = list ] || grep -qx -- --help want
	done
	[ "$(completed weft to)" = top ]
	[ "$(completed weft top --tra)" = --trace ]
	[ "$(completed weft traces --sort dur)" = duration ]
	weft sql --list | sed 's/ .*//' | LC_ALL=C sort >want
	completed weft sql @ | diff want -
	completed weft sql @ ho | diff <(grep ho want | grep '^@ho' |
		tr -d @) -
	completed weft record -e cpu- | grep -qx cpu-clock
	touch 'a file.db'
	[ "$(completed weft top -i a)" = 'a file.db' ]
}

# Each word that is offered for a value, weft knows.
words() {
	local word
	recording weft.db "$(cat "$root/tests/data/spans.sql")"
	for word in $(completed weft top --by ''); do
		run weft top --by "$word"
		[ "$status" -ne 2 ]
	done
	for word in $(completed weft traces --sort ''); do
		run weft traces --sort "$word"
		expect 0
	done
	for word in $(completed weft export --format ''); do
		run weft export --format "$word"
		expect 0
	done
	[ -n "$word" ]
	for word in $(completed weft list ''); do
		run weft list "$word" /nonesuch
		lacks err 'cannot list'
	done
}

in_fish() {
	local command
	if ! command -v fish >/dev/null; then
		echo "# no fish here"
		return
	fi
	export HOME=$PWD
	fish_says() {
		fish --no-config -c "source '$root/completions/weft.fish'
			complete -C '$1'" | sed 's/\t.*//' | LC_ALL=C sort -u
	}
	commands | LC_ALL=C sort | diff - <(fish_says 'weft ')
	for command in $(commands); do
		echo "$command:"
		options "$command" | diff - <(fish_says "weft $command --")
	done
	[ "$(fish_says 'weft traces --sort du')" = duration ]
	fish_says 'weft sql @' | diff - \
		<(weft sql --list | sed 's/ .*//' | LC_ALL=C sort)
}

in_zsh() {
	if ! command -v zsh >/dev/null; then
		echo "# no zsh here"
		return
	fi
	python3 - "$root/completions" >out <<-'END'
	import os, pty, select, sys, time
	pid, fd = pty.fork()
	if pid == 0:
	    os.environ.update(TERM="dumb", HOME=os.getcwd(), COLUMNS="200")
	    os.execvp("zsh", ["zsh", "-f"])
	def send(text, until):
	    os.write(fd, text.encode())
	    got = b""
	    end = time.time() + 60
	    while until.encode() not in got and time.time() < end:
	        if select.select([fd], [], [], 1)[0]:
	            got += os.read(fd, 65536)
	    return got.decode(errors="replace")
	send("PS1=; fpath=(%s $fpath); autoload -U compinit; "
	     "compinit -u -d $HOME/.zc; zstyle ':completion:*' list-prompt ''; "
	     "LISTMAX=0; echo is''ready\n" % sys.argv[1], "isready\r")
	for line in ("weft top --tra\t", "weft traces --sort dur\t",
	             "weft timel\t", "weft sql @only_\t"):
	    os.write(fd, (line + "\x01echo \x05 en''d\n").encode())
	    print(send("", "end\r"))
	END
	has out 'weft top --trace'
	has out 'weft traces --sort duration'
	has out 'weft timeline'
	has out 'weft sql @only_slow'
}

it "bash completes what --help lists" in_bash
it "the values that it completes are known" words
it "fish completes the same" in_fish
it "zsh completes the same" in_zsh
finish
