// SPDX-License-Identifier: GPL-2.0

//! The table of a histogram: hits that interrupt each other, many CPUs, a full table.

use super::*;

const LAYOUT: Layout = Layout {
    key: 1,
    sums: 1,
    variables: 0,
    comm: false,
    texts: 0,
};

#[test]
fn a_full_table_counts() {
    let map = map_with(LAYOUT, 2);
    for key in 0..10 {
        if let Some(element) = map.insert(&[key], &(), |_, _| {}) {
            map.add(element, 0, 1);
        }
    }
    assert_eq!((map.elements().count(), map.drops()), (4, 6));
    // Keys that are there still count.
    assert!(map.insert(&[3], &(), |_, _| {}).is_some());
}

/// Interrupts insertions: at step `at`, `keys` are inserted, each of which is interrupted in turn.
struct Interrupted<'a> {
    map: &'a Map<Vec<Shared>>,
    keys: &'a [u64],
    at: usize,
    step: Cell<usize>,
    hits: &'a RefCell<Vec<u64>>,
}

impl Steps for Interrupted<'_> {
    fn step(&self) {
        let step = self.step.get();
        self.step.set(step + 1);
        if step != self.at {
            return;
        }
        if let Some((key, rest)) = self.keys.split_first() {
            count(self.map, *key, rest, self.at, self.hits);
        }
    }
}

fn count(
    map: &Map<Vec<Shared>>,
    key: u64,
    keys: &[u64],
    at: usize,
    hits: &RefCell<Vec<u64>>,
) -> usize {
    let steps = Interrupted {
        map,
        keys,
        at,
        step: Cell::new(0),
        hits,
    };
    if let Some(element) = map.insert(&[key], &steps, |_, _| {}) {
        map.add(element, 0, 1);
        hits.borrow_mut().push(key);
    }
    steps.step.get()
}

/// Each step of an insertion is interrupted by one of the same or of another key, which is
/// interrupted in turn, three levels deep, with a table that is empty, nearly full or full.
#[test]
fn interrupted_at_every_step() {
    for before in 0..4u64 {
        for pattern in 0..3u64.pow(4) {
            for at in 0..12 {
                let map = map_with(LAYOUT, 2);
                let hits = RefCell::new(Vec::new());
                for key in 0..before {
                    count(&map, 100 + key, &[], usize::MAX, &hits);
                }
                let keys: Vec<u64> = (0..4).map(|level| pattern / 3u64.pow(level) % 3).collect();
                count(&map, keys[0], &keys[1..], at, &hits);
                count(&map, keys[1], &[], usize::MAX, &hits);
                check(&map, &hits.borrow());
            }
        }
    }
}

/// Each key has one element with as many hits as were counted.
fn check(map: &Map<Vec<Shared>>, hits: &[u64]) {
    let mut seen = Vec::new();
    for element in map.elements() {
        let key = map.key_word(element, 0);
        assert!(!seen.contains(&key), "{key} twice");
        seen.push(key);
        let count = hits.iter().filter(|hit| **hit == key).count();
        assert_eq!(map.sum(element, 0), count as u64, "{key}");
    }
    assert!(hits.iter().all(|hit| seen.contains(hit)));
    assert!(seen.len() <= 4);
}

/// No element is lost when insertions of the same key meet: afterwards the table takes as many keys
/// as it has elements.
#[test]
fn elements_given_back_are_used() {
    let map = map_with(LAYOUT, 2);
    let hits = RefCell::new(Vec::new());
    for at in 0..4 {
        count(&map, 1, &[1, 1, 1], at, &hits);
    }
    for key in 2..5 {
        count(&map, key, &[], usize::MAX, &hits);
    }
    assert_eq!((map.elements().count(), map.drops()), (4, 0));
    check(&map, &hits.borrow());
}

#[test]
fn many_cpus() {
    let map = map_with(LAYOUT, 5);
    std::thread::scope(|scope| {
        for seed in 0..4u64 {
            let map = &map;
            scope.spawn(move || {
                for round in 0..20_000u64 {
                    let key = (round.wrapping_mul(seed * 2 + 1) >> 3) % 32;
                    let element = map.insert(&[key], &(), |_, _| {}).unwrap();
                    map.add(element, 0, 1);
                }
            });
        }
    });
    let mut keys: Vec<_> = map.elements().map(|at| map.key_word(at, 0)).collect();
    keys.sort_unstable();
    assert_eq!(keys, (0..32).collect::<Vec<_>>());
    let sum: u64 = map.elements().map(|at| map.sum(at, 0)).sum();
    assert_eq!((sum, map.drops()), (80_000, 0));
}

proptest! {
    #[test]
    fn never_panics(text in "(key|val|sort|x|size|name)s?=[a-z0-9_$.,+*/()-]{0,20}(:[a-z0-9=$.,:+*/()-]{0,30})?") {
        let text = text.replace("keys=", "keys=u8,");
        if let Ok(description) = compiled(&text) {
            let entry = entry();
            for len in [0, 20, entry.len()] {
                let evaluation = Evaluation {
                    description: &description,
                    entry: &entry[..len],
                    references: &[1, 2],
                    hit: &Here,
                };
                let mut key = [0; KEY_WORDS];
                let key = &mut key[..description.key_words.into()];
                evaluation.key(key);
                let _ = evaluation.count(&map_of(&description, 1), key, &());
            }
        }
    }
}
