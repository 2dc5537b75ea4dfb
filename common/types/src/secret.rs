//! A text that must not be read by accident: it appears in no log, no `Debug`, no JSON.

use std::fmt;

/// Text that shows itself in no log, no `Debug`, no JSON. Compared as text; where timing could tell, compare digests.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a text in.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for the one place that has to send or write it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_does_not_show_itself() {
        let secret = Secret::new("s3cret");
        assert_eq!(format!("{secret:?} {:#?}", Some(&secret)).matches("s3cret").count(), 0);
        assert_eq!(secret.expose(), "s3cret");
    }
}
