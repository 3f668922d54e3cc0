// SPDX-License-Identifier: GPL-2.0

//! The plain form counts as the general form does.

use super::super::plain::{Plain, Rest};
use super::*;

/// Definitions with a plain form.
const PLAIN: [&str; 8] = [
    "keys=u8",
    "keys=s32",
    "keys=u64.hex",
    "keys=common_pid",
    "keys=u64.sym",
    "keys=s32,u8:vals=u64",
    "keys=u64,common_pid:vals=s32,u8",
    "keys=u8:x=u64",
];

#[test]
fn definitions_without() {
    for text in [
        "keys=u8.log2",
        "keys=u64.buckets=7",
        "keys=name",
        "keys=loc",
        "keys=cpu",
        "keys=stacktrace",
        "keys=common_pid.execname",
        "keys=u8,s32,u64",
        "keys=u8.log2:x=sys.other.$x+u64",
    ] {
        assert!(Plain::of(&compiled(text).unwrap()).is_none(), "{text}");
    }
}

/// Sums by key.
fn rows(map: &Map<Vec<Shared>>, values: usize) -> Vec<(Vec<u64>, Vec<u64>)> {
    let mut rows: Vec<_> = map
        .elements()
        .map(|element| {
            let key = (0..map.layout().key)
                .map(|word| map.key_word(element, word))
                .collect();
            (key, (0..=values).map(|at| map.sum(element, at)).collect())
        })
        .collect();
    rows.sort();
    rows
}

proptest! {
    #[test]
    fn same_as_general(entries in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..64), 1..40)) {
        for text in PLAIN {
            let description = compiled(text).map_err(|e| std::format!("{text} {e:?}")).unwrap();
            let plain = Plain::of(&description).unwrap();
            prop_assert_eq!(plain.rest() == Rest::Variables, text.contains(":x="));
            let (one, other) = (map_of(&description, 7), map_of(&description, 7));
            for entry in &entries {
                // A shorter one than the structure of the event is never read.
                let mut entry = entry.clone();
                entry.resize(48, 0);
                plain.count(&entry, &one, &()).unwrap();
                let evaluation = Evaluation {
                    description: &description,
                    entry: &entry,
                    references: &[],
                    hit: &Here,
                };
                let mut key = [0; KEY_WORDS];
                let key = &mut key[..description.key_words.into()];
                evaluation.key(key);
                evaluation.count(&other, key, &()).unwrap();
            }
            let values = description.values.len();
            prop_assert_eq!(rows(&one, values), rows(&other, values));
        }
    }
}

#[test]
fn short_entries_are_zero() {
    let description = compiled("keys=u64:vals=s32").unwrap();
    let plain = Plain::of(&description).unwrap();
    let map = map_of(&description, 3);
    for len in 0..20 {
        plain.count(&std::vec![0xff; len], &map, &()).unwrap();
    }
    let sums: u64 = map.elements().map(|element| map.sum(element, 0)).sum();
    assert_eq!(sums, 20);
}
