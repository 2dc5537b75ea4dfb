//! The place where a person sets up the port: messages and forms name it.

/// Place at which the port is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpSettings {
    /// `[master]` of a configuration.
    Configuration,
    /// The flags of `compass-master view`.
    ViewFlags,
}

impl HttpSettings {
    /// Returns the name of the setting or flag for the file with the token.
    pub fn token_file(self) -> &'static str {
        match self {
            Self::Configuration => "master.http_token_file",
            Self::ViewFlags => "--token-file",
        }
    }

    /// Returns the advice for an address that is taken.
    pub fn if_taken(self) -> &'static str {
        match self {
            Self::Configuration => "write another master.http, or \"off\"",
            Self::ViewFlags => "choose another --listen, or port 0 for any that is free",
        }
    }
}
