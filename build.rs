//! How the binary is linked.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let target = ["ARCH", "OS", "ENV"]
        .map(|part| env::var_os(format!("CARGO_CFG_TARGET_{part}")).unwrap_or_default());
    if target == ["x86_64", "linux", "gnu"] {
        // A position-independent executable has thousands of addresses to be filled in at each start, which takes
        // longer than a short command does. Libraries, heap and stack stay where the system puts them at random.
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
