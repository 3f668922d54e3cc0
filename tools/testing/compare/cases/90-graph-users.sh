# SPDX-License-Identifier: GPL-2.0
# Several users of the call graph at a function: the newest comes first, whichever places others have left free.
users() { # what they call
	grep -o 'subops:.*' enabled_functions
}
mkdir instances/one instances/two instances/three
for directory in . instances/one instances/two instances/three; do echo vfs_link > $directory/set_ftrace_filter; done
echo "== users of the graph: an instance, then the profiler =="
echo function_graph > instances/one/current_tracer
echo 1 > function_profile_enabled
users
echo "== users of the graph: the first has gone, another has come =="
echo nop > instances/one/current_tracer
echo function_graph > instances/two/current_tracer
users
echo "== users of the graph: the profiler comes again, behind two =="
echo function_graph > instances/three/current_tracer
echo 0 > function_profile_enabled
echo function_graph > instances/one/current_tracer
echo 1 > function_profile_enabled
users
echo "== users of the graph: one that does not want the function =="
echo vfs_link > instances/two/set_ftrace_notrace
users
echo > instances/two/set_ftrace_notrace
echo vfs_rmdir > set_ftrace_filter
users
echo 0 > function_profile_enabled
users
for name in one two three; do
	echo nop > instances/$name/current_tracer
	rmdir instances/$name
done
echo > set_ftrace_filter
