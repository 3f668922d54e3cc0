// SPDX-License-Identifier: GPL-2.0

//! Names of functions in modules' init text that is gone, while the module is there: what was
//! traced in them is read later.
//!
//! kallsyms forgets them with the text. They are kept here, as C's ftrace does, when some ops was
//! registered as they went, and looked up from any context, NMI included: the list is walked under
//! RCU, changed under the ftrace lock.

use crate::kernel::kallsyms::{self, Symbol};
use crate::kernel::module::ModuleId;
use crate::kernel::rcu_list::{Node, RcuList};
use crate::trace::ftrace::ops::Key;
use crate::trace::ftrace::sites::table::Table;
use kernel::{prelude::*, sync::rcu};

/// One function that is gone.
struct Function {
    addr: usize,
    size: usize,
    name: KVec<u8>,
}

/// The functions of one module.
pub(crate) struct Freed {
    module: ModuleId,
    functions: KVVec<Function>,
}

static FREED: RcuList<Freed, Key> = RcuList::new();

/// A function that is gone, for kallsyms.
pub(crate) struct Found<'a> {
    /// Where it began.
    pub(crate) addr: usize,
    /// How long it was.
    pub(crate) size: usize,
    /// Its name.
    pub(crate) name: &'a [u8],
    /// The module, which is still there.
    pub(crate) module: ModuleId,
}

/// Keeps the names of the functions whose sites are in `table`, before their text is freed.
/// `ENOMEM`: they will read as addresses.
pub(super) fn remember(key: &Key, table: &Table) -> Result {
    let mut functions = KVVec::with_capacity(table.len(), GFP_KERNEL)?;
    for site in (0..table.len()).filter_map(|i| table.addr(i)) {
        let Some((size, offset)) = kallsyms::size_offset(site) else {
            continue;
        };
        let mut name = KVec::new();
        let Some(copied) = Symbol::with(site, |symbol| {
            name.extend_from_slice(symbol.name(), GFP_KERNEL)
        }) else {
            continue;
        };
        copied?;
        functions.push(
            Function {
                addr: site.wrapping_sub(offset),
                size,
                name,
            },
            GFP_KERNEL,
        )?;
    }
    let freed = Freed {
        module: table.module(),
        functions,
    };
    FREED.push_front(key, Node::new(freed)?);
    Ok(())
}

/// Forgets the functions of a module that goes. May sleep.
pub(super) fn forget(key: &mut Key, module: ModuleId) {
    // Waits for readers, each time.
    while let Some(_freed) = FREED.take_out(key, |freed| freed.module == module) {}
}

fn walk<'a>(guard: &'a rcu::Guard) -> impl Iterator<Item = Found<'a>> + 'a {
    FREED.under_rcu(guard).flat_map(|freed| {
        freed.functions.iter().map(|f| Found {
            addr: f.addr,
            size: f.size,
            name: &f.name,
            module: freed.module,
        })
    })
}

/// Calls `f` with the function that was at `addr`. Any context.
pub(crate) fn at<T>(addr: usize, f: impl FnOnce(Found<'_>) -> T) -> Option<T> {
    let guard = rcu::read_lock();
    let found = walk(&guard).find(|found| addr.wrapping_sub(found.addr) < found.size)?;
    Some(f(found))
}

/// Calls `f` with the `n`th function that is gone; or says how many there are.
pub(crate) fn nth<T>(n: usize, f: impl FnOnce(Found<'_>) -> T) -> Result<T, usize> {
    let guard = rcu::read_lock();
    let mut count = 0usize;
    for found in walk(&guard) {
        if count == n {
            return Ok(f(found));
        }
        count = count.wrapping_add(1);
    }
    Err(count)
}
