// SPDX-License-Identifier: GPL-2.0

//! The text of `hist_debug`: what a definition was compiled to, in the words of C.
//!
//! C numbers the fields of a definition: the hit count, the values, the variables, the keys. It
//! also names the function that reads each field. Both are in the text, so a [`Node`] is shown as
//! the field that C would have in its place.

use super::action::{Action, Actions, Handler};
use super::description::{
    Description, Modifier, Node, NodeId, Operator, Place, Reference, Response, TypeName, Value,
    Variable, OWN,
};
use crate::core::format::Out;
use core::fmt;

/// What a definition does not know itself.
pub trait Facts {
    /// Writes the name of a C type.
    fn type_name(&self, ty: TypeName, out: &mut dyn Out) -> fmt::Result;

    /// Writes what stands for the table of a reference's target, which may be [`OWN`].
    fn table(&self, histogram: u16, out: &mut dyn Out) -> fmt::Result;
}

/// C divides by a constant up to this one with a multiplication.
const LARGEST_MULTIPLIED: u64 = 1 << 20;

/// What C knows of a field.
#[derive(Clone, Copy)]
struct Field {
    ty: TypeName,
    size: usize,
    signed: bool,
    function: &'static str,
}

impl Field {
    /// The greatest or last value that `onmax` or `onchange` has seen.
    const TRACKED: Self = Self {
        ty: TypeName::of(b"u64"),
        size: 8,
        signed: false,
        function: "nop",
    };

    fn write(&self, out: &mut dyn Out, facts: &dyn Facts) -> fmt::Result {
        out.bytes(b"      type: ")?;
        facts.type_name(self.ty, out)?;
        writeln!(out, "\n      size: {}", self.size)?;
        writeln!(out, "      is_signed: {}", u8::from(self.signed))
    }
}

/// What a field is for, as C's flags say it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Hitcount,
    Value,
    Variable,
    Key,
}

/// The definition of a table.
pub struct Definition<'a> {
    /// Its compiled form.
    pub description: &'a Description,
    /// Its text, which has the names.
    pub text: &'a [u8],
    /// Its actions.
    pub actions: &'a Actions<'a>,
    /// The rest.
    pub facts: &'a dyn Facts,
}

/// Whether C goes on after what was written.
type Written = Result<bool, fmt::Error>;

/// Writes the flag of a variable, its name and its place in the element.
fn variable(out: &mut dyn Out, name: &[u8], slot: u8) -> fmt::Result {
    out.bytes(b"      flags:\n        HIST_FIELD_FL_VAR\n")?;
    named(out, name, slot)
}

fn named(out: &mut dyn Out, name: &[u8], slot: u8) -> fmt::Result {
    out.bytes(b"      var.name: ")?;
    out.bytes(name)?;
    place(out, slot)
}

fn place(out: &mut dyn Out, slot: u8) -> fmt::Result {
    write!(
        out,
        "\n      var.idx (into tracing_map_elt.vars[]): {slot}\n"
    )
}

impl Definition<'_> {
    /// Writes everything. Errors only when `out` is full.
    pub fn write(&self, out: &mut dyn Out) -> fmt::Result {
        let Description {
            values,
            variables,
            keys,
            ..
        } = self.description;
        let count = values.len().wrapping_add(variables.len()).wrapping_add(1);
        out.bytes(b"hist_data: ")?;
        self.facts.table(OWN, out)?;
        write!(out, "\n\n  n_vals: {count}\n  n_keys: {}\n", keys.len())?;
        writeln!(out, "  n_fields: {}", count.wrapping_add(keys.len()))?;

        out.bytes(b"\n  val fields:\n\n    hist_data->fields[0]:\n")?;
        self.field(out, &Node::NONE, Use::Hitcount, None)?;
        let mut next = 1usize..;
        let mut head = |out: &mut dyn Out| {
            let at = next.next().unwrap_or(0);
            writeln!(out, "\n    hist_data->fields[{at}]:")
        };
        for id in values.as_slice() {
            head(out)?;
            self.field(out, self.description.node(*id), Use::Value, None)?;
        }
        for variable in variables.as_slice() {
            head(out)?;
            let node = self.description.node(variable.node);
            self.field(out, node, Use::Variable, Some(variable))?;
        }
        out.bytes(b"\n  key fields:\n")?;
        for key in keys.as_slice() {
            head(out)?;
            let node = self.description.node(key.node);
            self.field(out, node, Use::Key, None)?;
        }

        let references = self.description.references.as_slice();
        if !references.is_empty() {
            out.bytes(b"\n  variable reference fields:\n")?;
        }
        for (at, reference) in references.iter().enumerate() {
            writeln!(out, "\n    hist_data->var_refs[{at}]:")?;
            self.reference(out, at, reference)?;
        }
        let implied = self.description.implied.as_slice();
        if !implied.is_empty() {
            out.bytes(b"\n  field variables:\n")?;
        }
        if !self.of_fields(out, "field_vars", implied)? {
            return Ok(());
        }
        self.tracked(out)?;
        let saved = self.description.saved.as_slice();
        if !saved.is_empty() {
            out.bytes(b"\n  save action variables (save() params):\n")?;
        }
        self.of_fields(out, "save_vars", saved)?;
        Ok(())
    }

    /// The field of the event that a node reads, by name.
    fn name(&self, node: &Node) -> Option<&[u8]> {
        let name = node.name.within(self.text);
        let is_field = match node.value {
            Value::Number { .. } | Value::StackField(_) => true,
            Value::Text(place) => place != Place::Comm || name != b"common_comm",
            Value::Cpu => name != b"common_cpu",
            _ => false,
        };
        is_field.then_some(name)
    }

    fn field(
        &self,
        out: &mut dyn Out,
        node: &Node,
        of: Use,
        variable: Option<&Variable>,
    ) -> fmt::Result {
        let reference = match node.value {
            Value::Reference(at) => {
                let references = self.description.references.as_slice();
                references.get(usize::from(at)).map(|known| (at, known))
            }
            _ => None,
        };
        if let (Use::Value, Some((at, known))) = (of, reference) {
            return self.reference(out, at.into(), known);
        }
        out.bytes(b"      flags:\n        ")?;
        out.bytes(match (of, node.value) {
            (Use::Key, _) => b"HIST_FIELD_FL_KEY\n",
            (_, Value::Hitcount) => b"VAL: HIST_FIELD_FL_HITCOUNT\n",
            (Use::Variable, _) => b"HIST_FIELD_FL_VAR\n",
            _ => b"VAL: normal u64 value\n",
        })?;
        match node.value {
            Value::Reference(_) => out.bytes(b"        HIST_FIELD_FL_ALIAS\n")?,
            Value::Constant(_) => out.bytes(b"        HIST_FIELD_FL_CONST\n")?,
            _ => {}
        }
        if let Some(name) = self.name(node) {
            out.bytes(b"      ftrace_event_field name: ")?;
            out.bytes(name)?;
            out.bytes(b"\n")?;
        }
        if let Some(variable) = variable {
            named(out, variable.name.within(self.text), variable.slot)?;
        }
        match node.value {
            Value::Constant(number) => writeln!(out, "      constant: {number}")?,
            Value::Reference(at) => {
                writeln!(out, "      var_ref_idx (into hist_data->var_refs[]): {at}")?;
            }
            _ => {}
        }
        let mut field = self.of_node(node);
        if of == Use::Key {
            field.size = field.size.next_multiple_of(8);
        }
        field.write(out, self.facts)?;
        writeln!(out, "      function: hist_field_{}()", field.function)
    }

    fn of_node(&self, node: &Node) -> Field {
        Field {
            ty: node.ty,
            size: node.size.into(),
            signed: node.signed,
            function: self.function(node),
        }
    }

    /// C's function for a node, without the words that all have.
    fn function(&self, node: &Node) -> &'static str {
        match (node.value, node.modifier) {
            (Value::Hitcount, _) => "counter",
            (Value::Constant(_), _) => "const",
            (Value::Stack, _) => "nop",
            (Value::StackField(_), _) => "stack",
            (Value::Text(Place::Execname), _) => "execname",
            (Value::Reference(_), _) => "var_ref",
            (Value::Negative(_), _) => "uminus",
            (Value::Operation(Operator::Plus, ..), _) => "plus",
            (Value::Operation(Operator::Minus, ..), _) => "minus",
            (Value::Operation(Operator::Times, ..), _) => "mult",
            (Value::Operation(Operator::Divide, _, by), _) => self.division(by),
            (_, Modifier::Log2) => "log2",
            (_, Modifier::Buckets(_)) => "bucket",
            (Value::Timestamp, _) => "timestamp",
            (Value::Cpu, _) => "cpu",
            (Value::Text(Place::Comm), _) => "comm",
            (Value::Text(Place::Array { .. }), _) => "string",
            (Value::Text(Place::Data(_)), _) => "dynstring",
            (Value::Text(Place::Relative(_)), _) => "reldynstring",
            (Value::Number { size, signed, .. }, _) => match (size, signed) {
                (8, true) => "s64",
                (8, false) => "u64",
                (4, true) => "s32",
                (4, false) => "u32",
                (2, true) => "s16",
                (2, false) => "u16",
                (_, true) => "s8",
                (_, false) => "u8",
            },
        }
    }

    fn division(&self, by: NodeId) -> &'static str {
        let constant = match self.description.node(by).value {
            Value::Constant(number) => Some(number),
            Value::Reference(at) => {
                let references = self.description.references.as_slice();
                let reference = references.get(usize::from(at));
                reference.and_then(|reference| reference.constant)
            }
            _ => None,
        };
        match constant {
            None => "div",
            Some(divisor) if divisor.is_power_of_two() => "div_power2",
            Some(divisor) if divisor > LARGEST_MULTIPLIED => "div_not_power2",
            Some(_) => "div_mult_shift",
        }
    }

    fn reference(&self, out: &mut dyn Out, at: usize, reference: &Reference) -> fmt::Result {
        out.bytes(b"      flags:\n        HIST_FIELD_FL_VAR_REF\n      name: ")?;
        // The variable for a field of another event is not called like the field.
        if reference.target.histogram != OWN && !reference.name.follows(self.text, b'$') {
            out.bytes(b"synthetic_")?;
        }
        out.bytes(reference.name.within(self.text))?;
        place(out, reference.target.variable)?;
        out.bytes(b"      var.hist_data: ")?;
        self.facts.table(reference.target.histogram, out)?;
        writeln!(
            out,
            "\n      var_ref_idx (into hist_data->var_refs[]): {at}"
        )?;
        if let Some((system, event)) = reference.event {
            out.bytes(b"      system: ")?;
            out.bytes(system.within(self.text))?;
            out.bytes(b"\n      event_name: ")?;
            out.bytes(event.within(self.text))?;
            out.bytes(b"\n")?;
        }
        let field = Field {
            ty: reference.ty,
            size: reference.size.into(),
            signed: reference.signed,
            function: "var_ref",
        };
        field.write(out, self.facts)?;
        writeln!(out, "      function: hist_field_{}()", field.function)
    }

    /// Writes variables that stand for fields. C stops at one that is no field of the event.
    fn of_fields(&self, out: &mut dyn Out, list: &str, all: &[Variable]) -> Written {
        for (at, of_field) in all.iter().enumerate() {
            write!(
                out,
                "\n    hist_data->{list}[{at}]:\n\n      {list}[{at}].var:\n"
            )?;
            variable(out, of_field.name.within(self.text), of_field.slot)?;
            write!(out, "\n      {list}[{at}].val:\n")?;
            let node = self.description.node(of_field.node);
            let Some(name) = self.name(node) else {
                return Ok(false);
            };
            out.bytes(b"      ftrace_event_field name: ")?;
            out.bytes(name)?;
            out.bytes(b"\n")?;
            self.of_node(node).write(out, self.facts)?;
        }
        Ok(true)
    }

    /// Writes what the handlers of actions look at.
    fn tracked(&self, out: &mut dyn Out) -> fmt::Result {
        let responses = self.description.responses.as_slice();
        if !responses.is_empty() {
            out.bytes(b"\n  action tracking variables (for onmax()/onchange()/onmatch()):\n")?;
        }
        let both = responses.iter().zip(self.actions.as_slice());
        for (at, (response, action)) in both.enumerate() {
            self.handler(out, at, response, action)?;
        }
        Ok(())
    }

    fn handler(
        &self,
        out: &mut dyn Out,
        at: usize,
        response: &Response,
        action: &Action<'_>,
    ) -> fmt::Result {
        if let Some(track) = response.track {
            let references = self.description.references.as_slice();
            write!(out, "\n    hist_data->actions[{at}].track_data.var_ref:\n")?;
            if let Some(reference) = references.get(usize::from(track.reference)) {
                self.reference(out, track.reference.into(), reference)?;
            }
            write!(
                out,
                "\n    hist_data->actions[{at}].track_data.track_var:\n"
            )?;
            let name: &[u8] = if track.change { b"__change" } else { b"__max" };
            variable(out, name, track.slot)?;
            Field::TRACKED.write(out, self.facts)?;
            writeln!(
                out,
                "      function: hist_field_{}()",
                Field::TRACKED.function
            )?;
        }
        if let Handler::Match { system, event } = action.handler {
            write!(
                out,
                "\n    hist_data->actions[{at}].match_data.event_system: "
            )?;
            out.bytes(system)?;
            write!(out, "\n    hist_data->actions[{at}].match_data.event: ")?;
            out.bytes(event)?;
            out.bytes(b"\n")?;
        }
        Ok(())
    }
}
