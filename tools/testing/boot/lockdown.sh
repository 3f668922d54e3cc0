# SPDX-License-Identifier: GPL-2.0
# Nothing of tracefs can be opened once confidentiality is asked for. The current folder is tracefs.
wrong() {
	echo "$*"
	exit 1
}

mountpoint -q /sys/kernel/security || mount -t securityfs nodev /sys/kernel/security || wrong "no securityfs"
# No permission is asked for there.
modprobe dentry_open_called || wrong "no module dentry_open_called"
by_dentry() { env printf %s "$PWD/$1" > /sys/module/dentry_open_called/parameters/path; }
by_dentry trace || wrong "dentry_open() does not open trace"
exec 3< trace
echo mark > trace_marker
echo confidentiality > /sys/kernel/security/lockdown || wrong "no lockdown"
for file in trace tracing_on options/raw enabled_functions touched_functions events/sched/enable trace_pipe per_cpu/cpu0/trace_pipe_raw; do
	cat $file 2>&1 | grep -q 'not permitted' || wrong "$file can be opened"
done
for file in trace tracing_on options/raw events/sched/enable; do
	by_dentry $file 2>&1 | grep -q 'not permitted' || wrong "dentry_open() opens $file"
done
sh -c 'echo 0 > tracing_on' 2>&1 | grep -q 'not permitted' || wrong "tracing_on can be written"
mkdir instances/x 2>&1 | grep -q 'not permitted' || wrong "an instance can be made"
# What was open stays so.
grep -q ': mark$' <&3 || wrong "an open file cannot be read"
