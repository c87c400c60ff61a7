//! The `orch` binary: parse, run, exit code.

fn main() {}
