// SPDX-License-Identifier: GPL-2.0

//! What the pass makes of small objects, compared with text kept beside the tests.

mod common;

use common::*;
use recordmcount::{annotate, list, prune_image, prune_module};

#[test]
fn objects_become_as_kept() {
    for (name, data, entries) in objects() {
        let (new, _) = annotate(&data, entries).unwrap().unwrap();
        check_golden(name, &dump(&new));
    }
}

#[test]
fn sites_are_the_starts_of_traced_functions() {
    let expected: [(&str, &[&str]); 5] = [
        (
            "c_object",
            &[".init.text+0x0", ".text+0x0", ".text+0x24", ".text+0x30"],
        ),
        (
            "rust_object",
            &[".text.branch_tracked+0x4", ".text.plain+0x0"],
        ),
        ("padded_object", &[".text+0x14"]),
        ("weak_object", &[".text+0x0", ".text.arch+0x0"]),
        ("group_object", &[".text+0x0", ".text.shared+0x0"]),
    ];
    for ((name, data, entries), (expected_name, sites)) in objects().into_iter().zip(expected) {
        assert_eq!(name, expected_name);
        let (new, count) = annotate(&data, entries).unwrap().unwrap();
        assert_eq!(listed(&new), sites, "{name}");
        assert_eq!(count, sites.len());
    }
}

#[test]
fn a_second_pass_changes_nothing() {
    for (name, data, entries) in objects() {
        let (new, _) = annotate(&data, entries).unwrap().unwrap();
        assert_eq!(annotate(&new, entries), Ok(None), "{name}");
    }
}

#[test]
fn objects_without_sites_are_left_alone() {
    let mut b = Builder::new();
    let text = b.code(".text");
    b.function(text, "untraced", &[RET], Binding::Global);
    assert_eq!(annotate(&b.write(), true), Ok(None));
}

/// In C code an entry is a wish of the function's author, or padding; only calls are sites.
#[test]
fn entries_of_c_code_are_no_sites() {
    assert_eq!(annotate(&rust_object(), false), Ok(None));
}

#[test]
fn old_contents_stay_where_they_are() {
    for (name, data, entries) in objects() {
        let (new, count) = annotate(&data, entries).unwrap().unwrap();
        let headers = u64::from_le_bytes(data[40..48].try_into().unwrap()) as usize;
        // A site differs in at most 5 bytes and its relocation's type in one; `shoff` and `shnum`
        // are at 40 and 60.
        let changed = (64..headers).filter(|&at| data[at] != new[at]).count();
        // Where a symbol is put in, the indices of those behind it change by one.
        let indices = if ["weak_object", "group_object"].contains(&name) {
            3
        } else {
            0
        };
        assert!(changed <= count * 6 + indices, "{name}: {changed} bytes");
    }
}

#[test]
fn a_module_loses_stale_sites() {
    let (new, pruned) = prune_module(&module()).unwrap().unwrap();
    assert_eq!((pruned.sites, pruned.dropped), (2, 1));
    assert_eq!(listed(&new), [".text+0x0", ".text+0x24"]);
    check_golden("module", &dump(&new));

    let (again, pruned) = prune_module(&new).unwrap().unwrap();
    assert_eq!((pruned.sites, pruned.dropped), (2, 0));
    assert_eq!(again, new);
}

#[test]
fn a_module_without_a_table_is_left_alone() {
    assert_eq!(prune_module(&c_object()), Ok(None));
}

#[test]
fn an_image_is_sorted_and_its_stale_sites_become_copies_of_the_last() {
    let [a, b, c] = IMAGE_SITES;
    let stale = IMAGE_TEXT + 0x10;
    let inside = IMAGE_TEXT + 0x21;
    let nowhere = 0x1000;
    let data = image(&[c, stale, a, nowhere, b, inside]);
    let patch = prune_image(&data[..]).unwrap();
    assert_eq!((patch.pruned.sites, patch.pruned.dropped), (3, 3));
    assert_eq!(words(&patch.bytes), [a, b, c, c, c, c]);

    let mut new = data.clone();
    let at = patch.offset as usize;
    new[at..at + patch.bytes.len()].copy_from_slice(&patch.bytes);
    assert_eq!(&new[at - 16..at], [0xaa; 16]);
    assert_eq!(prune_image(&new[..]).unwrap().bytes, patch.bytes);
    assert_eq!(listed(&new)[..3], [".text+0x0", ".text+0x24", ".text+0x30"]);
}

fn listed(data: &[u8]) -> Vec<String> {
    let sites = list(data).unwrap();
    sites
        .iter()
        .map(|site| format!("{}+{:#x}", site.section, site.offset))
        .collect()
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes
        .chunks(8)
        .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
        .collect()
}
