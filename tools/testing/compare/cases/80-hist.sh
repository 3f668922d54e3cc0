# SPDX-License-Identifier: GPL-2.0
# What makes two hist triggers the same, what removes them, how definitions are printed, which are refused.
w() { # event, text
	if printf '%s\n' "$2" 2>/dev/null >> events/$1/trigger; then echo "ok: $2"; else echo "refused: $2"; fi
	grep -v '^\[' error_log | head -3; sed -n 's/^\[[^]]*\] //p' error_log; echo > error_log
}
show() { cat events/$1/trigger; }
clear() { for e in "$@" "$@"; do tac events/$e/trigger | sed -n 's/ \[\(active\|paused\)\]$//; /^#/!s/^/!/p' | while read -r l; do echo "$l" >> events/$e/trigger; done 2>/dev/null; : > events/$e/trigger; done; echo > error_log; }
s=sched/sched_switch; k=sched/sched_waking
echo "== same by number =="
w $s 'hist:keys=prev_pid.buckets=5'
w $s 'hist:keys=prev_pid.buckets=7'
w $s 'hist:keys=prev_pid:vals=prev_prio+1'
w $s 'hist:keys=prev_pid:vals=prev_prio+2'
w $s 'hist:keys=prev_pid:vals=next_prio*2'
w $s 'hist:keys=prev_pid:vals=5'
w $s 'hist:keys=prev_pid:vals=6'
w $s 'hist:keys=prev_pid:vals=5:nohitcount'
w $s 'hist:keys=prev_pid:vals=6:size=256:pause'
show $s
w $s '!hist:keys=prev_pid:vals=7'
w $s '!hist:keys=prev_pid.buckets=9'
show $s
clear $s
echo "== trunc =="
w $s 'enable_hist:sched:sched_waking'
w $s 'traceon'
w $s 'hist:keys=prev_pid'
show $s
: > events/$s/trigger
show $s
w $s '!traceon'
show $s
w $k 'hist:keys=pid:x=prio'
w $s 'hist:keys=prev_pid:y=$x'
w $k 'enable_hist:sched:sched_switch'
w $k 'disable_hist:sched:sched_switch'
show $k
: > events/$k/trigger
show $k
clear $s $k
show $s; show $k
echo "== actions =="
echo 'foo int p' >> synthetic_events
w $k 'hist:keys=pid:a=prio'
w $s 'hist:keys=next_pid:onmatch(sched.sched_waking).trace(foo,$a)'
w $s 'hist:keys=next_pid:onmatch(sched.sched_waking).foo($a)'
show $s
w $s '!hist:keys=next_pid:onmatch(sched.sched_waking).foo($a)'
show $s
w $s 'hist:keys=next_pid:b=next_prio:onmax($b).save(next_comm,prev_pid)'
w $s 'hist:keys=next_pid:b=next_prio:onmax($b).save(next_comm,prev_pid)'
w $s '!hist:keys=next_pid:b=next_prio:onmax($b).save(next_comm,prev_prio)'
w $s '!hist:keys=next_pid:b=next_prio:onmax($b).save(next_comm,prev_pid)'
w $s 'hist:keys=next_pid:b=next_prio:onmax($b).snapshot()'
w $s 'hist:keys=next_prio:c=next_prio:onmax($c).snapshot()'
clear $s $k; show $s
echo '!foo' >> synthetic_events
echo "== alias =="
w $k 'hist:keys=pid:ts=common_timestamp.usecs'
w $s 'hist:keys=next_pid:a=$ts'
w $s 'hist:keys=next_pid:b=common_timestamp.usecs-$ts'
w $s 'hist:keys=next_pid:c=sched.sched_waking.$ts'
w $s 'hist:keys=next_pid:vals=$ts,$a'
w $s 'hist:keys=next_pid:d=common_timestamp-$ts'
w $s 'hist:keys=next_pid:e=-($a)'
w $s 'hist:keys=next_pid:f=-(next_pid.log2)'
w $s 'hist:keys=next_pid:f=-(next_pid.buckets=3)'
w $s 'hist:keys=next_pid:f=next_pid.log2+1'
w $s 'hist:keys=next_pid:g=-(next_pid.hex)'
show $s; clear $s $k
echo "== if =="
w $s 'hist:keys=next_pid if   next_pid>1'
w $s 'hist:keys=next_pid if next_pid>1'
w $s 'hist:keys=next_pid  if	next_pid>1  '
show $s; clear $s
echo "== names =="
w $s 'hist:keys=next_pid'
w $s 'hist:name=n:keys=next_pid:cont'
w $s 'hist:name=n:keys=next_pid:clear'
w $s 'hist:name=n:keys=next_pid:pause'
show $s
w $s 'hist:name=n:keys=next_pid:cont'
show $s
w $s 'hist:name=n:keys=next_pid:vals=next_prio'
w $s 'hist:name=n:keys=next_pid:vals=next_prio:pause'
w $s 'hist:name=n:keys=next_pid if next_pid>1'
w $s 'hist:name=n:keys=next_pid.buckets=3'
w $s '!hist:name=m:keys=next_pid'
show $s
w $s '!hist:keys=next_pid'
show $s
clear $s; show $s
echo "== instances =="
mkdir instances/i
printf 'hist:name=v:keys=pid:x=prio\n' >> instances/i/events/$k/trigger; echo $?
rmdir instances/i 2>&1
w $k 'hist:name=v:keys=pid:x=prio'
show $k; cat instances/i/events/$k/trigger
printf '!hist:name=v:keys=pid:x=prio\n' >> instances/i/events/$k/trigger; echo $?
rmdir instances/i 2>&1; ls instances
w $k '!hist:name=v:keys=pid:x=prio'
rmdir instances/i 2>&1
clear $s $k
clear $k
echo "== stacks =="
echo 'st unsigned long[] stack; pid_t pid' >> synthetic_events
cat events/synthetic/st/format | grep field
for d in keys=stack keys=stack.stacktrace keys=stack.hex keys=pid:x=stack keys=pid:x=stack.stacktrace keys=pid:vals=stack keys=pid:vals=pid,stack.hex keys=pid:x=stack+1 keys=stack,stack keys=stack:sort=stack keys=pid:x=pid.stacktrace keys=common_stacktrace.stacktrace keys=stacktrace.hex keys=stacktrace.log2 keys=stack,stacktrace; do
	w synthetic/st hist:$d
	show synthetic/st
	clear synthetic/st
done
w $s 'hist:keys=next_pid:s=common_stacktrace'
w $k 'hist:keys=pid:onmatch(sched.sched_switch).st($s,pid)'
w $k 'hist:keys=pid:t=$s'
w $k 'hist:keys=pid:vals=$s'
show $k
clear $k $s
echo '!st' >> synthetic_events; cat synthetic_events
echo "== nodes =="
w $s 'hist:keys=next_pid+1+2+3,prev_pid+1*2+4,next_prio*1*2*3:vals=prev_prio+1+2+next_pid,prev_prio+1+2+prev_pid:a=next_pid+1+2+3,b=next_pid+1+2+3,c=next_pid+1+2+3,d=next_pid+1+2+3,e=next_pid+1+2+3,f=next_pid+1+2+3,g=next_pid+1+2+3,h=next_pid+1+2+3,i=next_pid+1+2+3,j=next_pid+1+2+3,k=next_pid+1+2+3,l=next_pid+1+2+3,m=next_pid+1+2+3,n=next_pid+1+2+3,o=next_pid+1+2+3,p=next_pid+1+2+3'
show $s; clear $s
w $s 'hist:keys=next_pid:a=next_pid,b=next_pid,c=next_pid,d=next_pid,e=next_pid,f=next_pid,g=next_pid,h=next_pid,i=next_pid,j=next_pid,k=next_pid,l=next_pid,m=next_pid,n=next_pid,o=next_pid,p=next_pid,q=next_pid'
w $s 'hist:keys=next_pid:a=next_pid,b=next_pid,c=next_pid,d=next_pid,e=next_pid,f=next_pid,g=next_pid,h=next_pid,i=next_pid,j=next_pid,k=next_pid,l=next_pid,m=next_pid,n=next_pid,o=next_pid,p=next_pid:q=next_pid'
w $s 'hist:keys=next_pid:a=next_pid,b=next_pid,c=next_pid,d=next_pid,e=next_pid,f=next_pid,g=next_pid,h=next_pid,i=next_pid,j=next_pid,k=next_pid,l=next_pid,m=next_pid,n=next_pid,o=next_pid,p=next_pid:onmax($a).save(next_pid)'
v=$(printf 'v%0150d' 1)
w $k "hist:keys=pid:$v=prio"
w $s "hist:keys=next_pid:q=\$$v+\$$v"
w $s "hist:keys=next_pid:q=-(\$$v)"
w $s "hist:keys=next_pid:q=\$$v+1"
show $s
clear $s $k
echo "== sym-offset =="
w $k 'hist:keys=common_pid.symXoffset'
show $k
w $k '!hist:keys=common_pid.sym-offset'
show $k
w $k 'hist:keys=pid:x=pid.sym-offset-prio'
w $k 'hist:keys=pid.sym-offsets'
w $k 'hist:keys=pid.sym-offset:vals=prio.sym-offset'
w $k 'hist:keys=pid:v=prio:v.sym-offset=prio'
w $k 'hist:keys=prio:p=prio:onmax($p).save(prio.sym-offset,comm)'
show $k
clear $k
echo "== sizes of keys =="
echo 'st unsigned long[] stack; char[] who' >> synthetic_events
for d in stack.stacktrace,who stack.stacktrace,common_comm stack.stacktrace,stack.stacktrace stack.stacktrace,stack.stacktrace,who stack,who stack.stacktrace,stack who,common_comm; do
	w synthetic/st hist:keys=$d
	show synthetic/st
	clear synthetic/st
done
echo '!st' >> synthetic_events
echo "== signs =="
echo 'n1 s32 v' >> synthetic_events; echo 'n2 u32 v' >> synthetic_events
for m in log2 buckets=10 hex; do
	w $k "hist:keys=pid:x=prio.$m+1:onmax(\$x).n1(\$x)"
	w $k "hist:keys=pid:y=prio.$m+1:onmax(\$y).n2(\$y)"
	clear $k
done
w $k 'hist:keys=prio.log2'
w $s 'hist:keys=next_prio:onmatch(sched.sched_waking).n1(prio)'
w $s 'hist:keys=next_prio.buckets=10:onmatch(sched.sched_waking).n1(prio)'
show $k
clear $s $k
echo '!n1' >> synthetic_events; echo '!n2' >> synthetic_events
echo "== units of operations =="
w $k 'hist:keys=pid:a=common_timestamp.usecs:b=common_timestamp.usecs'
w $s 'hist:keys=next_pid:l=common_timestamp.usecs-$a-$b'
w $s 'hist:keys=next_pid:m=$a+$b+common_timestamp.usecs'
w $s 'hist:keys=next_pid:n=-($a+$b+$a)'
w $s 'hist:keys=next_pid:o=-(common_timestamp.usecs)'
w $s 'hist:keys=next_pid:p=next_pid.usecs+next_prio.usecs+$a'
w $s 'hist:keys=common_timestamp.usecs+common_timestamp.usecs+common_timestamp.usecs'
show $s
sleep 0.1
sed -n 's/^\({ common_timestamp[^:]*\):.*/\1/p' events/$s/hist | sort -u
clear $s $k
echo "== saved variables =="
w $k 'hist:keys=pid:p=prio:onmax($p).save($p)'
w $k 'hist:keys=pid:p=prio:onmax($p).save(sched.sched_waking.$p)'
w sched/sched_wakeup 'hist:keys=pid:q=prio'
w $k 'hist:keys=pid:p=prio:onmax($p).save($q)'
show $k
clear $k sched/sched_wakeup
echo "== removal of a variable that is there twice =="
w $k '!hist:keys=pid:a=pid,a=prio'
w $k 'hist:keys=pid:a=pid,a=prio'
w $k 'hist:keys=pid:a=pid'
w $k '!hist:keys=pid:a=pid,a=prio'
w $k '!hist:keys=pid:a=pid'
show $k
echo "== variables of a shared histogram =="
w $k 'hist:name=foo:keys=pid:v=prio'
w sched/sched_wakeup 'hist:name=foo:keys=pid:v=prio'
w $s 'hist:keys=next_pid:w=$v'
w $s 'hist:keys=next_pid:x=sched.sched_waking.$v'
show $s
clear $s sched/sched_wakeup $k
w $k 'hist:keys=pid:v=prio'
w sched/sched_wakeup 'hist:keys=pid:v=prio'
w $s 'hist:keys=next_pid:w=$v'
clear $s sched/sched_wakeup $k
echo "== long texts as keys =="
python3 - <<'PY'
import ctypes
import fcntl
import os
import struct

data = os.open("user_events_data", os.O_RDWR)
word = ctypes.create_string_buffer(8)
name = ctypes.create_string_buffer(b"longname char[300] name; u32 n")
register = bytearray(struct.pack("=IBBHQQI", 28, 31, 4, 0, ctypes.addressof(word), ctypes.addressof(name), 0))
fcntl.ioctl(data, 0xC0082A00, register)
at = struct.unpack_from("=I", register, 24)[0]
event = "events/user_events/longname"
for keys in "name", "n,name", "name:sort=name.descending":
    for remove in "", "!":
        with open(event + "/trigger", "a") as trigger:
            trigger.write(remove + "hist:keys=" + keys + "\n")
        if not remove:
            for letter, count in (b"b", 280), (b"a", 299), (b"a", 300), (b"a", 255), (b"c", 3):
                os.write(data, struct.pack("=I300sI", at, letter * count, 7))
            with open(event + "/hist") as hist:
                print(hist.read())
PY
