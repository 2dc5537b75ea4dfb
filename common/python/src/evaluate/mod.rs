//! The walk over the tree: statements, expressions, calls. Values are in `value`, what they can do in `methods` and `modules`.

mod assign;
mod attribute;
mod call;
mod compare;
mod comprehension;
mod enumeration;
mod expression;
mod generator;
mod import;
mod interpreter;
mod iterate;
mod matching;
mod operator;
mod scope;
mod special;
mod statement;
mod subscript;

pub(crate) use call::Arguments;
pub(crate) use call::native;
pub(crate) use compare::equal;
pub(crate) use interpreter::Interpreter;
pub(crate) use iterate::Items;
pub(crate) use operator::{binary, overflow};
pub(crate) use scope::{Found, Kind, Scope, assigned};
pub(crate) use special::has as has_special;
pub(crate) use subscript::{index, key_error, slice_indices};
