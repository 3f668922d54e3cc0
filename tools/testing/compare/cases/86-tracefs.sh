# SPDX-License-Identifier: GPL-2.0
# tracefs as a file system: owners, modes and inodes of what is in events/, and who watches it; see ../tracefs.py.
is() { stat -c "exact $*" $files; }
files=". tracing_on events events/enable events/sched events/sched/sched_switch events/sched/sched_switch/enable"
echo "== a root directory with another owner =="
chown 5:6 .
is %n %u:%g
echo "== and what is given in events/ then =="
chown 7 events
chgrp 8 events/sched/sched_switch
is %n %u:%g
echo "== an instance made now =="
mkdir instances/owned
files="instances/owned instances/owned/tracing_on instances/owned/events instances/owned/events/sched/enable"
is %n %u:%g
echo "== another owner of the instances =="
chown 9:10 instances
is %n %u:%g
mkdir instances/later
stat -c 'exact %n %u:%g' instances/later instances/later/tracing_on instances/later/events instances/later/events/sched/enable
echo "== a remount with an owner =="
files=". tracing_on events events/enable events/sched events/sched/sched_switch events/sched/sched_switch/enable
	instances/owned/tracing_on instances/owned/events instances/owned/events/sched/enable instances/later/events/sched/enable"
mount -o remount,uid=11,gid=12 .
is %n %u:%g
echo "== owners that are given after that =="
chown 13:14 .
chown 15:16 instances
chgrp 17 events/sched/sched_switch/enable
is %n %u:%g
echo "== a remount with a group =="
mount -o remount,gid=18 .
is %n %u:%g
mount -o remount,uid=0,gid=0 .
is %n %u:%g
rmdir instances/owned instances/later
echo "== options that nobody gave =="
shown() { sed -n 's/^[^ ]* \/sys\/kernel\/tracing tracefs \([^ ]*\) .*/exact options: \1/p' /proc/mounts; }
chmod 751 .
chown 19:20 .
shown
mount -o remount .
shown
stat -c 'exact %n %a %u:%g' .
chmod 700 .
chown 0:0 .
echo "== modes of events that go and come back =="
modes() { stat -c 'exact %n %a %u' events/moded events/moded/enable events/moded/one events/moded/one/enable events/moded/one/filter; }
echo 'p:moded/one vfs_fsync' > kprobe_events
modes
chmod 700 events/moded events/moded/one
chmod 600 events/moded/enable events/moded/one/enable
chown 5 events/moded/one/filter
echo 1 > events/moded/one/enable
echo 0 > events/moded/one/enable
modes
echo 'p:moded/two vfs_fsync' >> kprobe_events
echo '-:moded/one' >> kprobe_events
stat -c 'exact %n %a %u' events/moded events/moded/enable
echo 'p:moded/one vfs_fsync' >> kprobe_events
modes
echo > kprobe_events
echo 'p:moded/one vfs_fsync' > kprobe_events
modes
echo "== a file of a system that goes and comes back =="
exec 3< events/moded/enable
head -c 100 <&3
exec 3<&-
exec 3< events/moded/enable
echo > kprobe_events
cat <&3
echo 'p:moded/one vfs_fsync' > kprobe_events
cat <&3
cat events/moded/enable
exec 3<&-
echo > kprobe_events
python3 "$(dirname "$0")/../tracefs.py"
