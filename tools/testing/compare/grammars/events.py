# SPDX-License-Identifier: GPL-2.0
"""Events, their fields, and functions that are probed, for the grammars that name them."""
import os
import re

from control import TRACING
from texts import LONG

# Of events that nothing here makes happen.
EVENTS = {
    "sched/sched_process_exec": ["filename", "pid", "old_pid"],
    "sched/sched_pi_setprio": ["comm", "pid", "oldprio", "newprio"],
    "sched/sched_move_numa": ["pid"],
    "task/task_rename": ["oldcomm", "newcomm", "oom_score_adj"],
    "task/task_newtask": ["pid", "comm", "clone_flags", "oom_score_adj"],
    "signal/signal_deliver": ["sig", "errno", "code", "sa_handler", "sa_flags"],
    "module/module_load": ["taints", "name"],
    "module/module_request": ["ip", "wait", "name"],
    "ipi/ipi_send_cpumask": ["cpumask", "callsite", "callback"],
    "ipi/ipi_send_cpu": ["cpu", "callsite", "callback"],
    "timer/itimer_state": ["expires", "which", "value_sec", "value_nsec", "interval_sec"],
    "timer/timer_init": ["timer"],
    "workqueue/workqueue_queue_work": ["work", "function", "workqueue", "req_cpu", "cpu"],
    "cgroup/cgroup_mkdir": ["root", "level", "id", "path"],
    "power/cpu_frequency": ["state", "cpu_id"],
    "power/suspend_resume": ["action", "val", "start"],
    "oom/mark_victim": ["pid", "comm", "total_vm", "anon_rss", "uid", "oom_score_adj"],
    "syscalls/sys_enter_swapon": ["__syscall_nr", "specialfile", "swap_flags"],
    "syscalls/sys_enter_reboot": ["__syscall_nr", "magic1", "cmd", "arg"],
    "syscalls/sys_exit_reboot": ["__syscall_nr", "ret"],
    "vmscan/mm_shrink_slab_end": ["shr", "nid", "shrink", "unused_scan", "new_scan", "retval", "total_scan"],
    "ftrace/print": ["ip", "buf"],
    "ftrace/function": ["ip", "parent_ip"],
    "synthetic/syn": ["v", "t", "d", "st"],
    "user_events/own": ["a", "s", "t", "d"],
}
COMMON = ["common_pid", "common_type", "common_flags", "common_preempt_count", "common_cpu", "common_comm", "cpu", "CPU", "comm", "COMM",
          "common_timestamp", "common_stacktrace", "stacktrace", "hitcount", "ip"]
FUNCTIONS = ["vfs_fsync", "vfs_fallocate", "vfs_truncate"]


def any_event(texts):
    """An event that this kernel has."""
    return texts.one(*(event for event in EVENTS if os.path.isdir(f"{TRACING}/events/{event}")))


def calm_event(texts):
    """An event that does not come."""
    return texts.one(*(event for event in EVENTS if not re.search("workqueue|ipi_|timer_init|shrink", event)
                       and os.path.isdir(f"{TRACING}/events/{event}")))


def any_field(texts, event):
    """The name of a field."""
    if texts.chance(3):
        return texts.one("nosuch", "", "0", "common_", "$", "pid pid", "x" * texts.one(*LONG))
    return texts.one(*(EVENTS.get(event, ["pid", "comm"]) if texts.chance(75) else COMMON))
