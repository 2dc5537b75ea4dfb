//! Statements in places where they are not allowed: CPython's compiler refuses them before it runs the first line, and a grammar does not.
//!
//! Expressions are not walked: a `yield` outside a function is found where it is evaluated.

use ruff_python_ast::{ExceptHandler, Stmt};
use ruff_text_size::{Ranged, TextRange};

/// Surroundings of a statement.
#[derive(Clone, Copy, Default)]
struct Around {
    is_function: bool,
    is_loop: bool,
}

/// Returns the first `return`, `break` or `continue` of a module that has nothing to return from or to leave, and CPython's
/// message about it.
pub(crate) fn misplaced(module: &[Stmt]) -> Option<(TextRange, &'static str)> {
    within(module, Around::default())
}

fn within(statements: &[Stmt], around: Around) -> Option<(TextRange, &'static str)> {
    statements.iter().find_map(|statement| first(statement, around))
}

fn first(statement: &Stmt, around: Around) -> Option<(TextRange, &'static str)> {
    let repeated = Around { is_loop: true, ..around };
    match statement {
        Stmt::Return(_) if !around.is_function => Some((statement.range(), "'return' outside function")),
        Stmt::Break(_) if !around.is_loop => Some((statement.range(), "'break' outside loop")),
        Stmt::Continue(_) if !around.is_loop => Some((statement.range(), "'continue' not properly in loop")),
        Stmt::FunctionDef(definition) => within(&definition.body, Around { is_function: true, is_loop: false }),
        Stmt::ClassDef(definition) => within(&definition.body, Around::default()),
        Stmt::For(inner) => within(&inner.body, repeated).or_else(|| within(&inner.orelse, around)),
        Stmt::While(inner) => within(&inner.body, repeated).or_else(|| within(&inner.orelse, around)),
        Stmt::If(inner) => within(&inner.body, around)
            .or_else(|| inner.elif_else_clauses.iter().find_map(|clause| within(&clause.body, around))),
        Stmt::With(inner) => within(&inner.body, around),
        Stmt::Match(inner) => inner.cases.iter().find_map(|case| within(&case.body, around)),
        Stmt::Try(inner) => {
            let handled = |handler: &ExceptHandler| {
                let ExceptHandler::ExceptHandler(handler) = handler;
                within(&handler.body, around)
            };
            within(&inner.body, around)
                .or_else(|| inner.handlers.iter().find_map(handled))
                .or_else(|| within(&inner.orelse, around))
                .or_else(|| within(&inner.finalbody, around))
        }
        _ => None,
    }
}
