# SPDX-License-Identifier: GPL-2.0
# What the cases of this folder have in common; a case reads it by `. "$(dirname "$1")/lib.sh"`.

wrong() { # what happened
	echo "wrong: $*"
	exit_fail
}

takes() { # file text: one write, which succeeds
	printf -- "$2" | LC_ALL=C tee "$1" > /dev/null || wrong "$1 refused '$2'"
}

refuses() { # file text message: one write, which fails with this errno's message
	if refused=$(printf -- "$2" | LC_ALL=C tee "$1" 2>&1 > /dev/null); then
		wrong "$1 took '$2'"
	fi
	case $refused in
	*"$3"*) ;;
	*) wrong "$1, '$2': not '$3' but: $refused" ;;
	esac
}

reads() { # file text: the whole file, but for the last newline
	now=$(cat "$1")
	[ "$now" = "$2" ] || wrong "$1 reads '$now', not '$2'"
}

fails() { # message command...: the command fails and says so
	message=$1
	shift
	if said=$(LC_ALL=C "$@" 2>&1 > /dev/null); then
		wrong "succeeded: $*"
	fi
	case $said in
	*"$message"*) ;;
	*) wrong "$*: not '$message' but: $said" ;;
	esac
}

invalid="Invalid argument"
denied="Permission denied"
not_permitted="Operation not permitted"
exists="File exists"
absent="No such file or directory"
too_long="File name too long"
range="Numerical result out of range"
overflow="Value too large"
illegal_seek="Illegal seek"
