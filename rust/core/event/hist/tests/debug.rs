// SPDX-License-Identifier: GPL-2.0

//! The text of `hist_debug`, in the words of Linux 7.3.

use super::*;
use crate::core::event::hist::debug::{Definition, Facts};

struct Known;

impl Facts for Known {
    fn type_name(&self, ty: TypeName, out: &mut dyn Out) -> fmt::Result {
        let names = ["u8", "u64", "int", "char[10]", "char[]", "unsigned long[]"];
        let mut names = names.iter().chain(["__data_loc char[]"].iter());
        let name = names.find(|name| TypeName::of(name.as_bytes()) == ty);
        out.bytes(name.expect("an unknown type").as_bytes())
    }

    fn table(&self, histogram: u16, out: &mut dyn Out) -> fmt::Result {
        write!(out, "table {histogram}")
    }
}

fn debugged(text: &str) -> String {
    let mut kept = Kept::default();
    let attributes = Attributes::parse(text.as_bytes(), &mut kept).unwrap();
    let mut actions = ArrayVec::new(Action::NONE);
    let texts = attributes.actions();
    Action::parse_all(texts, &|_, _| true, &mut kept, &mut actions).unwrap();
    let mut memory = std::vec![0; 1 << 14];
    let mut out = LineBuf::new(&mut memory);
    let definition = Definition {
        description: &compiled(text).unwrap_or_else(|e| panic!("{text}: {e:?}")),
        text: text.as_bytes(),
        actions: &actions,
        facts: &Known,
    };
    definition.write(&mut out).unwrap();
    String::from_utf8(out.as_bytes().to_vec()).unwrap()
}

#[test]
fn fields_of_a_definition() {
    let text = debugged("keys=u8,name:vals=s32:a=u64.hex,five=5,b=sys.other.$x");
    let want = "\
hist_data: table 65535

  n_vals: 5
  n_keys: 2
  n_fields: 7

  val fields:

    hist_data->fields[0]:
      flags:
        VAL: HIST_FIELD_FL_HITCOUNT
      type: u64
      size: 8
      is_signed: 0
      function: hist_field_counter()

    hist_data->fields[1]:
      flags:
        VAL: normal u64 value
      ftrace_event_field name: s32
      type: int
      size: 4
      is_signed: 1
      function: hist_field_s32()

    hist_data->fields[2]:
      flags:
        HIST_FIELD_FL_VAR
      ftrace_event_field name: u64
      var.name: a
      var.idx (into tracing_map_elt.vars[]): 0
      type: u64
      size: 8
      is_signed: 0
      function: hist_field_u64()

    hist_data->fields[3]:
      flags:
        HIST_FIELD_FL_VAR
        HIST_FIELD_FL_CONST
      var.name: five
      var.idx (into tracing_map_elt.vars[]): 1
      constant: 5
      type: u64
      size: 8
      is_signed: 0
      function: hist_field_const()

    hist_data->fields[4]:
      flags:
        HIST_FIELD_FL_VAR
        HIST_FIELD_FL_ALIAS
      var.name: b
      var.idx (into tracing_map_elt.vars[]): 2
      var_ref_idx (into hist_data->var_refs[]): 0
      type: u64
      size: 8
      is_signed: 0
      function: hist_field_var_ref()

  key fields:

    hist_data->fields[5]:
      flags:
        HIST_FIELD_FL_KEY
      ftrace_event_field name: u8
      type: u8
      size: 8
      is_signed: 0
      function: hist_field_u8()

    hist_data->fields[6]:
      flags:
        HIST_FIELD_FL_KEY
      ftrace_event_field name: name
      type: char[10]
      size: 16
      is_signed: 0
      function: hist_field_string()

  variable reference fields:

    hist_data->var_refs[0]:
      flags:
        HIST_FIELD_FL_VAR_REF
      name: x
      var.idx (into tracing_map_elt.vars[]): 1
      var.hist_data: table 0
      var_ref_idx (into hist_data->var_refs[]): 0
      system: sys
      event_name: other
      type: u64
      size: 8
      is_signed: 0
      function: hist_field_var_ref()
";
    assert_eq!(text, want);
}

#[test]
fn a_variable_that_is_the_hit_count() {
    let text = debugged("keys=u8:x=hitcount");
    let want = "\
    hist_data->fields[1]:
      flags:
        VAL: HIST_FIELD_FL_HITCOUNT
      var.name: x
      var.idx (into tracing_map_elt.vars[]): 0
      type: u64
";
    assert!(text.contains(want), "{text}");
}

#[test]
fn functions_of_fields() {
    for (text, want) in [
        ("keys=u64.log2", "log2"),
        ("keys=s32.buckets=10", "bucket"),
        ("keys=common_timestamp", "timestamp"),
        ("keys=loc", "dynstring"),
        ("keys=stacktrace", "nop"),
        ("keys=-(u8)", "uminus"),
        ("keys=u64+u8", "plus"),
        ("keys=u64-u8", "minus"),
        ("keys=u64*u8", "mult"),
        ("keys=u64/u8", "div"),
        ("keys=u64/8", "div_power2"),
        ("keys=u64/10", "div_mult_shift"),
        ("keys=u64/2000000", "div_not_power2"),
    ] {
        let text = debugged(text);
        let function = text.rsplit("hist_field_").next();
        assert_eq!(function, Some(&*std::format!("{want}()\n")), "{text}");
    }
    // Their numbers have no sign.
    assert!(debugged("keys=s32.log2").ends_with(
        "name: s32\n      type: int\n      size: 8\n      is_signed: 0\n      \
         function: hist_field_log2()\n"
    ));
}

#[test]
fn actions_of_a_definition() {
    let text =
        debugged("keys=u8:l=u64:onmatch(sys.other).lat($l,prio,name,loc):onmax($l).save(s32,name)");
    let want = "
  field variables:

    hist_data->field_vars[0]:

      field_vars[0].var:
      flags:
        HIST_FIELD_FL_VAR
      var.name: name
      var.idx (into tracing_map_elt.vars[]): 1

      field_vars[0].val:
      ftrace_event_field name: name
      type: char[10]
      size: 10
      is_signed: 0

    hist_data->field_vars[1]:

      field_vars[1].var:
      flags:
        HIST_FIELD_FL_VAR
      var.name: loc
      var.idx (into tracing_map_elt.vars[]): 2

      field_vars[1].val:
      ftrace_event_field name: loc
      type: __data_loc char[]
      size: 256
      is_signed: 0

  action tracking variables (for onmax()/onchange()/onmatch()):

    hist_data->actions[0].match_data.event_system: sys
    hist_data->actions[0].match_data.event: other

    hist_data->actions[1].track_data.var_ref:
      flags:
        HIST_FIELD_FL_VAR_REF
      name: l
      var.idx (into tracing_map_elt.vars[]): 0
      var.hist_data: table 65535
      var_ref_idx (into hist_data->var_refs[]): 0
      type: u64
      size: 8
      is_signed: 0
      function: hist_field_var_ref()

    hist_data->actions[1].track_data.track_var:
      flags:
        HIST_FIELD_FL_VAR
      var.name: __max
      var.idx (into tracing_map_elt.vars[]): 3
      type: u64
      size: 8
      is_signed: 0
      function: hist_field_nop()

  save action variables (save() params):

    hist_data->save_vars[0]:

      save_vars[0].var:
      flags:
        HIST_FIELD_FL_VAR
      var.name: s32
      var.idx (into tracing_map_elt.vars[]): 4

      save_vars[0].val:
      ftrace_event_field name: s32
      type: int
      size: 4
      is_signed: 1
";
    assert!(text.contains(want), "{text}");
    assert!(text.contains("      name: synthetic_prio\n"), "{text}");
    // C goes no further after something that is no field of the event.
    let text = debugged("keys=u8:l=u64:onmax($l).save(common_timestamp,s32)");
    assert!(text.ends_with("\n      save_vars[0].val:\n"), "{text}");
}
