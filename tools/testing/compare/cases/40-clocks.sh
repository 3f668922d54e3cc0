# SPDX-License-Identifier: GPL-2.0
# How clocks count, and what becomes of one that is set back. Digits are masked, so numbers are told in letters.
letters() { tr 0-9 a-j; }
stamps() { sed -nE 's/.*\] [^ ]{5} +([0-9.]+): .*/\1/p' "${1:-trace}"; }
mark() { for text in "$@"; do echo "$text" > trace_marker; done; }

echo "== counter counts the readings =="
echo counter > trace_clock
mark one two three four
stamps | awk 'NR > 1 { print $1 - last } { last = $1 }' | letters
echo "== counter: what is recorded with an entry is a reading like the others =="
echo stacktrace > trace_options
echo > trace
mark five six
echo nostacktrace > trace_options
stamps | awk 'NR > 1 { print $1 - last } { last = $1 }' | letters
echo "== uptime counts in hundredths of a second =="
echo uptime > trace_clock
up=$(cut -d. -f1 /proc/uptime)
mark one
stamps | awk -v up="$up" '{ print $1 >= 100 * up - 100 && $1 <= 100 * up + 300 ? "yes" : "no: " $1 " at " up }'
echo "== a clock that is set back =="
echo tai > trace_clock
now=$(date +%s)
mark one
date -s "@$((now - 1000))" > /dev/null
mark two
sleep 0.2
mark three
stamps | awk '{ t[NR] = $1 } END { print "two is", t[2] == t[1] ? "no" : "some", "later than one"
	d = t[3] - t[2]; print "three is later than two:", d > 0.15 && d < 9 ? "yes" : d }'
echo "== the same, the trace taken out =="
cat trace_pipe > /tmp/pipe 2> /dev/null &
for try in 1 2 3 4 5 6 7 8 9 10; do [ "$(stamps /tmp/pipe | wc -l)" -ge 3 ] || sleep 0.5; done
kill $!
stamps /tmp/pipe | awk '{ t[NR] = $1 } END { print t[2] == t[1], t[3] > t[2], NR }' | letters
echo "== and set forward =="
mark one
date -s "@$((now + 1))" > /dev/null
mark two
stamps | awk '{ t[NR] = $1 } END { d = t[2] - t[1]; print d > 990 && d < 1010 ? "yes" : d }'
echo "== what the log says =="
dmesg | grep -o 'Ring buffer clock went backwards: [0-9]* -> [0-9]*' | sed 's/[0-9][0-9]*/N/g'
echo local > trace_clock
