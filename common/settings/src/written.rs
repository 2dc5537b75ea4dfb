//! The texts of a configuration that a run keeps.

/// The texts of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenConfig {
    /// The names of the files with their texts, the one of the command line first. What comes with the program is not among
    /// them, and the addresses of notices stand in none: they are secrets.
    pub files: Vec<(String, String)>,
    /// One TOML file that stands for them and for the flags; or why there is none.
    pub resolved: Result<String, String>,
}

impl Default for WrittenConfig {
    fn default() -> Self {
        Self { files: Vec::new(), resolved: Err("nothing is to be run".to_owned()) }
    }
}
