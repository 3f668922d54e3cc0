// SPDX-License-Identifier: GPL-2.0

//! Definitions that are refused, with what `error_log` says of them.

use super::*;

/// Errors, positions and errnos of Linux 7.3. The position is that of `^`.
#[test]
fn refusals() {
    for (marked, reason, errno) in [
        (
            "hist:keys=u8:x=32+^10*3/20-4",
            Reason::TooManySubexpressions,
            Errno::Invalid,
        ),
        (
            "hist:keys=u8:x=^1+2+3+4+5",
            Reason::TooManySubexpressions,
            Errno::Invalid,
        ),
        (
            "hist:keys=u8:x=-(^1)+2",
            Reason::UnaryMinusSubexpression,
            Errno::Invalid,
        ),
        ("hist:keys=u8:x=3/^0", Reason::DivisionByZero, Errno::Domain),
        (
            "hist:keys=u64:vals=s32:sort=u64,^junk",
            Reason::InvalidSortField,
            Errno::Invalid,
        ),
        (
            "hist:keys=u64:vals=s32:^sort=",
            Reason::EmptyAssignment,
            Errno::Invalid,
        ),
        (
            "hist:keys=u64:vals=s32:^sort=u64,",
            Reason::EmptySortField,
            Errno::Invalid,
        ),
        (
            "hist:keys=u64:vals=s32:sort=u64.^junk",
            Reason::InvalidSortModifier,
            Errno::Invalid,
        ),
        (
            "hist:keys=u64:vals=s32,u8:^sort=u64,s32,u8",
            Reason::TooManySortFields,
            Errno::Invalid,
        ),
        ("hist:keys=^nothing", Reason::FieldNotFound, Errno::Invalid),
        (
            "^hist:keys=u64.sym-offsets",
            Reason::BadModifier,
            Errno::Invalid,
        ),
        (
            "^hist:keys=u64:vals=u8.sym-offset",
            Reason::BadModifier,
            Errno::Invalid,
        ),
        ("hist:keys=u64.^junk", Reason::BadModifier, Errno::Invalid),
        (
            "hist:keys=u64.^percent",
            Reason::BadModifier,
            Errno::Invalid,
        ),
        (
            "hist:keys=u64:vals=^u8.log2",
            Reason::BadModifier,
            Errno::Invalid,
        ),
        // C has cut these at their first dot.
        (
            "hist:keys=^sys.own.u64:vals=sys.own.u8.log2",
            Reason::BadModifier,
            Errno::Invalid,
        ),
        (
            "hist:keys=^sys.own.u64:x=-(sys.own.name)",
            Reason::InvalidTextOperand,
            Errno::Invalid,
        ),
        (
            "hist:keys=u64:^taken=u8",
            Reason::DuplicateVariable,
            Errno::Invalid,
        ),
        (
            "hist:keys=u64:x=u64+^name",
            Reason::InvalidTextOperand,
            Errno::Invalid,
        ),
        (
            "hist:keys=^$ts0",
            Reason::InvalidReferenceKey,
            Errno::Invalid,
        ),
        // What is left of the key once it was parsed is what its log looks for.
        (
            "hist:vals=^u64:keys=u64+$five",
            Reason::InvalidReferenceKey,
            Errno::Invalid,
        ),
        (
            "hist:vals=^u64:keys=u64/5*u8-$five",
            Reason::InvalidReferenceKey,
            Errno::Invalid,
        ),
        (
            "hist:vals=u64:keys=^-(u64+$five)",
            Reason::InvalidReferenceKey,
            Errno::Invalid,
        ),
        (
            "hist:^sys=u64:keys=sys.other.$only",
            Reason::InvalidReferenceKey,
            Errno::Invalid,
        ),
        ("hist:keys=u64:x=^7q", Reason::ExpectNumber, Errno::Invalid),
        (
            "^hist:keys=u64:x=u64-$ts0",
            Reason::TimestampMismatch,
            Errno::Invalid,
        ),
        (
            "^hist:keys=u64:nohitcount",
            Reason::NeedsValue,
            Errno::NotFound,
        ),
    ] {
        let command = marked.replace('^', "");
        let (found, kept) = compiled(&command["hist:".len()..]).unwrap_err();
        assert_eq!(found, errno, "{marked}");
        let (kept, token) = kept.last().unwrap();
        assert_eq!(*kept, reason, "{marked}");
        let at = position(command.as_bytes(), token.as_bytes());
        assert_eq!(usize::from(at), marked.find('^').unwrap(), "{marked}");
    }
    for (text, errno) in [
        ("vals=u8", Errno::Invalid),
        ("keys=u8:junk", Errno::Invalid),
        ("keys=u8:size=1", Errno::Invalid),
        ("keys=u8:size=262144", Errno::Invalid),
        ("keys=u8,s32,u64,name", Errno::Invalid),
        ("keys=u8:vals=u8,s32,u64", Errno::Invalid),
        ("keys=odd", Errno::NoMemory),
        ("keys=ip", Errno::NoMemory),
        ("keys=loc,rel", Errno::Invalid),
        ("keys=calls,loc", Errno::Invalid),
        (
            "keys=calls.stacktrace,calls.stacktrace,u8,u8",
            Errno::Invalid,
        ),
    ] {
        let (found, kept) = compiled(text).unwrap_err();
        assert_eq!((found, kept.len()), (errno, 0), "{text}");
    }
    // A reference that is not found is then looked for as a field.
    let (_, kept) = compiled("keys=u8:x=$none").unwrap_err();
    let reasons: Vec<_> = kept.iter().map(|(reason, _)| *reason).collect();
    assert_eq!(reasons, [Reason::VariableNotFound, Reason::FieldNotFound]);
}
