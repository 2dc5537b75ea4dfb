//! Where a person sets up the port: what messages and forms name.

/// What sets up the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpSettings {
    /// `[master]` of a configuration.
    Configuration,
    /// The flags of `compass-master view`.
    ViewFlags,
}

impl HttpSettings {
    /// What names the file with the token.
    pub fn token_file(self) -> &'static str {
        match self {
            Self::Configuration => "master.http_token_file",
            Self::ViewFlags => "--token-file",
        }
    }

    /// What to do where the address is taken.
    pub fn if_taken(self) -> &'static str {
        match self {
            Self::Configuration => "write another master.http, or \"off\"",
            Self::ViewFlags => "choose another --listen, or port 0 for any that is free",
        }
    }
}
