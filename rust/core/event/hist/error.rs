// SPDX-License-Identifier: GPL-2.0

//! The errors of a refused definition, with C's texts and positions.

pub use crate::core::event::refusal::Errno;

use crate::core::event::refusal::reasons;

reasons! {
    DuplicateVariable "Variable already defined",
    VariableNotUnique "Variable name not unique, need to use fully qualified name (subsys.event.var) for variable",
    TooManyVariables "Too many variables defined",
    MalformedAssignment "Malformed assignment",
    NamedMismatch "Named hist trigger doesn't match existing named trigger (includes variables)",
    Exists "Hist trigger already exists",
    NothingToClear "Can't clear or continue a nonexistent hist trigger",
    NoClock "Couldn't set trace_clock",
    BadModifier "Invalid field modifier",
    TooManySubexpressions "Too many subexpressions (3 max)",
    TimestampMismatch "Timestamp units in expression don't match",
    EventNotFound "Event file not found",
    HistogramNotFound "Matching event histogram not found",
    HistogramNotMade "Couldn't create histogram for field",
    FieldVariableNotFound "Couldn't find synthetic variable",
    SyntheticNotFound "Couldn't find synthetic event",
    TypeMismatch "Param type doesn't match synthetic event field type",
    CountMismatch "Param count doesn't match synthetic event field count",
    FieldNotParsed "Couldn't parse field variable",
    VariableNotMade "Couldn't create or find variable",
    TrackedNotVariable "For onmax(x) or onchange(x), x must be a variable",
    TrackedNotFound "Couldn't find onmax or onchange variable",
    TrackingNotMade "Couldn't create onmax or onchange variable",
    FieldVariableNotMade "Couldn't create field variable",
    TooManyParameters "Too many action params",
    ParameterNotFound "Couldn't find param",
    InvalidParameter "Invalid action param",
    ActionNotFound "No action found",
    TooManySaves "Can't have more than one save() action per hist",
    ActionMismatch "Handler doesn't support action",
    NoClosingParenthesis "No closing paren found",
    NoSubsystem "Missing subsystem",
    InvalidEvent "Invalid subsystem or event name",
    InvalidReferenceKey "Using variable references in keys not supported",
    VariableNotFound "Couldn't find variable",
    FieldNotFound "Couldn't find field",
    EmptyAssignment "Empty assignment",
    InvalidSortModifier "Invalid sort modifier",
    EmptySortField "Empty sort field",
    TooManySortFields "Too many sort fields (Max = 2)",
    InvalidSortField "Sort field must be a key or a val",
    InvalidTextOperand "String type can not be an operand in expression",
    ExpectNumber "Expecting numeric literal",
    UnaryMinusSubexpression "Unary minus not supported in sub-expressions",
    DivisionByZero "Division by zero",
    NeedsValue "Non-hitcount value is required for 'nohitcount'",
}

/// Takes the errors in a definition. Some mistakes have two, as in C.
pub trait Log {
    /// An error at `token`, a part of the definition. An empty one has no position.
    fn log(&mut self, reason: Reason, token: &[u8]);
}

/// The position of `token` in `command`: where C finds it first. 0 if it is empty, and if it is not
/// there, as a token that [`hide_minus`](super::attributes::hide_minus) has changed.
pub fn position(command: &[u8], token: &[u8]) -> u16 {
    if token.is_empty() {
        return 0;
    }
    let found = command.windows(token.len()).position(|part| part == token);
    found.and_then(|at| at.try_into().ok()).unwrap_or(0)
}
