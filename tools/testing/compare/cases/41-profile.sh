# SPDX-License-Identifier: GPL-2.0
# The function profiler on functions that are called a known number of times. (Not graph-time: in 7.3 C's switch of it
# looks for another option's bit, so that it is always on there.)
show() { # times differ from run to run, but for those that are 0
	sed -E 's/[0-9.]*[1-9][0-9.]* us +/T us /g' "$@" | sort
}
profile() { # filter
	echo "$1" > set_ftrace_filter
	echo 1 > function_profile_enabled
	for n in 1 2 3; do read line < /proc/version; done
	echo 0 > function_profile_enabled
	echo > set_ftrace_filter
}
echo "== profile, before =="
cat function_profile_enabled
head -n 2 trace_stat/function0
ls trace_stat
profile 'proc_reg_open proc_reg_release'
echo "== profile, default =="
show trace_stat/function0
head -n 2 trace_stat/function0
echo "== profile, again =="
profile 'proc_reg_open'
show trace_stat/function0
echo 1 > options/prof-text-offset
profile 'proc_reg_open'
echo "== profile, prof-text-offset =="
show trace_stat/function0 | sed -E 's/_text\+0x[0-9a-f]+ +/_text+OFFSET /'
echo 0 > options/prof-text-offset
echo "== profile, bad input =="
for word in x 2 -1 ''; do
	echo "$word" > function_profile_enabled
	echo "$? $(cat function_profile_enabled)"
done 2>&1 | sed 's/^.*: //'
echo 0 > function_profile_enabled
