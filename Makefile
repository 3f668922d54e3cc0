# SPDX-License-Identifier: GPL-2.0
# What a person types. kbuild never reads this file: it prefers the Kbuild beside it. The work is done by scripts/.
.DEFAULT_GOAL := help
.PHONY: help python setup kernel deb um run guest check golden check-long check-branch check-debug check-distro check-rt check-kasan check-kcsan check-block check-bpf check-selftest check-configs check-deb bench graft ungraft clean distclean
MAKEFLAGS += --no-print-directory

# Options go through the environment to the scripts, each of which names its own at its head.
export TRACE FLAVOUR CONFIG LINUX_SRC LINUX_TARBALL RUST_LIB_SRC V JOBS
export KERNEL IMAGE CPU SMP MEM APPEND BOOTCONFIG GUEST_TIMEOUT THREAD ACCEL ICOUNT CHECK_LOG LOG KERNEL_C ONLY REPEAT SMOKE QUICK SECOND_TRY CONFIGS SEED

# The command as it was typed, not as make expands it.
unexport CMD
export GUEST_COMMAND := $(value CMD)

BENCH := tools/testing/bench/bench

help:
	@if test -x $(BENCH); then cat scripts/help.txt; else grep -v '^make bench' scripts/help.txt; fi

# The scripts are Python; a minimal Debian has none.
python:
	@command -v python3 >/dev/null || if test "$$(id -u)" = 0; then apt-get -q update && apt-get install -qy python3; \
	else echo "rtrace: missing, as root: apt-get install -y python3" >&2; exit 1; fi

setup: python
	@python3 scripts/setup.py

kernel: python
	@python3 scripts/kernel.py

deb: python
	@python3 scripts/deb.py

um: python
	@python3 scripts/um.py

run: python
	@python3 scripts/run.py

guest: python
	@python3 scripts/guest.py

# Without what takes long.
check: python
	@CONFIG= FLAVOUR= QUICK=1 python3 scripts/check.py

# With it, beside the C kernel as it is built now, with ten minutes of the hammer, function_graph switched on and off ten thousand
# times, and a kprobe at each symbol.
check-long: python
	@CONFIG= FLAVOUR= QUICK= KERNEL_C=c HAMMER_SECONDS=600 TOGGLES=10000 STEP=1 python3 scripts/check.py

# What C's kernel prints for the work of tools/testing/compare, which the check compares with.
golden: python
	@TRACE=c CONFIG= FLAVOUR= python3 scripts/kernel.py
	@tools/testing/compare/run --golden

# What a kernel with branch profiling has; it builds two more kernels.
check-branch: python
	@CONFIG= FLAVOUR=branch python3 scripts/check.py

# Most suites once more in a kernel that checks its locks; it builds that one.
check-debug: python
	@CONFIG= FLAVOUR=debug python3 scripts/check.py

# A distribution's options, with its mitigations really on; SMOKE=1 the few boots that find most. It builds one more kernel.
check-distro: python
	@CONFIG= FLAVOUR=distro python3 scripts/check.py

# Suites in a kernel with PREEMPT_RT; it builds that one.
check-rt: python
	@CONFIG= FLAVOUR=rt python3 scripts/check.py

# Suites in a kernel that watches over its memory (KASAN, kmemleak), with failing allocations; it builds that one.
check-kasan: python
	@CONFIG= FLAVOUR=kasan python3 scripts/check.py

# Suites in a kernel that looks for data races (KCSAN); it builds that one.
check-kcsan: python
	@CONFIG= FLAVOUR=kcsan python3 scripts/check.py

# Tracers of disks and of devices' memory, compared with C's; it builds two more kernels.
check-block: python
	@CONFIG= FLAVOUR=block python3 scripts/check.py

# BPF programs at events and functions, compared with C's; it builds two more kernels, with types (BTF).
check-bpf: python
	@CONFIG= FLAVOUR=bpf python3 scripts/check.py

# What a kernel finds that tests itself at boot; it builds one more kernel.
check-selftest: python
	@CONFIG= FLAVOUR=selftest python3 scripts/check.py

# Random configurations must link; a few minutes each.
check-configs: python
	@CONFIG= FLAVOUR=configs python3 scripts/check.py

# The packages of CONFIG=debian-cloud, or of another one, installed on the disk of a Debian and booted from there; it builds them.
check-deb: python
	@FLAVOUR=deb python3 scripts/check.py

bench: python
	@test -x $(BENCH) || { echo "rtrace: there are no benchmarks yet ($(BENCH))" >&2; exit 1; }
	@TRACE=c CONFIG= FLAVOUR= python3 scripts/kernel.py
	@TRACE=rtrace CONFIG= FLAVOUR= python3 scripts/kernel.py
	@TRACE= python3 scripts/um.py
	@$(BENCH)

graft: python
	@python3 scripts/graft.py "$(LINUX_SRC)"

ungraft: python
	@python3 scripts/graft.py --undo "$(LINUX_SRC)"

clean:
	@! test -d build || find build -mindepth 1 -maxdepth 1 ! -name src -exec rm -rf {} +
	@rm -rf target scripts/recordmcount/target scripts/inlined/target

distclean:
	@rm -rf build target scripts/recordmcount/target scripts/inlined/target
