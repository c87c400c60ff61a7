//! Patches as git, hg, svn and diff write them are read as `git apply` reads them.
//!
//! `tests/patches` holds what these programs wrote with each of their options, and what is read of it. With `UPDATE=1`
//! the readings are written anew, to be reviewed.

use crate::harness::World;
use crate::model::Chance;
use crate::setting::setting;
use orch_base::RepoPath;
use orch_core::workflow::Format;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/patches")
}

/// What is read of a patch: its data, or the code and the line of what is wrong.
fn reading(bytes: &[u8]) -> Value {
    let path = RepoPath::new("p.patch").expect("valid");
    let result = orch_read::read(Format::Patch, &path, bytes);
    match result.data {
        Some(data) => {
            json!({"files": data["files"], "added": data["added"], "removed": data["removed"]})
        }
        None => {
            let problem = &result.problems[0];
            let line = problem.place.as_ref().and_then(|place| place.line);
            json!({"code": problem.code.as_str(), "line": line})
        }
    }
}

/// What git would apply of a patch whose names have so many components too many: its files, and the sums of lines.
/// `None` if git refuses it.
fn applied(world: &World, bytes: &[u8], strip: usize) -> Option<(BTreeSet<String>, u64, u64)> {
    let mut child = world
        .command("git")
        .args(["apply", "--numstat", "-z", &format!("-p{strip}")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("git starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(bytes).expect("git reads");
    drop(stdin);
    let ended = child.wait_with_output().expect("git ends");
    if !ended.status.success() {
        return None;
    }
    let mut files = BTreeSet::new();
    let mut added = 0;
    let mut removed = 0;
    for row in String::from_utf8_lossy(&ended.stdout).split_terminator('\0') {
        let mut fields = row.splitn(3, '\t');
        added += fields.next()?.parse::<u64>().unwrap_or_default();
        removed += fields.next()?.parse::<u64>().unwrap_or_default();
        files.insert(fields.next()?.to_owned());
    }
    Some((files, added, removed))
}

fn names(reading: &Value) -> BTreeSet<String> {
    let files = reading["files"].as_array().cloned().unwrap_or_default();
    files
        .iter()
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect()
}

#[test]
fn patches_of_real_programs_are_read() {
    let mut names: Vec<String> = fs::read_dir(directory())
        .expect("a directory")
        .filter_map(|entry| entry.expect("an entry").file_name().into_string().ok())
        .filter(|name| name.ends_with(".patch"))
        .collect();
    names.sort();
    assert!(names.len() > 140, "{}", names.len());
    let mut found = String::new();
    for name in &names {
        let bytes = fs::read(directory().join(name)).expect("a patch");
        found.push_str(&format!("{name} {}\n", reading(&bytes)));
    }
    let kept = directory().join("readings.txt");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&kept, &found).expect("written");
    }
    let expected = fs::read_to_string(&kept).expect("the readings");
    for (found, expected) in found.lines().zip(expected.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.lines().count(), expected.lines().count());
}

/// Of which git says another thing, with the reason.
const APART: [(&str, &str); 2] = [
    (
        "no_index_files",
        "of two names git applies the second, and the patch names both",
    ),
    (
        "no_index_abs",
        "of two names git applies the second, and the patch names both",
    ),
];

/// Each patch that git applies names the files that git would change, and so many lines.
#[test]
fn git_applies_what_is_read() {
    let world = World::new();
    let mut compared = 0;
    for entry in fs::read_dir(directory()).expect("a directory") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if path
            .extension()
            .is_none_or(|extension| extension != "patch")
        {
            continue;
        }
        let bytes = fs::read(&path).expect("a patch");
        let strip = match name.as_str() {
            "src_dst_two" => 2,
            "svn_git" => 1,
            _ if name.contains("noprefix") || name.starts_with("svn") => 0,
            "gnu_same_label" => 0,
            _ => 1,
        };
        let Some((files, added, removed)) = applied(&world, &bytes, strip) else {
            continue;
        };
        compared += 1;
        let found = reading(&bytes);
        let sums = (found["added"].as_u64(), found["removed"].as_u64());
        assert_eq!(sums, (Some(added), Some(removed)), "{name}: {found}");
        if APART.iter().any(|(apart, _)| *apart == name) {
            continue;
        }
        let read = names(&found);
        assert!(read.is_superset(&files), "{name}: {files:?} {found}");
    }
    assert!(compared > 110, "{compared}");
}

const NAMES: [&str; 12] = [
    "a", "b", "a b", "src", "x.rs", "old", "new", "ö", "t\tab", "q\"uote", "sp ", "w",
];

/// A path of one to three components.
fn some_path(chance: &mut Chance) -> String {
    let depth = chance.below(3);
    let mut path = String::new();
    for _ in 0..depth {
        path.push_str(&format!("{}.d/", chance.pick(&NAMES)));
    }
    let name: &str = chance.pick::<&str>(&NAMES);
    path + name
}

fn some_content(chance: &mut Chance) -> Vec<u8> {
    let mut content = Vec::new();
    let binary = chance.below(8) == 0;
    if binary {
        content.push(0);
    }
    for _ in 0..chance.below(12) {
        let line: &[u8] = match chance.below(8) {
            0 => b"-- x",
            1 => b"++ y",
            2 => b"caf\xe9",
            3 => b"crlf\r",
            4 => b"",
            5 => b"@@ -1 +1 @@",
            6 => b"diff --git a/x b/x",
            _ => b"line",
        };
        content.extend_from_slice(line);
        content.extend_from_slice(format!("{}\n", chance.below(4)).as_bytes());
    }
    if chance.below(4) == 0 {
        content.pop();
    }
    content
}

const OPTIONS: [&[&str]; 15] = [
    &[],
    &["-c", "diff.mnemonicPrefix=true"],
    &["-c", "diff.noprefix=true"],
    &["-c", "diff.srcPrefix=x/", "-c", "diff.dstPrefix=y/"],
    &["-c", "core.quotePath=false"],
    &["-c", "diff.renames=false"],
    &["-c", "diff.renames=copies"],
    &["-c", "diff.context=0"],
    &["-c", "diff.noprefix=true", "-c", "diff.renames=copies"],
    &[
        "-c",
        "diff.mnemonicPrefix=true",
        "-c",
        "diff.renames=copies",
    ],
    &["--binary"],
    &["--find-copies-harder"],
    &["-B"],
    &["-R"],
    &["--no-prefix", "--full-index"],
];

/// Lets git compare two trees of random files, with random options: the patch names the files that differ.
fn compare(world: &World, chance: &mut Chance, seed: u64) {
    let root = world.root();
    let mut paths: Vec<String> = Vec::new();
    for side in 0..2 {
        for _ in 0..6 {
            let path = some_path(chance);
            let full = root.join(&path);
            // What is a file may have to be a directory.
            if let Some(above) = full.parent()
                && fs::create_dir_all(above).is_ok()
                && !full.is_dir()
            {
                fs::write(&full, some_content(chance)).expect("written");
                paths.push(path);
            }
        }
        if side == 1 {
            for _ in 0..3 {
                let path = root.join(chance.pick(&paths));
                let other = root.join(format!("{}.moved", chance.pick(&paths)));
                match chance.below(4) {
                    0 => _ = fs::remove_file(&path),
                    1 => _ = fs::rename(&path, other),
                    2 => _ = fs::copy(&path, other),
                    _ => {
                        let name = path.to_string_lossy().into_owned();
                        world.git_ended(&["add", "-A"]);
                        world.git_ended(&["update-index", "--chmod=+x", "--", &name]);
                    }
                }
            }
        }
        world.git(&["-c", "core.fileMode=false", "add", "-A"]);
        world.git(&["commit", "-q", "--allow-empty", "-m", "side"]);
    }
    let options = *chance.pick(&OPTIONS);
    let (global, local): (Vec<&str>, Vec<&str>) = if options.first() == Some(&"-c") {
        (options.to_vec(), Vec::new())
    } else {
        (Vec::new(), options.to_vec())
    };
    let output = |format: &[&str]| {
        let mut command = world.command("git");
        // `--binary` asks for the patch, too.
        let local = local
            .iter()
            .filter(|option| **option != "--binary" || format == ["--patch"]);
        command
            .args(&global)
            .args(["diff"])
            .args(local)
            .args(format);
        command.args(["HEAD~1", "HEAD"]);
        command.output().expect("git runs").stdout
    };
    let patch = output(&["--patch"]);
    if patch.is_empty() {
        return;
    }
    let found = reading(&patch);
    let told = || {
        format!(
            "seed {seed}, {options:?}: {found}\n{}",
            String::from_utf8_lossy(&patch)
        )
    };
    let states = String::from_utf8(output(&["--name-status", "-z"])).expect("UTF-8");
    let mut fields = states.split_terminator('\0');
    let mut files = BTreeSet::new();
    while let Some(state) = fields.next() {
        let name = fields.next().expect("a name");
        // A copy leaves its source as it is.
        if !state.starts_with('C') {
            files.insert(name.to_owned());
        }
        if state.starts_with(['C', 'R']) {
            files.insert(fields.next().expect("the other name").to_owned());
        }
    }
    assert_eq!(names(&found), files, "{}", told());
    let sums = String::from_utf8(output(&["--numstat"])).expect("UTF-8");
    let sum = |nth: usize| -> u64 {
        let counts = sums.lines().filter_map(|row| row.split('\t').nth(nth));
        counts.filter_map(|count| count.parse::<u64>().ok()).sum()
    };
    assert_eq!(
        (found["added"].as_u64(), found["removed"].as_u64()),
        (Some(sum(0)), Some(sum(1))),
        "{}",
        told()
    );
}

/// `ORCH_PATCHES` and `ORCH_PATCH_SEED` let more and other trees be compared.
#[test]
fn random_trees_are_read_as_git_compares_them() {
    let number = |name: &str| setting(name).and_then(|text| text.parse().ok());
    let first: u64 = number("ORCH_PATCH_SEED").unwrap_or(1);
    let many: u64 = number("ORCH_PATCHES").unwrap_or(24);
    let world = World::new();
    for seed in first..first + many {
        compare(&world, &mut Chance::new(seed), seed);
    }
}
