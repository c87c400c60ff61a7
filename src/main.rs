//! The `orch` binary: parse, run, exit code.

use std::process::ExitCode;

/// Judging and replaying make many small values, which this allocator serves a quarter faster.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    #[expect(clippy::disallowed_methods, reason = "the one door to the environment")]
    let variable = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    ExitCode::from(orch::cli::run(std::env::args_os(), variable))
}
