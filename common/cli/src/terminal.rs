//! Width of the terminal on which standard output is read.

use std::io::IsTerminal;

/// Columns of the terminal; `None` where standard output is a file or a pipe, which is as wide as its lines. `COLUMNS` of the
/// environment counts where the terminal does not say.
pub fn terminal_width() -> Option<usize> {
    let stdout = std::io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(&stdout).ok().map(|size| usize::from(size.ws_col));
    let named = || std::env::var("COLUMNS").ok()?.parse().ok();
    size.filter(|width| *width > 0).or_else(named)
}
