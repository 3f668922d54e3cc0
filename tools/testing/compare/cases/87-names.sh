# SPDX-License-Identifier: GPL-2.0
# Events and systems that are called like a file in events/, and blanks in front of a user event's name.
kinds() {
	for name in "$@"; do
		[ -d $name ] && echo "exact $name: directory" || echo "exact $name: $([ -f $name ] && echo file || echo nothing)"
	done
}
echo "== events called like a file of their system =="
kinds events/named/enable events/named/filter
echo 'p:named/enable vfs_fsync' > kprobe_events
echo 'p:named/other vfs_fsync' >> kprobe_events
kinds events/named/enable events/named/filter events/named/other
ls events/named events/named/enable
ls -U events/named
cat events/named/enable/enable
echo 1 > events/named/enable/enable
cat events/named/enable/enable events/named/other/enable set_event
echo 'named:' > set_event
cat set_event
echo > set_event
mkdir instances/named
kinds instances/named/events/named/enable instances/named/events/named/filter
rmdir instances/named
echo "== and without them =="
echo '-:named/enable' >> kprobe_events
kinds events/named/enable events/named/filter
echo 1 > events/named/enable
cat events/named/enable events/named/other/enable
echo 0 > events/named/enable
echo > kprobe_events
kinds events/named events/named/enable
echo "== systems called like a file of events =="
echo 'p:enable/one vfs_fsync' > kprobe_events
echo 'p:header_page/two vfs_fsync' >> kprobe_events
# C keeps what was looked up before there was such a system; nobody has looked into a new instance.
mkdir instances/named
cd instances/named
kinds events/enable events/header_page events/header_event events/enable/enable events/header_page/two
ls events/enable events/header_page
echo 1 > events/enable/enable
cat events/enable/one/enable set_event
echo 0 > events/enable/enable
cd ../..
echo > kprobe_events
kinds instances/named/events/enable instances/named/events/header_page
cat instances/named/events/enable
rmdir instances/named
echo "== a user event called like a file =="
if [ -e user_events_data ]; then
	echo 'u:filter u32 a' > dynamic_events
	kinds events/user_events/filter events/user_events/enable
	cat events/user_events/filter/enable
	echo > dynamic_events
fi
echo "== blanks in front of a user event's name =="
if [ -e user_events_data ]; then
	printf 'u:\v\240\t blank u32 a\n' > dynamic_events
	cat dynamic_events
	echo > dynamic_events
fi
cat dynamic_events
