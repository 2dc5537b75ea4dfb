//! Generates the wire code from `compass/v1/*.proto` with a compiler written in Rust: no protoc is needed.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=compass");
    let files =
        protox::compile(["compass/v1/result.proto", "compass/v1/worker.proto", "compass/v1/engine.proto"], ["."])?;
    tonic_prost_build::configure().build_transport(false).compile_fds(files)?;
    Ok(())
}
