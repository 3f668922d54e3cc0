# SPDX-License-Identifier: GPL-2.0
# In a guest, in tracefs: the OOM killer comes (by sysrq-f) while somebody makes a large buffer, whose pages are counted for nobody.
# It takes that one, and not the program with much memory of its own.
export LC_ALL=C

wrong() {
	echo "$1"
	exit 1
}

killed() { dmesg | sed -n 's/.*Killed process \([0-9]*\) .*/\1/p' | tail -n +$((seen + 1)); }

hold() {
	rm -f /tmp/held
	python3 -c "import time; held = bytearray(b'1') * ($1 << 10); print('held', flush=True); time.sleep(1000)" > /tmp/held &
	holder=$!
	until [ -s /tmp/held ]; do sleep 0.1; done
}

size=per_cpu/cpu0/buffer_size_kb
before=$(cat $size)
available=$(sed -n 's/^MemAvailable: *\([0-9]*\).*/\1/p' /proc/meminfo)
hold $((available / 3))
for delay in 0.1 0.05 0.02 0; do
	seen=$(dmesg | grep -c 'Killed process')
	rm -f /tmp/done
	sh -c "echo $((available / 2)) > $size; : > /tmp/done" &
	writer=$!
	sleep $delay
	echo f > /proc/sysrq-trigger
	until [ "$(killed)" ]; do sleep 0.1; done
	if [ "$(killed)" = $writer ]; then
		wait $writer && wrong "it was to be killed"
		[ "$(cat $size)" = "$before" ] || wrong "the size is $(cat $size)"
		kill $holder || wrong "the other one has gone, too"
		exit 0
	fi
	[ -e /tmp/done ] || wrong "the program with most memory was killed, and not who makes a buffer: $(dmesg | grep 'Killed process')"
	# It had the buffer before the killer came.
	echo "$before" > $size
	hold $((available / 3))
done
wrong "each time it had its buffer first"
