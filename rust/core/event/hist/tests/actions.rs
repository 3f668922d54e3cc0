// SPDX-License-Identifier: GPL-2.0

//! Actions: their texts, what they are refused for, and what they do.

use super::*;
use crate::core::event::hist::description::OWN;
use crate::core::event::hist::VARIABLES;

fn spec(text: &str) -> String {
    let mut kept = Kept::default();
    let attributes = Attributes::parse(text.as_bytes(), &mut kept).unwrap();
    let mut actions = ArrayVec::new(Action::NONE);
    let texts = attributes.actions();
    Action::parse_all(texts, &|_, _| true, &mut kept, &mut actions).unwrap();
    let mut memory = [0; 1024];
    let mut out = LineBuf::new(&mut memory);
    for action in actions.as_slice() {
        action.write(&mut out).unwrap();
    }
    String::from_utf8(out.as_bytes().to_vec()).unwrap()
}

#[test]
fn action_texts() {
    for (text, want) in [
        (
            "keys=u8:l=u64:onmatch(sys.other).lat( $l , s32 ,name)",
            ":onmatch(sys.other).lat($l,s32,name)",
        ),
        (
            "keys=u8:onmatch(sys.other).trace(lat,$l,name):onmax($l).save(u8,name)",
            ":onmatch(sys.other).trace(lat,$l,name):onmax($l).save(u8,name)",
        ),
        (
            "keys=u8:onchange($l).snapshot()",
            ":onchange($l).snapshot()",
        ),
        (
            "keys=u8:onmax($l).snapshotted(x)",
            ":onmax($l).snapshotted()",
        ),
        (
            "keys=u8:onmax($l).traced(lat)rest",
            ":onmax($l).traced(lat)",
        ),
    ] {
        assert_eq!(spec(text), want, "{text}");
    }
}

/// The errors and their places are those of Linux 7.3.
#[test]
fn refused_actions() {
    use Reason::*;
    for (text, errno, want) in [
        (
            "onmatch(sys.other",
            Errno::Invalid,
            &[(NoClosingParenthesis, "sys.other")][..],
        ),
        (
            "onmatch(sys).lat(u64)",
            Errno::Invalid,
            &[(NoSubsystem, "sys")],
        ),
        (
            "onmatch(sys.none).lat(u64)",
            Errno::Invalid,
            &[(InvalidEvent, "none")],
        ),
        (
            "onmatch(sys.other)",
            Errno::Invalid,
            &[(ActionNotFound, "")],
        ),
        (
            "onmatch(sys.other).lat",
            Errno::Invalid,
            &[(ActionNotFound, "")],
        ),
        (
            "onmatch(sys.other).lat()",
            Errno::Invalid,
            &[(InvalidParameter, "")],
        ),
        (
            "onmatch(sys.other).lat(u64,x)",
            Errno::Invalid,
            &[(InvalidParameter, "x")],
        ),
        (
            "onmatch(sys.other).save(u8)",
            Errno::Invalid,
            &[(ActionMismatch, "save")],
        ),
        (
            "onmatch(sys.other).snapshot()",
            Errno::Invalid,
            &[(ActionMismatch, "snapshot")],
        ),
        (
            "onmax($l).snapshot(x",
            Errno::Invalid,
            &[(NoClosingParenthesis, "x")],
        ),
        ("onmax($l", Errno::Invalid, &[]),
        (
            "onmax(l).save(u8)",
            Errno::Invalid,
            &[(TrackedNotVariable, "l")],
        ),
        (
            "onmax($none).save(u8)",
            Errno::Invalid,
            &[(TrackedNotFound, "none")],
        ),
        (
            "onmax($l).save(u8):onchange($l).save(u8)",
            Errno::Exists,
            &[(TooManySaves, "")],
        ),
        (
            "onmax($l).save(none)",
            Errno::Invalid,
            &[
                (FieldNotFound, "none"),
                (FieldNotParsed, "none"),
                (FieldVariableNotMade, "none"),
            ],
        ),
        // Its own variables are no fields.
        (
            "onmax($l).save($l)",
            Errno::Invalid,
            &[
                (VariableNotFound, "l"),
                (FieldNotFound, "$l"),
                (FieldNotParsed, "$l"),
                (FieldVariableNotMade, "$l"),
            ],
        ),
        (
            "onmax($l).save(sys.own.$l)",
            Errno::Invalid,
            &[
                (VariableNotFound, "l"),
                (FieldNotFound, "$l"),
                (FieldNotParsed, "sys"),
                (FieldVariableNotMade, "sys"),
            ],
        ),
        (
            "onmatch(sys.other).none(u64)",
            Errno::Invalid,
            &[(SyntheticNotFound, "none")],
        ),
        (
            "onmatch(sys.other).trace(none,u64)",
            Errno::Invalid,
            &[(SyntheticNotFound, "none")],
        ),
        (
            "onmatch(sys.other).lat($none)",
            Errno::Invalid,
            &[(ParameterNotFound, "none")],
        ),
        (
            "onmatch(sys.other).lat(u8)",
            Errno::Invalid,
            &[(TypeMismatch, "u8")],
        ),
        (
            "onmatch(sys.other).lat($l)",
            Errno::Invalid,
            &[(CountMismatch, "lat")],
        ),
        ("onmatch(sys.other).lat(a.u64)", Errno::Invalid, &[]),
        (
            "onmatch(sys.other).lat($l,s32,name,name,u8)",
            Errno::Invalid,
            &[(TypeMismatch, "u8")],
        ),
        (
            "onmatch(sys.other).lat($l,nothing)",
            Errno::Invalid,
            &[
                (FieldNotFound, "nothing"),
                (FieldNotParsed, "nothing"),
                (HistogramNotFound, "nothing"),
            ],
        ),
        // A field called as a variable is the other event's.
        (
            "u64=u64:onmatch(sys.other).lat(u64)",
            Errno::Invalid,
            &[(VariableNotMade, "u64"), (HistogramNotFound, "u64")],
        ),
    ] {
        let text = std::format!("keys=u8:l=u64:{text}");
        let (found, errors) = compiled(&text).expect_err(&text);
        assert_eq!(found, errno, "{text}");
        let errors: Vec<_> = errors
            .iter()
            .map(|(reason, text)| (*reason, text.as_str()))
            .collect();
        assert_eq!(errors, want, "{text}");
    }
}

#[test]
fn a_variable_of_another_event_is_saved() {
    let text = "keys=u8:l=u64:onmax($l).save($ts0)";
    let description = compiled(text).unwrap();
    let saved = description.saved.as_slice()[0];
    assert_eq!(saved.name.within(text.as_bytes()), b"$ts0");
    let node = description.node(saved.node);
    assert_eq!(node.value, Value::Reference(1));
}

#[derive(Default)]
struct Seen(RefCell<Vec<String>>);

impl Effects for Seen {
    fn trace(&self, number: u8, parameters: &[u8], references: &[u64]) {
        let values = parameters.iter().map(|at| references[usize::from(*at)]);
        let values: Vec<_> = values.map(|value| value.to_string()).collect();
        self.0
            .borrow_mut()
            .push(std::format!("{number}: {}", values.join(" ")));
    }

    fn snapshot(&self, _: Element, value: u64, change: bool) {
        self.0
            .borrow_mut()
            .push(std::format!("snapshot {value} {change}"));
    }
}

#[test]
fn actions_run() {
    let text = "keys=u8:l=u64:onmatch(sys.other).lat($only,prio,name,name):\
                onmax($l).save(s32,name,common_comm):onchange($l).snapshot():\
                onmax($l).trace(lat,$l,s32,name,loc)";
    let description = compiled(text).unwrap();
    let map = map_of(&description, 1);
    let seen = Seen::default();
    let mut last = None;
    for value in [7u64, 5, 5, 9] {
        let mut entry = entry();
        entry[16..24].copy_from_slice(&value.to_ne_bytes());
        let mut references = [3; VARIABLES];
        for round in 0..2 {
            let evaluation = Evaluation {
                description: &description,
                entry: &entry,
                references: &references,
                hit: &Here,
            };
            let mut key = [0; 1];
            evaluation.key(&mut key);
            let element = match round {
                0 => evaluation.count(&map, &key, &()).unwrap(),
                _ => map.find(&key).unwrap(),
            };
            if round == 1 {
                evaluation.respond(&map, element, &seen);
            }
            last = Some(element);
            let all = description.references.as_slice().iter();
            for (reference, place) in all.zip(&mut references) {
                if reference.target.histogram == OWN {
                    *place = map
                        .read(element, reference.target.variable.into(), false)
                        .unwrap();
                }
            }
        }
    }
    let seen = seen.0.into_inner();
    let of = |number: &str| seen.iter().filter(|line| line.starts_with(number)).count();
    assert_eq!((of("0:"), of("1:")), (4, 2));
    let snapshots: Vec<_> = seen
        .iter()
        .filter(|line| line.starts_with("snap"))
        .collect();
    assert_eq!(
        snapshots,
        ["snapshot 7 true", "snapshot 5 true", "snapshot 9 true"]
    );
    // Parameters are the other event's variable, its field's, and the address of a text.
    assert!(seen[0].starts_with("0: 3 3 "), "{}", seen[0]);

    let mut memory = [0; 2048];
    let mut out = LineBuf::new(&mut memory);
    let element = last.unwrap();
    let statistics = print::statistics(&map, [element].into_iter());
    let what = (&description, text.as_bytes());
    print::entry(&mut out, what, (&map, element), &statistics, &Known).unwrap();
    let line = std::str::from_utf8(out.as_bytes()).unwrap();
    let blanks = " ".repeat(29);
    let saved = std::format!(
        "  s32: 18446744073709551609  name: abc{blanks}  common_comm: {:<32}",
        "kworker/5:1"
    );
    assert_eq!(
        line,
        std::format!(
            "{{ u8:        200 }} hitcount:          4\n\tmax:          9{saved}\
             \n\tmax:          9{saved}"
        )
    );
}

#[test]
fn a_text_that_nothing_has_saved() {
    let text = "keys=u8:l=u64:onmax($l).save(s32,name)";
    let description = compiled(text).unwrap();
    let map = map_of(&description, 1);
    let evaluation = Evaluation {
        description: &description,
        entry: &entry(),
        references: &[],
        hit: &Here,
    };
    let mut key = [0; 1];
    evaluation.key(&mut key);
    let element = evaluation.count(&map, &key, &()).unwrap();
    let mut memory = [0; 2048];
    let mut out = LineBuf::new(&mut memory);
    let statistics = print::statistics(&map, [element].into_iter());
    let what = (&description, text.as_bytes());
    print::entry(&mut out, what, (&map, element), &statistics, &Known).unwrap();
    let line = std::str::from_utf8(out.as_bytes()).unwrap();
    let saved = std::format!("\tmax:          0  s32:          0  name: {:<32}", "(null)");
    assert!(line.ends_with(&saved), "{line}");
}
