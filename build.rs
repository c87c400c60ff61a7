//! How the binary is linked.

#![expect(clippy::disallowed_methods, reason = "this is no part of the program")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

/// Discards what only unwinding reads: the binary of the release profile aborts instead.
const DISCARD: &str =
    "SECTIONS { /DISCARD/ : { *(.eh_frame) *(.eh_frame_hdr) } } INSERT AFTER .text;\n";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is =
        |variable: &str, value: &str| env::var_os(variable).is_some_and(|found| found == value);
    if is("CARGO_CFG_TARGET_ARCH", "x86_64")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
    {
        // A position-independent executable has thousands of addresses to be filled in at each start, which takes
        // longer than a short command does. Libraries, heap and stack stay where the system puts them at random.
        println!("cargo:rustc-link-arg-bins=-no-pie");
        let Some(place) = env::var_os("OUT_DIR").map(PathBuf::from) else {
            return;
        };
        // One shared library less to load at each start.
        if has_static_unwinder() && stand_in_for_unwinder(&place) {
            println!("cargo:rustc-link-search=native={}", place.display());
        }
        if is("PROFILE", "release") {
            for argument in smaller(&place) {
                println!("cargo:rustc-link-arg-bins={argument}");
            }
        }
    }
}

/// The arguments of the linker that make the binary smaller, as far as it knows them.
fn smaller(place: &Path) -> Vec<String> {
    let script = place.join("discard.ld");
    let mut arguments = Vec::new();
    // Functions that consist of the same instructions are kept once.
    for argument in ["-Wl,--icf=all".to_owned(), script.display().to_string()] {
        let tried = [arguments.clone(), vec![argument.clone()]].concat();
        if fs::write(&script, DISCARD).is_ok() && links(place, &tried) {
            arguments.push(argument);
        }
    }
    arguments
}

/// Whether a program that aborts can be linked with these arguments, and works.
fn links(place: &Path, arguments: &[String]) -> bool {
    let (source, program) = (place.join("tried.rs"), place.join("tried"));
    let text = "fn main() { std::thread::spawn(|| std::env::args().count()).join().unwrap(); }\n";
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc"));
    let mut linking = Command::new(compiler);
    linking
        .args(["-Cpanic=abort", "-Copt-level=1", "--edition=2024", "-o"])
        .arg(&program)
        .arg(&source);
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        linking.arg(format!("-Clinker={}", linker.display()));
    }
    linking.args(
        arguments
            .iter()
            .map(|argument| format!("-Clink-arg={argument}")),
    );
    fs::write(&source, text).is_ok()
        && succeeds(&mut linking)
        && succeeds(&mut Command::new(&program))
}

fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|it| it.success())
}

/// Whether the C compiler that links has the unwinder as a static library.
fn has_static_unwinder() -> bool {
    let asked = Command::new("cc")
        .arg("-print-file-name=libgcc_eh.a")
        .output();
    // Where there is none, it prints the name alone.
    asked.is_ok_and(|said| Path::new(String::from_utf8_lossy(&said.stdout).trim()).is_absolute())
}

/// Writes a linker script that stands for the shared library, which the standard library asks for. Returns whether it
/// could.
fn stand_in_for_unwinder(place: &Path) -> bool {
    fs::write(place.join("libgcc_s.so"), "GROUP ( -lgcc_eh -lgcc )\n").is_ok()
}
