//! What is too much for a look is a finding, and neither an abort nor a wait.

use crate::harness::{World, program};
use std::fs;

/// A workflow of one artifact, whose first phase is left when a guard holds.
fn workflow(world: &World, head: &str, artifact: &str, guard: &str) {
    let text = format!(
        "# w\n\n```toml orch\n{head}\n[artifact.plan]\n{artifact}\n[phase.start]\nproduces = [\"plan\"]\n[phase.done]\n\
         terminal = true\n[[rule]]\nid = \"go\"\nfrom = \"start\"\nwhen = \"plan.ready && {guard}\"\nto = \"done\"\n\
         because = \"it is time\"\n```\n"
    );
    world.write("system/workflows/w.md", &text);
    world.write(
        "orch.toml",
        "version = 1\n[[root]]\npath = \"tasks/*\"\nworkflow = \"w\"\n",
    );
}

/// Definitions of which each is the one before, twice.
#[test]
fn a_definition_that_doubles_has_no_value() {
    let world = World::new();
    let mut defines = "[define]\nd0 = \"'x' + task\"\n".to_owned();
    for nth in 1..=40 {
        let before = nth - 1;
        defines.push_str(&format!("d{nth} = \"d{before} + d{before}\"\n"));
    }
    workflow(&world, &defines, "path = \"plan.json\"", "size(d40) > 0");
    world.write("tasks/t/plan.json", "{}");
    world.orch(&["explain", "t"]).says("would take more than");
    world
        .orch(&["workflow", "check", "w"])
        .says("`d14` may contain the values of earlier definitions");
}

#[test]
fn of_many_bad_lines_the_first_are_told() {
    let world = World::new();
    workflow(&world, "", "path = \"plan.jsonl\"", "true");
    world.write("tasks/t/plan.jsonl", "x\n".repeat(100_000));
    let told = world.orch(&["check", "t"]).stdout;
    assert!(told.contains("the lines after it are not read"), "{told}");
    assert!(told.matches("json-syntax").count() == 20, "{told}");
}

#[test]
fn a_schema_that_doubles_is_told() {
    let world = World::new();
    workflow(
        &world,
        "",
        "path = \"plan.json\"\nschema = \"plan\"",
        "true",
    );
    let mut parts = String::new();
    for nth in 0..40 {
        let next = format!("{{\"$ref\": \"#/$defs/d{}\"}}", nth + 1);
        parts.push_str(&format!("\"d{nth}\": {{\"allOf\": [{next}, {next}]}},\n"));
    }
    let schema = format!("{{\"$ref\": \"#/$defs/d0\", \"$defs\": {{{parts}\"d40\": {{}}}}}}");
    world.write("system/schemas/plan.schema.json", &schema);
    world.write("tasks/t/plan.json", "{}");
    for command in [&["workflow", "check", "w"][..], &["check", "t"]] {
        world
            .orch(command)
            .says("the schema applies more than 10000 parts to one value");
    }
}

/// The files of a task together may not take more memory than twice what one may.
#[test]
fn many_dense_files_are_too_many() {
    let world = World::new();
    workflow(&world, "", "path = \"plan/*.jsonl\"", "true");
    for nth in 0..6 {
        world.write(
            &format!("tasks/t/plan/{nth}.jsonl"),
            "{\"a\":1}\n".repeat(100_000),
        );
    }
    world
        .orch(&["check", "t"])
        .says("the files of the task together contain so many values");
}

/// git does not read an attribute file of 100 MiB and more.
#[test]
fn a_sparse_attribute_file_is_not_read() {
    let world = World::new();
    workflow(&world, "", "path = \"plan.json\"", "false");
    world.write("tasks/t/plan.json", "{}");
    let file = fs::File::create(world.path(".gitattributes")).expect("a file");
    file.set_len(1 << 40).expect("a sparse file");
    world.orch(&["status"]).succeeds();
}

/// Each of git's own files in whose place a pipe lies is named at once.
#[test]
fn a_pipe_in_the_place_of_a_file_of_git_is_named() {
    for name in [
        "HEAD",
        "config",
        "index",
        "packed-refs",
        "info/exclude",
        "info/attributes",
    ] {
        let world = World::new();
        workflow(&world, "", "path = \"plan.json\"", "false");
        world.write("tasks/t/plan.json", "{}");
        world.orch(&["new", "t"]).succeeds();
        let file = world.path(&format!(".git/{name}"));
        let _ = fs::remove_file(&file);
        let made = world.command("mkfifo").arg(&file).status();
        assert!(made.expect("mkfifo runs").success(), "{name}");
        for arguments in [&["status"][..], &["next", "t"]] {
            let mut command = world.command("timeout");
            command.args(["60", &program()]).args(arguments);
            let output = command.output().expect("orch runs");
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(
                output.status.code(),
                Some(70),
                "{name} {arguments:?}: {told}"
            );
            assert!(
                told.contains("it is a pipe, a device or a socket"),
                "{name}: {told}"
            );
        }
    }
}

/// A library that stands in front of the allocator, as those that feign a clock or look for leaks do, frees with the
/// program's `free` what it got from the system: both have to be the system's.
#[test]
fn programs_that_wrap_the_allocator_may_start_orch() {
    let world = World::new();
    world.write(
        "wrap.c",
        "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdio.h>\n#include <string.h>\n\
         __attribute__((constructor)) static void begin(void) {\n\
         Dl_info found;\n\
         if (dladdr(dlsym(RTLD_DEFAULT, \"free\"), &found) && !strstr(found.dli_fname, \"libc\"))\n\
         fprintf(stderr, \"free belongs to %s\\n\", found.dli_fname);\n}\n",
    );
    let library = world.path("wrap.so");
    let built = world
        .command("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(world.path("wrap.c"))
        .status();
    assert!(built.expect("cc starts").success());
    let ended = world
        .orch_command(&["--version"])
        .env("LD_PRELOAD", &library)
        .output()
        .expect("orch starts");
    assert!(ended.status.success());
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
}
