//! How the binary is linked.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |variable: &str, value: &str| env::var_os(variable).is_some_and(|found| found == value);
    // A position-independent executable has thousands of addresses to be filled in at each start, which takes
    // longer than a short command does. Libraries, heap and stack stay where the system puts them at random.
    if is("CARGO_CFG_TARGET_ARCH", "x86_64")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
    {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
