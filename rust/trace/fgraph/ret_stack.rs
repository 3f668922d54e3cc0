// SPDX-License-Identifier: GPL-2.0

//! Shadow stacks: where the traced functions of a task return to.
//!
//! A traced function's return address is exchanged for the address of a hook; where it really
//! returns to is kept here, in memory of the task's own, `task_struct.ret_stack`. The task itself
//! writes to it, and what interrupts the task, which leaves it as it was; unwinders read. No lock,
//! any context, NMI included.
//!
//! It is [`WORDS`](layout::WORDS) words, and grows upwards, `curr_ret_stack` words being in use:
//!
//! ```text
//!   frame   retp  ret  func  data  Top        one traced function; see [`Frame`]
//!   data    word...  Top                      what a user of the function keeps until it returns, above its frame
//! ```
//!
//! so that each ends in a [`Top`], which says what lies below it. The last [`VARS`](layout::VARS) words are one
//! word for each user that stays with the task, and the number of the registration that this word
//! is of.
//!
//! A frame is written before `curr_ret_stack` covers it. An interrupt may then have overwritten it,
//! and that shows in its first word, as no two live frames have the same place of their return
//! address on the stack ([`Room::push`]).
//!
//! Tasks get their stack when they first run a traced function. It comes from a few spare ones
//! ([`prepare`]), since hits cannot allocate; an irq_work replaces them. Fields of
//! `include/linux/sched.h`; freed with the task.
//!
//! What the words are is in [`layout`], the running task's side in [`current`], what is done with any
//! task's stack in [`task`], the spare stacks in [`spare`].

mod current;
mod layout;
mod spare;
mod task;

pub(crate) use current::{Current, Held, Returning, Room, MAX_DATA_BYTES};
pub(crate) use layout::{Frame, Top, MAX_USERS};
pub(crate) use spare::{prepare, PREPARING};
#[cfg(CONFIG_HIBERNATION)]
pub(super) use task::pause_around_hibernation;
pub(crate) use task::{
    begin, begin_boot_task, begin_idle, count_sleep, find, free, init, innermost_return,
};
