//! Generates the wire code from `compass/v1/*.proto` with a compiler written in Rust: no protoc is needed.

use prost::Message as _;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=compass");
    let files = protox::compile(
        ["result", "worker", "engine", "control", "enrolment"].map(|name| format!("compass/v1/{name}.proto")),
        ["."],
    )?;
    // What reflection answers from.
    let out = std::path::PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    std::fs::write(out.join("compass.v1.bin"), files.encode_to_vec())?;
    tonic_prost_build::configure()
        .build_transport(false)
        // It holds a secret: `lib.rs` says what it shows.
        .skip_debug(["compass.v1.EnrolRequest"])
        .compile_fds(files)?;
    Ok(())
}
