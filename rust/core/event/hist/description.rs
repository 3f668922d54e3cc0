// SPDX-License-Identifier: GPL-2.0

//! The compiled form of a definition.
//!
//! A [`Node`] is a field, a constant, a reference to a variable, or an operation on earlier nodes.
//! Names are parts of the definition's text, which the owner keeps.

use super::{ACTIONS, KEYS, PARAMETERS, SORTS, VALUES, VARIABLES};

/// A part of a text of at most 64 KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    start: u16,
    len: u16,
}

impl Span {
    /// Where `part` is in `whole`, of which it is a slice. Empty if it is not.
    pub fn of(whole: &[u8], part: &[u8]) -> Self {
        let start = part.as_ptr().addr().wrapping_sub(whole.as_ptr().addr());
        match (u16::try_from(start), u16::try_from(part.len())) {
            (Ok(start), Ok(len)) => Self { start, len },
            _ => Self::default(),
        }
    }

    /// The part of `whole`.
    pub fn within(self, whole: &[u8]) -> &[u8] {
        let rest = whole.get(usize::from(self.start)..).unwrap_or(&[]);
        rest.get(..usize::from(self.len)).unwrap_or(&[])
    }

    /// Whether `byte` comes right before the part in `whole`.
    #[cfg(any(CONFIG_HIST_TRIGGERS_DEBUG, not(CONFIG_RTRACE)))]
    pub fn follows(self, whole: &[u8], byte: u8) -> bool {
        let before = usize::from(self.start).checked_sub(1);
        before.and_then(|at| whole.get(at)) == Some(&byte)
    }
}

/// Where a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the entry, at most so many bytes.
    Array {
        /// Its offset.
        offset: u16,
        /// The most bytes.
        size: u16,
    },
    /// At the offset that the word at this offset says.
    Data(u16),
    /// The same, but counted from the end of the word.
    Relative(u16),
    /// The name of the current task.
    Comm,
    /// The name of the task that made the element.
    Execname,
}

/// An operation on two numbers. All wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Times,
    /// `/`; all bits of the result are set if the divisor is 0.
    Divide,
}

impl Operator {
    /// Its sign in a definition.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Plus => "+",
            Self::Minus => "-",
            Self::Times => "*",
            Self::Divide => "/",
        }
    }

    /// The result.
    #[inline]
    pub const fn apply(self, left: u64, right: u64) -> u64 {
        match self {
            Self::Plus => left.wrapping_add(right),
            Self::Minus => left.wrapping_sub(right),
            Self::Times => left.wrapping_mul(right),
            Self::Divide => match left.checked_div(right) {
                Some(result) => result,
                None => u64::MAX,
            },
        }
    }
}

/// The index of a node.
pub type NodeId = u8;

/// What a node's number is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// 1 for each hit.
    Hitcount,
    /// A constant.
    Constant(u64),
    /// A number in the entry.
    Number {
        /// Its offset.
        offset: u16,
        /// 1, 2, 4 or 8 bytes.
        size: u8,
        /// Whether its highest bit is its sign.
        signed: bool,
    },
    /// A text.
    Text(Place),
    /// The CPU.
    Cpu,
    /// The time.
    Timestamp,
    /// The kernel stack.
    Stack,
    /// A stack in the entry: the word at this offset says where.
    StackField(u16),
    /// A number with the other sign.
    Negative(NodeId),
    /// An operation.
    Operation(Operator, NodeId, NodeId),
    /// The variable of this reference.
    Reference(u8),
}

/// How a field is read or printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The names in a definition.
pub enum Modifier {
    Plain,
    Hex,
    Sym,
    SymOffset,
    Execname,
    Syscall,
    Log2,
    Buckets(u64),
    Usecs,
    Percent,
    Graph,
    Stacktrace,
}

impl Modifier {
    /// Its name in a definition; empty for none.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Hex => "hex",
            Self::Sym => "sym",
            Self::SymOffset => "sym-offset",
            Self::Execname => "execname",
            Self::Syscall => "syscall",
            Self::Log2 => "log2",
            Self::Buckets(_) => "buckets",
            Self::Usecs => "usecs",
            Self::Percent => "percent",
            Self::Graph => "graph",
            Self::Stacktrace => "stacktrace",
        }
    }
}

/// A C type, by a hash of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeName(u64);

impl TypeName {
    /// The type called `name`.
    pub const fn of(name: &[u8]) -> Self {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut rest = name;
        while let [byte, after @ ..] = rest {
            hash = (hash ^ *byte as u64).wrapping_mul(0x0000_0100_0000_01b3);
            rest = after;
        }
        Self(hash)
    }
}

/// What the value of a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A number.
    Number,
    /// A text. The number of a variable is its address.
    Text,
    /// A stack. The number of a variable is the address of its length, which the calls follow.
    Stack,
}

/// A field, a constant, a reference or an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// What it is made of.
    pub value: Value,
    /// How it is read or printed.
    pub modifier: Modifier,
    /// The name of a field.
    pub name: Span,
    /// What its value is. That of a reference is what its variable holds.
    pub form: Form,
    /// Its C type.
    pub ty: TypeName,
    /// Bytes.
    pub size: u16,
    /// Whether the number is signed.
    pub signed: bool,
    /// Whether it is a time, or begins with one.
    pub timestamp: bool,
    /// Whether it is a time in microseconds.
    pub usecs: bool,
}

impl Node {
    /// A node that is not used.
    pub const NONE: Self = Self {
        value: Value::Hitcount,
        modifier: Modifier::Plain,
        name: Span { start: 0, len: 0 },
        form: Form::Number,
        ty: TypeName::of(b"u64"),
        size: 8,
        signed: false,
        timestamp: false,
        usecs: false,
    };

    /// Whether it is an operation.
    pub const fn is_expression(&self) -> bool {
        matches!(self.value, Value::Negative(_) | Value::Operation(..))
    }

    /// Whether its value is a text.
    pub const fn is_text(&self) -> bool {
        matches!(self.value, Value::Text(_))
    }

    /// Whether its value is a stack.
    pub const fn is_stack(&self) -> bool {
        matches!(self.value, Value::Stack | Value::StackField(_))
    }

    /// Whether values of `other` can be used in place of its own.
    pub fn is_like(&self, other: &Self) -> bool {
        self.ty == other.ty && self.size == other.size && self.signed == other.signed
    }
}

/// A part of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its node.
    pub node: NodeId,
    /// The index of its first word in the key.
    pub first: u8,
    /// The number of its words.
    pub words: u8,
}

/// A variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: Span,
    /// The node that it is set to.
    pub node: NodeId,
    /// Its place in the element.
    pub slot: u8,
    /// The number of its text in the element, for texts and stacks.
    pub text: Option<u8>,
}

impl Variable {
    /// A variable that is not used.
    const NONE: Self = Self {
        name: Span { start: 0, len: 0 },
        node: 0,
        slot: 0,
        text: None,
    };
}

/// A reference to a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// System and event, if the definition names them.
    pub event: Option<(Span, Span)>,
    /// The name of the variable.
    pub name: Span,
    /// The variable.
    pub target: Target,
    /// Whether the variable is unset when it is read.
    pub once: bool,
    /// The number that the variable always has.
    pub constant: Option<u64>,
    /// The C type of the variable.
    pub ty: TypeName,
    /// Its bytes.
    pub size: u16,
    /// Whether it is signed.
    pub signed: bool,
}

/// A variable of any histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The number that the scope has given to the histogram, or [`OWN`].
    pub histogram: u16,
    /// The place of the variable in an element there.
    pub variable: u8,
}

/// The histogram that the reference is in.
pub const OWN: u16 = u16::MAX;

/// The variable that `onmax` or `onchange` looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track {
    /// The reference to it.
    pub reference: u8,
    /// Where its greatest or last value is in the element.
    pub slot: u8,
    /// Whether any change counts.
    pub change: bool,
}

/// What a response does.
#[derive(Clone, Copy, Debug)]
pub enum Effect {
    /// Stores the saved variables.
    Save,
    /// Fires a synthetic event with the values of these references.
    Trace {
        /// The number that the scope has given to the event.
        event: u8,
        /// The references.
        values: ArrayVec<u8, PARAMETERS>,
    },
    /// Takes a snapshot.
    Snapshot,
}

/// The compiled form of an action.
#[derive(Clone, Copy, Debug)]
pub struct Response {
    /// What `onmax` or `onchange` looks at.
    pub track: Option<Track>,
    /// What it does.
    pub effect: Effect,
}

impl Response {
    /// A response that is not used.
    pub const NONE: Self = Self {
        track: None,
        effect: Effect::Save,
    };
}

/// What entries are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortBy {
    /// The hit count.
    Hitcount,
    /// A value.
    Value(u8),
    /// A key.
    Key(u8),
}

/// A sort field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    /// What entries are sorted by.
    pub by: SortBy,
    /// Whether the largest comes first.
    pub descending: bool,
}

/// A vector of at most `N` items, in itself.
#[derive(Clone, Copy, Debug)]
pub struct ArrayVec<T: Copy, const N: usize> {
    items: [T; N],
    len: u8,
}

impl<T: Copy, const N: usize> ArrayVec<T, N> {
    /// An empty list; its memory holds `filler`.
    pub const fn new(filler: T) -> Self {
        Self {
            items: [filler; N],
            len: 0,
        }
    }

    /// Removes all items but the first `len`.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(u8::try_from(len).unwrap_or(u8::MAX));
    }

    /// Appends an item and returns its index. `None` if the list is full.
    pub fn push(&mut self, item: T) -> Option<u8> {
        let at = self.len;
        *self.items.get_mut(usize::from(at))? = item;
        self.len = at.wrapping_add(1);
        Some(at)
    }

    /// The items.
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        self.items.get(..usize::from(self.len)).unwrap_or(&[])
    }

    /// The items, to be changed.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        self.items
            .get_mut(..usize::from(self.len))
            .unwrap_or(&mut [])
    }

    /// The number of items.
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The most nodes: each key, value and variable has at most four operands and three operations.
pub const NODES: usize = (KEYS + VALUES + VARIABLES) * 7;

/// A compiled definition.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// All nodes.
    pub nodes: ArrayVec<Node, NODES>,
    /// The parts of the key.
    pub keys: ArrayVec<Key, KEYS>,
    /// The nodes of the values besides the hit count.
    pub values: ArrayVec<NodeId, VALUES>,
    /// The variables.
    pub variables: ArrayVec<Variable, VARIABLES>,
    /// Variables that actions made for fields; they are set at each hit, too.
    pub implied: ArrayVec<Variable, VARIABLES>,
    /// What `save()` stores.
    pub saved: ArrayVec<Variable, VARIABLES>,
    /// The references to variables.
    pub references: ArrayVec<Reference, VARIABLES>,
    /// The actions.
    pub responses: ArrayVec<Response, ACTIONS>,
    /// The order of entries.
    pub sort: ArrayVec<Sort, SORTS>,
    /// The number of variables of all sorts.
    pub slots: u8,
    /// The number of texts in an element.
    pub texts: u8,
    /// Words of the key.
    pub key_words: u8,
    /// Whether a timestamp is read.
    pub timestamps: bool,
    /// Whether timestamps are in microseconds.
    pub usecs: bool,
    /// Whether the hit count is not shown.
    pub no_hitcount: bool,
    /// Whether elements have the name of the task that made them.
    pub comm: bool,
}

impl Description {
    /// A description of nothing.
    pub const EMPTY: Self = Self {
        nodes: ArrayVec::new(Node::NONE),
        keys: ArrayVec::new(Key {
            node: 0,
            first: 0,
            words: 0,
        }),
        values: ArrayVec::new(0),
        variables: ArrayVec::new(Variable::NONE),
        implied: ArrayVec::new(Variable::NONE),
        saved: ArrayVec::new(Variable::NONE),
        references: ArrayVec::new(Reference {
            event: None,
            name: Span { start: 0, len: 0 },
            target: Target {
                histogram: 0,
                variable: 0,
            },
            once: false,
            constant: None,
            ty: Node::NONE.ty,
            size: Node::NONE.size,
            signed: false,
        }),
        responses: ArrayVec::new(Response::NONE),
        sort: ArrayVec::new(Sort {
            by: SortBy::Hitcount,
            descending: false,
        }),
        slots: 0,
        texts: 0,
        key_words: 0,
        timestamps: false,
        usecs: false,
        no_hitcount: false,
        comm: false,
    };

    /// Whether its values can be added to a table that was made for `other`, which is printed the
    /// same.
    pub fn fits(&self, other: &Self) -> bool {
        let nodes = |of: &Self, id: NodeId| *of.node(id);
        let same =
            |mine: NodeId, other_id: NodeId| nodes(self, mine).is_like(&nodes(other, other_id));
        let keys = self.keys.as_slice().iter().zip(other.keys.as_slice());
        let values = self.values.as_slice().iter().zip(other.values.as_slice());
        let variables = self.variables.as_slice().iter();
        let mut variables = variables.zip(other.variables.as_slice());
        let targets = |of: &Self| {
            of.references
                .as_slice()
                .iter()
                .map(|known| known.target)
                .eq(other.references.as_slice().iter().map(|known| known.target))
        };
        self.key_words == other.key_words
            && (self.slots, self.texts, self.comm) == (other.slots, other.texts, other.comm)
            && keys.map(|(a, b)| (a.node, b.node)).all(|(a, b)| same(a, b))
            && values.map(|(a, b)| (*a, *b)).all(|(a, b)| same(a, b))
            && variables.all(|(a, b)| same(a.node, b.node))
            && targets(self)
    }

    /// A node. An index that does not exist is an unused node.
    #[inline]
    pub fn node(&self, id: NodeId) -> &Node {
        self.nodes
            .as_slice()
            .get(usize::from(id))
            .unwrap_or(&Node::NONE)
    }
}
