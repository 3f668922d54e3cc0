// SPDX-License-Identifier: GPL-2.0

//! What is wrong with a refused definition, in C's words and at C's places.

pub use crate::core::event::refusal::Errno;

use crate::core::event::refusal::reasons;

reasons! {
    ArgumentNameTooLong "Argument name is too long",
    ArgumentTooLong "Argument expression is too long",
    ArrayNotClosed "Array is not closed",
    ArrayTooBig "Array number is too big",
    AttachedMissing "Attached event does not exist",
    BadAddressSuffix "Invalid probed address suffix",
    BadArgumentName "Argument name must follow the same rules as C identifiers",
    BadArgumentNumber "Invalid argument number",
    BadArrayNumber "Invalid array size",
    BadArraySuffix "Array has wrong suffix",
    BadBitfield "Invalid bitfield",
    BadDereferenceOffset "Invalid dereference offset",
    BadCounter "Invalid reference counter offset",
    BadCounterSuffix "Reference counter has wrong suffix",
    BadEventName "Event name must follow the same rules as C identifiers",
    BadHyphen "Failed to parse single hyphen. Forgot '>'?",
    BadFetch "Invalid fetch argument",
    BadFileOffset "Invalid file offset value",
    BadFilePlace "Invalid uprobe offset",
    BadGroupName "Group name must follow the same rules as C identifiers",
    BadImmediate "Invalid immediate value",
    BadInstructionBoundary "Probe point is not an instruction boundary",
    BadMaxActive "Invalid maxactive number",
    BadMaxActiveType "Maxactive is only for function exit",
    BadMemoryAddress "Invalid memory address",
    BadProbeAddress "Invalid probed address or symbol",
    BadRegisterName "Invalid register name",
    BadReturnProbe "Retprobe address must be an function entry",
    BadStackNumber "Invalid stack number",
    BadString "String accepts only memory argument",
    BadSymbolString "Symbol String doesn't accept data/userdata",
    BadTracepointName "Invalid character in tracepoint name",
    BadType "Unknown type is specified",
    BadVariable "Invalid $-variable specified",
    ByValue "Non pointer structure/union argument is not supported.",
    CastArrow "Typecast field option does not support -> operator",
    CastNotAligned "Typecast field option is not byte-aligned",
    CastOffset "@SYM+/-OFFSET with typecast needs parentheses",
    CastWithoutMember "Typecast requires a field access",
    CommDereferenced "$comm can not be dereferenced",
    CounterOpen "Reference counter brace is not closed",
    DereferenceNeedsBrace "Dereference needs a brace",
    DereferenceOpen "Dereference brace is not closed",
    DifferentArgument "Argument type or name is different from existing probe",
    DifferentProbe "Probe type is different from existing probe",
    ArgumentsTwice "$arg* can be used only once in the parameters",
    EventExists "Given group/event name is already used by another event",
    EventTooBig "Event too big (too many fields?)",
    EventTooLong "Event name is too long",
    NotRegistered "Failed to register probe event",
    FileNotFound "Failed to find the given file",
    FileOffset "File offset is not available for kernel probes",
    GroupTooLong "Group name is too long",
    TextNotClosed "String is not closed with '\"'",
    MaxActiveTooBig "Maxactive is too big",
    NeedsStringType "$comm and immediate-string only accepts string type",
    NotAtEntry "$arg* can be used only on function entry or exit",
    NotRegularFile "Not a regular file",
    NotUnique "The symbol is not unique",
    NoPerCpu "Per-cpu variable access is only for kernel probes",
    NoTypes "BTF is not available or not supported",
    NoMember "This field is not found.",
    NoParameter "This variable is not found at this probe point",
    NoPointer "This is not a pointer to union/structure.",
    NoPrototype "No BTF entry for this probe point",
    NoStructure "Failed to get BTF type info.",
    NotText "This type does not fit for string.",
    NothingReturned "This function returns 'void' type",
    NoArgumentBody "No argument expression",
    NoArgumentName "Argument name is not specified",
    NoEventField "This event field is not found.",
    NoEventInfo "This requires both group and event name to attach",
    NoEventName "Event name is not specified",
    NoFilter "No filter rule after 'if'",
    NoGroupName "Group name is not specified",
    ReturnedAtEntry "$retval is not available on probe",
    SameProbe "There is already the exact same probe event",
    SymbolOfProgram "Symbol is not available with uprobe",
    TooManyEntryArguments "Too many entry arguments specified",
    TooManyArguments "Too many arguments are specified",
    TooManyNested "Too many nested typecasts/dereferences",
    TooManyOps "Dereference is too much nested",
    UsedArgumentName "This argument name is already used",
}

/// A refused definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What is wrong with it.
    pub reason: Reason,
    /// In which word.
    pub word: usize,
    /// Where in that word, in bytes.
    pub offset: usize,
    /// What the write returns.
    pub errno: Errno,
    /// A reason in the same word that is told first, and where.
    pub cause: Option<(Reason, usize)>,
}

impl Refused {
    /// A refusal that is `EINVAL`, in the first word.
    pub const fn new(reason: Reason, offset: usize) -> Self {
        Self {
            reason,
            word: 0,
            offset,
            errno: Errno::Invalid,
            cause: None,
        }
    }

    /// The same, where what is wrong with the word is told first.
    pub const fn because(self, cause: Self) -> Self {
        Self {
            cause: Some((cause.reason, cause.offset)),
            ..self
        }
    }

    /// The same with another errno.
    pub const fn with(self, errno: Errno) -> Self {
        Self { errno, ..self }
    }

    /// The same in another word.
    pub const fn in_word(self, word: usize) -> Self {
        Self { word, ..self }
    }

    /// Where the caret stands below `words` that are joined by single blanks.
    pub fn column<'a>(&self, words: impl Iterator<Item = &'a [u8]>) -> u16 {
        let before: usize = words
            .take(self.word)
            .map(|word| word.len().saturating_add(1))
            .sum();
        u16::try_from(before.saturating_add(self.offset)).unwrap_or(u16::MAX)
    }
}
