//! What git does to the bytes and names of files on their way in and out.

use super::{Row, works};
use crate::harness::{World, executable, started};
use std::fs;

pub const ROWS: [Row; 12] = [
    ("`core.autocrlf`, `text`, `eol`", line_endings),
    ("`core.safecrlf`", safe_line_endings),
    ("`core.ignoreCase`", ignore_case),
    ("`core.precomposeUnicode`", precompose),
    ("`core.fileMode = false`", no_modes),
    ("clean and smudge filters on artifacts", filters),
    ("artifacts in Git LFS or similar", large_files),
    (
        "a filter that matches `state.json` or `transcript.jsonl`",
        own_files_filtered,
    ),
    (
        "`working-tree-encoding` that matches files of tasks",
        other_encoding,
    ),
    ("symbolic link in place of an artifact", linked_artifact),
    ("symbolic link where a task would be", linked_task),
    ("a log that lost events HEAD holds", cut_transcript),
];

#[test]
fn line_endings() {
    for attributes in ["", "* text=auto eol=crlf\n", "* text eol=crlf\n"] {
        let world = World::ready();
        if attributes.is_empty() {
            world.git(&["config", "core.autocrlf", "true"]);
        } else {
            world.write(".gitattributes", attributes);
            world.commit("Line endings");
        }
        works(&world, ".");
        // Check everything out again, so that the converted files lie there.
        for path in world.git(&["ls-files", "tasks/t"]).lines() {
            world.remove(path);
        }
        world.git(&["checkout", "-q", "--", "tasks"]);
        assert!(world.read("tasks/t/transcript.jsonl").contains("\r\n"));
        assert!(world.read("tasks/t/state.json").contains("\r\n"));
        world.orch(&["check"]).succeeds();
        world.plan_review("t", true, 1);
        world
            .orch(&["next", "t"])
            .succeeds()
            .says("plan_review -> codegen");
        assert_eq!(world.dirty(), "", "{attributes}");
        let held = world.git(&["show", "HEAD:tasks/t/transcript.jsonl"]);
        assert!(!held.contains('\r') && held.lines().count() == 3, "{held}");
        assert_eq!(world.git(&["fsck", "--strict"]), "");
    }
}

#[test]
fn safe_line_endings() {
    let world = started("planning");
    world.git(&["config", "core.autocrlf", "input"]);
    world.git(&["config", "core.safecrlf", "true"]);
    world.plan("t", 1);
    let plan = world.read("tasks/t/planning/plan.json");
    world.write("tasks/t/planning/plan.json", plan.replace('\n', "\r\n"));
    let refused = world.git_ended(&["add", "tasks/t/planning/plan.json"]);
    assert_eq!(refused.code, 128, "{refused:?}");
    let head = world.git(&["rev-parse", "HEAD"]);
    world
        .orch(&["next", "t"])
        .ends(70)
        .reports("CRLF would be replaced by LF");
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    world.write("tasks/t/planning/plan.json", plan);
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.dirty(), "");
}

#[test]
fn ignore_case() {
    let world = World::ready();
    world.git(&["config", "core.ignoreCase", "true"]);
    world.orch(&["new", "t"]).succeeds();
    // As git stores it: another name is another file.
    world.write("tasks/t/planning/PLAN.json", "{}");
    world
        .orch(&["suggest", "t"])
        .succeeds()
        .says("planning/plan.json is missing");
    world.remove("tasks/t/planning/PLAN.json");
    world.plan("t", 1);
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.dirty(), "");
    works(
        &{
            let world = World::ready();
            world.git(&["config", "core.ignoreCase", "true"]);
            world
        },
        ".",
    );
}

#[test]
fn precompose() {
    let world = World::ready();
    world.git(&["config", "core.precomposeUnicode", "true"]);
    // The same name, composed and not: two files where the file system keeps them apart.
    for name in ["caf\u{e9}", "cafe\u{301}"] {
        world.orch(&["new", name]).succeeds();
        world.plan(name, 1);
        world
            .orch(&["next", name])
            .succeeds()
            .says("planning -> plan_review");
    }
    assert_eq!(world.dirty(), "");
    assert_eq!(world.git(&["fsck", "--strict"]), "");
    let held = world.git(&[
        "-c",
        "core.quotePath=false",
        "ls-tree",
        "-z",
        "--name-only",
        "HEAD",
        "tasks/",
    ]);
    assert!(
        held.contains("tasks/caf\u{e9}\0") && held.contains("tasks/cafe\u{301}\0"),
        "{held:?}"
    );
}

#[test]
fn no_modes() {
    let world = World::ready();
    world.git(&["config", "core.fileMode", "false"]);
    world.orch(&["new", "t"]).succeeds();
    world.plan("t", 1);
    executable(&world.path("tasks/t/planning/plan.json"));
    world.orch(&["next", "t"]).succeeds();
    assert!(
        world
            .git(&["ls-tree", "HEAD", "tasks/t/planning/"])
            .starts_with("100644 blob")
    );
    assert_eq!(world.dirty(), "");
}

/// A filter that stores capital letters and hands out small ones; needs `.gitattributes`.
fn shouting(world: &World) {
    world.git(&["config", "filter.shout.clean", "tr a-z A-Z"]);
    world.git(&["config", "filter.shout.smudge", "tr A-Z a-z"]);
    world.git(&["config", "filter.shout.required", "true"]);
}

#[test]
fn filters() {
    let world = World::ready();
    shouting(&world);
    world.write(".gitattributes", "*.patch filter=shout\n");
    world.commit("Filter");
    world.orch(&["new", "t"]).succeeds();
    world.walk_to("t", "review");
    assert!(
        world
            .git(&["show", "HEAD:tasks/t/code/diff.patch"])
            .contains("LOGIN.RS")
    );
    assert!(world.read("tasks/t/code/diff.patch").contains("login.rs"));
    assert_eq!(world.dirty(), "");
    let moved = world.git(&["rev-parse", "HEAD:tasks/t/code/diff.patch"]);
    assert!(
        world.read("tasks/t/state.json").contains(moved.trim()),
        "the record names what git stores"
    );
    // A filter that fails is told, and nothing moves.
    world.code_review("t", true, 1);
    world.git(&["config", "filter.shout.clean", "false"]);
    let head = world.git(&["rev-parse", "HEAD"]);
    world
        .orch(&["next", "t"])
        .ends(70)
        .reports("clean filter 'shout' failed");
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    shouting(&world);
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.dirty(), "");
}

#[test]
fn large_files() {
    let world = World::ready();
    let store = world.path("../objects");
    fs::create_dir(&store).expect("made");
    let at = store.display();
    // As Git LFS does it: a pointer is stored, the bytes lie elsewhere.
    let clean = world.path("../clean.sh");
    fs::write(&clean, format!("#!/bin/sh\nt=$(mktemp '{at}/new.XXXXXX'); cat >$t; h=$(sha256sum <$t | cut -c1-64); mv $t '{at}/'$h; printf 'version 1\\noid sha256:%s\\n' $h\n")).expect("written");
    let smudge = world.path("../smudge.sh");
    fs::write(
        &smudge,
        format!("#!/bin/sh\nread v; IFS=: read o h; cat '{at}/'$h\n"),
    )
    .expect("written");
    executable(&clean);
    executable(&smudge);
    world.git(&["config", "filter.large.clean", &clean.to_string_lossy()]);
    world.git(&["config", "filter.large.smudge", &smudge.to_string_lossy()]);
    world.git(&["config", "filter.large.required", "true"]);
    world.write(
        ".gitattributes",
        "tasks/**/code/* filter=large diff=large merge=large -text\n",
    );
    world.commit("Large files");
    world.orch(&["new", "t"]).succeeds();
    world.walk_to("t", "review");
    let pointer = world.git(&["show", "HEAD:tasks/t/code/diff.patch"]);
    assert!(pointer.starts_with("version 1\noid sha256:"), "{pointer}");
    assert_eq!(world.dirty(), "");
    // After a checkout the bytes are there, and judged; where only pointers are, they are what is judged.
    world.remove("tasks/t/code/diff.patch");
    world.git(&["checkout", "-q", "--", "tasks"]);
    assert!(world.read("tasks/t/code/diff.patch").contains("login.rs"));
    world.code_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds().says("review -> test");
    assert_eq!(world.dirty(), "");
    assert_eq!(world.git(&["fsck", "--strict"]), "");
}

#[test]
fn own_files_filtered() {
    let world = World::ready();
    shouting(&world);
    world.write(".gitattributes", "* filter=shout\n");
    world.git(&["add", ".gitattributes"]);
    world.git(&["add", "--renormalize", "."]);
    world.git(&["commit", "-q", "-m", "Filter everything"]);
    let made = world.orch(&["new", "t"]).succeeds();
    assert!(
        made.stderr.contains("own-file-filtered") || made.stdout.contains("own-file-filtered"),
        "{made:?}"
    );
    let finding = world
        .orch(&["check", "t"])
        .ends(1)
        .says("own-file-filtered")
        .says("tasks/t/state.json");
    let line = finding
        .stdout
        .split("end of .gitattributes: ")
        .nth(1)
        .and_then(|rest| rest.lines().next());
    assert_eq!(line, Some("state.json -filter -ident"), "{finding:?}");
    assert_eq!(
        world.dirty(),
        " M tasks/t/state.json\n M tasks/t/transcript.jsonl\n"
    );
    // What is committed is what was sealed, and continues being read.
    let held = world.git(&["show", "HEAD:tasks/t/state.json"]);
    assert_eq!(held, world.read("tasks/t/state.json"));
    // With the lines that it asks for, all is well.
    world.write(
        ".gitattributes",
        "* filter=shout\nstate.json -filter -ident\ntranscript.jsonl -filter -ident\n",
    );
    world.git(&["add", ".gitattributes"]);
    world.git(&["commit", "-q", "-m", "Except the files of orch"]);
    world.orch(&["check", "t"]).succeeds();
    world.plan("t", 1);
    let moved = world.orch(&["next", "t"]).succeeds();
    assert!(!moved.stderr.contains("own-file-filtered"), "{moved:?}");
    assert_eq!(world.dirty(), "");
    // What the filter makes of the settings is no fault of theirs as long as they are as committed.
    world
        .orch(&["rollback", "t", "--to", "planning", "--reason", "no"])
        .succeeds();
    world.write("orch.toml", world.read("orch.toml") + "# more\n");
    world
        .orch(&["rollback", "t", "--reason", "no"])
        .ends(2)
        .reports("in HEAD: unknown key");
}

#[test]
fn other_encoding() {
    let world = World::new();
    world.write(".gitattributes", "*.json working-tree-encoding=UTF-16LE\n");
    world.orch(&["init"]).succeeds();
    // The schemas of orch are UTF-8.
    world.write(
        ".gitattributes",
        "tasks/**/*.json working-tree-encoding=UTF-16LE\n",
    );
    world.commit("Set up orch");
    works(&world, ".");
    world.write(
        "tasks/t/review/code/verdict.json",
        "\u{feff}{\0".to_owned() + "}\0",
    );
    world.git(&["add", "tasks"]);
    // Read from the work tree or from what is staged, it is the same file.
    let bytes = world.git_ended(&["cat-file", "blob", ":tasks/t/review/code/verdict.json"]);
    assert_eq!(bytes.stdout, world.read("tasks/t/review/code/verdict.json"));
}

#[test]
fn linked_artifact() {
    let world = started("planning");
    world.plan("t", 1);
    fs::rename(
        world.path("tasks/t/planning/plan.json"),
        world.path("elsewhere.json"),
    )
    .expect("moved");
    std::os::unix::fs::symlink(
        "../../../elsewhere.json",
        world.path("tasks/t/planning/plan.json"),
    )
    .expect("linked");
    let head = world.git(&["rev-parse", "HEAD"]);
    world
        .orch(&["check", "t"])
        .ends(1)
        .says("git stores the link, not its target");
    world.orch(&["next", "t"]).ends(3);
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
}

#[test]
fn linked_task() {
    let world = started("planning");
    fs::rename(world.path("tasks/t"), world.path("../elsewhere")).expect("moved");
    std::os::unix::fs::symlink("../../elsewhere", world.path("tasks/t")).expect("linked");
    world.write("../elsewhere/planning/plan.json", "{}");
    let (head, state) = (
        world.git(&["rev-parse", "HEAD"]),
        world.read("../elsewhere/state.json"),
    );
    world
        .orch(&["next", "t"])
        .ends(2)
        .reports("there is no task `t`");
    world.orch(&["new", "t"]).ends(2).reports("symbolic link");
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(world.read("../elsewhere/state.json"), state);
}

#[test]
fn cut_transcript() {
    let world = started("codegen");
    let told = world.read("tasks/t/transcript.jsonl");
    let first = told.lines().next().expect("a line");
    world.patch("t", 1);
    let head = world.git(&["rev-parse", "HEAD"]);
    for cut in [
        String::new(),
        format!("{first}\n"),
        told.replacen(first, "", 1),
    ] {
        world.write("tasks/t/transcript.jsonl", &cut);
        world.orch(&["next", "t"]).ends(5).reports("orch recover t");
        assert_eq!(world.git(&["rev-parse", "HEAD"]), head, "{cut}");
    }
    world.git(&["restore", "tasks/t/transcript.jsonl"]);
    world
        .orch(&["next", "t"])
        .succeeds()
        .says("codegen -> review");
    assert_eq!(world.dirty(), "");
}
