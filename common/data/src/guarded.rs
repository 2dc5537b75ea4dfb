//! Runs the columnar readers so that a damaged file is an error: some of their checks are assertions, and panic.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Returns the result of `work`; `None` when it panicked, of which nothing is printed.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !GUARDED.get() {
                usual(panic);
            }
        }));
    });
    let before = GUARDED.replace(true);
    // What the work leaves half done is dropped with the reader that panicked.
    let done = catch_unwind(AssertUnwindSafe(work)).ok();
    GUARDED.set(before);
    done
}
