# SPDX-License-Identifier: GPL-2.0
# Requests of a disk in memory, of one program after the other.
modprobe null_blk nr_devices=0
mount -t configfs configfs /sys/kernel/config
mkdir /sys/kernel/config/nullb/requests
for setting in size=8 memory_backed=1 discard=1 irqmode=0 power=1; do
	echo ${setting#*=} > /sys/kernel/config/nullb/requests/${setting%=*}
done
udevadm settle 2> /dev/null
for try in $(seq 50); do
	[ -b /dev/requests ] && break
	sleep 0.1
done
cat /sys/block/requests/trace/*
echo blk > current_tracer
echo 0 > options/irq-info
echo "== nothing recorded =="
cat trace
work() {
	echo > trace
	dd if=/dev/zero of=/dev/requests bs=4k count=2 seek=1 oflag=direct 2> /dev/null
	dd if=/dev/zero of=/dev/requests bs=4k count=1 conv=fsync oflag=direct,sync 2> /dev/null
	dd if=/dev/requests of=/dev/null bs=8k count=1 iflag=direct 2> /dev/null
	dd if=/dev/requests of=/dev/null bs=4k count=4 2> /dev/null
	blkdiscard -l 8192 /dev/requests
}
lines() { sed -E 's/(<idle>|dd|blkdiscard)-[0-9]+ */TASK /; s/^( *[0-9]+,[0-9]+ +[0-9]+) +[0-9]+\.[0-9]{9} +[0-9]+ /\1 TIME PID /' trace; }
echo 1 > /sys/block/requests/trace/enable
work
echo "== requests =="
lines
for option in verbose blk_classic latency-format raw hex fields nocontext-info; do
	echo "== option $option =="
	echo $option > trace_options
	case $option in
	raw | hex) grep -c 'type: 14' trace | sed 's/[0-9][0-9]*/SOME/' ;;
	# C says of each that interrupts were off (coming-from-c.md).
	latency-format) lines | sed 's/ *[0-9]*us[ +!#*@$]:/T:/; s/\([0-9]\)d\(....T:\)/\1.\2/' ;;
	*) lines ;;
	esac
	[ $option != nocontext-info ] && echo no$option > trace_options || echo context-info > trace_options
	grep context-info trace_options
done
echo "== classic and verbose =="
echo blk_classic > trace_options
echo verbose > trace_options
lines
echo noverbose > trace_options
echo noblk_classic > trace_options
echo "== with another tracer =="
echo nop > current_tracer
work
grep -v '^#' trace
cat options/blk_classic
echo blk > current_tracer
echo "== masks =="
for mask in issue complete,fs 0x10 notify,nonsense; do
	echo $mask > /sys/block/requests/trace/act_mask || echo refused
	cat /sys/block/requests/trace/act_mask
	work
	lines
done
echo 0xffff > /sys/block/requests/trace/act_mask
echo "== sectors and a process =="
echo 8 > /sys/block/requests/trace/start_lba
echo 15 > /sys/block/requests/trace/end_lba
work
lines
echo 1 > /sys/block/requests/trace/pid
work
lines
echo "== off =="
echo 0 > /sys/block/requests/trace/enable
cat /sys/block/requests/trace/*
work
lines
echo nop > current_tracer
rmdir /sys/kernel/config/nullb/requests
rmmod null_blk
