//! How the binary is linked.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |variable: &str, value: &str| env::var_os(variable).is_some_and(|found| found == value);
    if is("CARGO_CFG_TARGET_ARCH", "x86_64")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
    {
        // A position-independent executable has thousands of addresses to be filled in at each start, which takes
        // longer than a short command does. Libraries, heap and stack stay where the system puts them at random.
        println!("cargo:rustc-link-arg-bins=-no-pie");
        // One shared library less to load at each start.
        if has_static_unwinder()
            && let Some(place) = env::var_os("OUT_DIR").map(PathBuf::from)
            && stand_in_for_unwinder(&place)
        {
            println!("cargo:rustc-link-search=native={}", place.display());
        }
    }
}

/// Whether the C compiler that links has the unwinder as a static library.
fn has_static_unwinder() -> bool {
    #[expect(clippy::disallowed_methods, reason = "this is no part of the program")]
    let asked = Command::new("cc").arg("-print-file-name=libgcc_eh.a").output();
    // Where there is none, it prints the name alone.
    asked.is_ok_and(|said| Path::new(String::from_utf8_lossy(&said.stdout).trim()).is_absolute())
}

/// Writes a linker script that stands for the shared library, which the standard library asks for. Returns whether it
/// could.
fn stand_in_for_unwinder(place: &Path) -> bool {
    fs::write(place.join("libgcc_s.so"), "GROUP ( -lgcc_eh -lgcc )\n").is_ok()
}
