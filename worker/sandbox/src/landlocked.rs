//! Landlock rules of the fallback: the system's directories can be read and executed, the rest of the file system is
//! hidden.

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, Scope, path_beneath_rules,
};
use std::path::PathBuf;

/// Linux 6.12, the first version that confines signals and abstract sockets.
const NEEDED: ABI = ABI::V6;

/// Paths that programs may read besides the interpreter's directories; paths that do not exist are skipped.
const SYSTEM: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache"];

/// Builds the rules.
///
/// # Errors
/// The kernel is older than 6.12 or was started without Landlock.
pub(crate) fn ruleset(readable: &[PathBuf]) -> Result<RulesetCreated, RulesetError> {
    let devices = path_beneath_rules(["/dev/random", "/dev/urandom"], AccessFs::ReadFile);
    let null = path_beneath_rules(["/dev/null"], AccessFs::ReadFile | AccessFs::WriteFile);
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))?
        .handle_access(AccessNet::from_all(NEEDED))?
        .scope(Scope::from_all(NEEDED))?
        .create()?
        .add_rules(path_beneath_rules(SYSTEM, AccessFs::from_read(NEEDED)))?
        .add_rules(path_beneath_rules(readable, AccessFs::from_read(NEEDED)))?
        .add_rules(devices)?
        .add_rules(null)
}
