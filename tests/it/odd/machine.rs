//! What the machine lacks or refuses: git itself, room, the right to write, the right owner.

use super::{Row, sound, works_by};
use crate::harness::{Ended, World, skipped, started};
use std::fs;

pub const ROWS: [Row; 5] = [
    ("no repository at all", outside_git),
    ("no `git` program", no_git),
    ("owned by another user", foreign_owner),
    ("read-only file system", read_only),
    ("full disk", full_disk),
];

#[test]
fn outside_git() {
    let world = World::without_git();
    let note =
        "note[no-repository]: not a git repository: transitions are applied but not committed";
    world
        .orch(&["status"])
        .succeeds()
        .says("There are no tasks yet.")
        .reports(note);
    works_by(&world, ".", |arguments| world.orch(arguments));
    world
        .orch(&["status"])
        .succeeds()
        .says(note)
        .says("plan_review");
    world.plan_review("t", true, 1);
    world
        .orch(&["next", "t", "--dry-run"])
        .succeeds()
        .reports(note);
    let moved = world.orch_json(&["next", "t"]);
    assert_eq!(moved["diagnostics"][0]["code"], "no-repository");
    assert_eq!(moved["transitions"][0]["commit"], serde_json::Value::Null);
    assert_eq!(
        world.orch_json(&["status"])["diagnostics"][0]["code"],
        "no-repository"
    );
    world
        .orch(&["watch", "--once"])
        .succeeds()
        .says("not committed");
    // From here on it is one, and what was done is adopted.
    world.git(&["init", "-q", "-b", "main"]);
    world.orch(&["new", "t"]).succeeds();
    let status = world.orch(&["status"]).succeeds();
    assert!(
        !format!("{status:?}").contains("no-repository"),
        "{status:?}"
    );
}

#[test]
fn no_git() {
    let world = started("planning");
    world.plan("t", 1);
    let orch = |arguments: &[&str]| -> Ended {
        let mut command = world.orch_command(arguments);
        command.env("PATH", world.path("../home"));
        world.end(command.output().expect("orch runs"))
    };
    for command in ["suggest", "explain", "status", "check"] {
        orch(&[command]).succeeds();
    }
    // Signing is git's, whatever else may do without it.
    world.git(&["config", "commit.gpgSign", "true"]);
    let refused = orch(&["next", "t"])
        .ends(70)
        .reports("`git` is not on the PATH");
    assert!(
        refused.stderr.contains("hint: install git") && refused.stderr.contains("commit = \"off\"")
    );
    assert!(
        orch(&["next", "t", "--json"])
            .stdout
            .contains("\"code\":\"no-git\"")
    );
    world.git(&["config", "commit.gpgSign", "false"]);
    assert_eq!(world.phase("t"), "planning");
    world.orch(&["next", "t"]).succeeds();
    sound(&world, ".");
}

#[test]
fn foreign_owner() {
    let world = started("planning");
    world.plan("t", 1);
    let before = (
        world.git(&["rev-parse", "HEAD"]),
        world.read("tasks/t/state.json"),
    );
    let own_all = |user: u32| {
        let mut open = vec![world.root()];
        while let Some(path) = open.pop() {
            std::os::unix::fs::lchown(&path, Some(user), Some(user))?;
            if path.symlink_metadata()?.is_dir() {
                open.extend(fs::read_dir(&path)?.flatten().map(|entry| entry.path()));
            }
        }
        Ok::<(), std::io::Error>(())
    };
    let me = std::os::unix::fs::MetadataExt::uid(&fs::metadata(world.root()).expect("there"));
    if own_all(65534).is_err() {
        skipped("only root can give files away");
        return;
    }
    let config = world.path("../gitconfig");
    let orch = |arguments: &[&str]| {
        let mut command = world.orch_command(arguments);
        command.env("GIT_CONFIG_GLOBAL", &config);
        world.end(command.output().expect("orch runs"))
    };
    for arguments in [
        &["next", "t"][..],
        &["-C", "tasks/t", "suggest"],
        &["status"],
    ] {
        let refused = orch(arguments).ends(2).reports("belongs to another user");
        // The command that the hint names is the one that helps, from wherever it was typed.
        assert!(
            refused
                .stderr
                .contains("hint: git config --global --add safe.directory [ROOT]\n"),
            "{refused:?}"
        );
    }
    let root = world.root().display().to_string();
    let above = world
        .root()
        .parent()
        .expect("a parent")
        .display()
        .to_string();
    // What git takes, and in the order in which it takes it.
    for (is_safe, lines) in [
        (true, vec!["*".to_owned()]),
        (true, vec![format!("{above}/*")]),
        (true, vec![format!("%(prefix)/{root}")]),
        (true, vec![root.clone()]),
        (false, vec![root.clone(), String::new()]),
        (false, vec![format!("{root}/*")]),
        (false, vec![above.clone()]),
        (true, vec![String::new(), root.clone()]),
    ] {
        let lines: String = lines
            .iter()
            .map(|line| format!("\tdirectory = {line}\n"))
            .collect();
        fs::write(&config, format!("[safe]\n{lines}")).expect("written");
        let mut git = world.command("git");
        git.env("GIT_CONFIG_GLOBAL", &config).arg("status");
        let of_git = git.output().expect("git runs").status.success();
        let shown = orch(&["status"]);
        assert_eq!(
            (shown.code == 0, of_git),
            (is_safe, is_safe),
            "{lines} {shown:?}"
        );
    }
    // The command line counts, and the settings of the repository itself do not.
    fs::write(&config, "").expect("written");
    let mut command = world.orch_command(&["status"]);
    command.env("GIT_CONFIG_GLOBAL", &config).envs([
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "safe.directory"),
        ("GIT_CONFIG_VALUE_0", &root),
    ]);
    world.end(command.output().expect("orch runs")).succeeds();
    let own = world.path(".git/config");
    let settings = fs::read_to_string(&own).expect("settings");
    fs::write(&own, format!("{settings}[safe]\n\tdirectory = *\n")).expect("written");
    orch(&["status"]).ends(2);
    fs::write(&own, settings).expect("written");
    fs::write(&config, format!("[safe]\n\tdirectory = {above}/*\n")).expect("written");
    orch(&["status"]).succeeds().says("planning");
    assert_eq!(world.read("tasks/t/state.json"), before.1);
    orch(&["next", "t"]).succeeds();
    own_all(me).expect("given back");
    sound(&world, ".");
    assert_eq!(world.git(&["rev-parse", "HEAD~1"]), before.0);
}

#[test]
fn a_git_directory_that_cannot_be_read_is_no_missing_one() {
    use std::os::unix::fs::PermissionsExt;
    let world = started("planning");
    let git = world.path(".git");
    let allow = |mode| fs::set_permissions(&git, fs::Permissions::from_mode(mode)).expect("set");
    // Root reads everything, unless it gives the capabilities away.
    let caps = "-dac_override,-dac_read_search";
    let refused = [
        "--bounding-set",
        caps,
        "--inh-caps",
        caps,
        env!("CARGO_BIN_EXE_orch"),
    ];
    let orch = |arguments: &[&str]| {
        let mut command = world.command("setpriv");
        command.args(refused).args(arguments);
        command.output().ok().map(|output| world.end(output))
    };
    for mode in [0o000, 0o600] {
        allow(mode);
        let is_root = git.read_dir().is_ok() && git.join("HEAD").exists();
        let status = if is_root {
            orch(&["status"])
        } else {
            Some(world.orch(&["status"]))
        };
        let new = if is_root {
            orch(&["new", "u"])
        } else {
            Some(world.orch(&["new", "u"]))
        };
        allow(0o755);
        let (Some(status), Some(new)) = (status, new) else {
            return skipped("there is no setpriv");
        };
        for ended in [status, new] {
            ended
                .ends(70)
                .reports(".git")
                .reports("Permission denied")
                .reports("check its owner");
        }
        assert!(!world.path("tasks/u").exists());
    }
    world.orch(&["status"]).succeeds();
}

#[test]
fn a_damaged_repository_is_told_and_nothing_moves() {
    let world = started("planning");
    world.plan("t", 1);
    let record = world.read("tasks/t/state.json");
    let head = world.read(".git/HEAD");
    world.remove(".git/HEAD");
    for arguments in [
        &["next", "t"][..],
        &["suggest", "t"],
        &["next", "t", "--override", "because"],
    ] {
        world
            .orch(arguments)
            .ends(70)
            .reports(".git/HEAD: No such file");
    }
    assert_eq!(world.read("tasks/t/state.json"), record);
    world.write(".git/HEAD", &head);
    let commit = world.read(".git/refs/heads/main");
    world.write(".git/refs/heads/main", "garbage\n");
    for arguments in [
        &["suggest", "t", "--json"][..],
        &["status", "--json"],
        &["explain", "t"],
        &["check"],
        &["next", "t"],
    ] {
        world.orch(arguments).ends(70);
    }
    assert_eq!(world.read("tasks/t/state.json"), record);
    world.write(".git/refs/heads/main", &commit);
    world.orch(&["next", "t"]).succeeds();
}

#[test]
fn settings_that_the_machine_fails_to_read_are_a_fault() {
    use std::os::unix::fs::symlink;
    // The kernel reports an I/O error for the first page of a process.
    let memory = "/proc/self/mem";
    for file in ["orch.toml", "system/workflows/global-state-machine.md"] {
        let world = World::ready();
        let text = world.read(file);
        world.remove(file);
        symlink(memory, world.path(file)).expect("a link");
        for command in ["suggest", "status"] {
            world
                .orch(&[command])
                .ends(70)
                .reports(&format!("cannot read {file}: Input/output"));
            assert_eq!(world.orch_json(&[command])["error"]["code"], "io");
        }
        world.remove(file);
        // What the user can mend at the path stays a finding.
        world.write(&format!("{file}/x"), &text);
        world.orch(&["suggest"]).ends(2).reports(file);
        let error = &world.orch_json(&["suggest"])["error"];
        assert!(
            error["code"]
                .as_str()
                .is_some_and(|code| code.ends_with("unreadable")),
            "{error}"
        );
    }
}

#[test]
fn init_writes_through_no_link() {
    use std::os::unix::fs::symlink;
    let world = World::ready();
    fs::remove_dir_all(world.path("system")).expect("removed");
    fs::create_dir(world.path("../out")).expect("a directory");
    symlink("../out", world.path("system")).expect("a link");
    world
        .orch(&["init"])
        .ends(2)
        .reports("error: system is a symbolic link");
    assert_eq!(world.path("../out").read_dir().expect("listed").count(), 0);
    world.orch(&["init", "--no-system"]).succeeds();
    world.remove("system");
    world.orch(&["init"]).succeeds();
    assert!(
        world
            .path("system/workflows/global-state-machine.md")
            .is_file()
    );
}

/// Runs a shell script where it may mount; `None` where nobody may.
fn apart(world: &World, script: &str) -> Option<Ended> {
    let mut probe = world.command("unshare");
    probe.args(["-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]);
    if !probe.output().is_ok_and(|output| output.status.success()) {
        skipped("this machine lets nobody mount");
        return None;
    }
    let mut command = world.command("unshare");
    command
        .args(["-rm", "sh", "-c", script])
        .env("ORCH", env!("CARGO_BIN_EXE_orch"));
    Some(world.end(command.output().expect("a shell")))
}

#[test]
fn read_only() {
    let world = started("planning");
    world.plan("t", 1);
    let seen = world.git(&["status", "--porcelain", "-uall"]);
    let script = r#"
        mount --bind . . && mount -o remount,bind,ro . && cd "$PWD" || exit 99
        for command in suggest status explain check; do "$ORCH" $command >/dev/null || exit 98; done
        "$ORCH" new u; echo "code $?"
        "$ORCH" next t; echo "code $?"
        "$ORCH" watch --once; echo "code $?"
        "$ORCH" doctor; echo "ill $?"
    "#;
    let Some(ended) = apart(&world, script) else {
        return;
    };
    let ended = ended
        .succeeds()
        .says("hint: the file system is read-only; so is `.git` in the sandbox of an agent program")
        .says("ill 1");
    assert!(ended.stdout.contains("[io]"), "{ended:?}");
    assert_eq!(ended.stdout.matches("code 70").count(), 3, "{ended:?}");
    assert_eq!(world.git(&["status", "--porcelain", "-uall"]), seen);
    world.orch(&["next", "t"]).succeeds();
    sound(&world, ".");
}

#[test]
fn full_disk() {
    let world = started("planning");
    world.plan("t", 1);
    // With ever more room left, the disk is full ever later, at last after everything is written.
    let script = r#"
        mkdir ../small && mount -t tmpfs -o size=4m tmpfs ../small || exit 99
        for room in 0 4 8 12 16 20 24 28 32 36 40 44 48 52 56 60 64 72 80 96 128; do
            rm -rf ../small/* && cp -a . ../small/repo && cd ../small/repo || exit 98
            git status >/dev/null; head=$(git rev-parse HEAD); state=$(cat tasks/t/state.json)
            dd if=/dev/zero of=../room bs=1k count=$room 2>/dev/null; dd if=/dev/zero of=../rest bs=4k 2>/dev/null
            rm ../room
            said=$("$ORCH" next t 2>&1); code=$?
            if [ $code = 70 ]; then
                case $said in *"disk is full"*) ;; *) echo "$room: unclear: $said";; esac
                [ "$head" = "$(git rev-parse HEAD)" ] || echo "$room: it moved and failed"
                [ "$state" = "$(cat tasks/t/state.json)" ] || echo "$room: the state changed"
            elif [ $code != 0 ]; then echo "$room: code $code: $said"; fi
            echo "ended $code"
            dd if=/dev/zero of=../more bs=4k 2>/dev/null
            said=$("$ORCH" doctor)
            case $said in *"[io]"*) ;; *) echo "$room: doctor: $said";; esac
            rm ../rest ../more
            "$ORCH" next t --expect plan_review >/dev/null 2>&1 || echo "$room: it does not go on"
            [ -z "$(git status --porcelain)" ] || echo "$room: $(git status --porcelain)"
            [ -z "$(git fsck --strict --no-dangling 2>&1)" ] || echo "$room: $(git fsck --strict 2>&1)"
            [ "$(git log --format=%s "$head"..)" = "orch(t): planning -> plan_review" ] || echo "$room: $(git log --format=%s)"
            [ "$(wc -l <tasks/t/transcript.jsonl)" = 2 ] || echo "$room: the transcript"
            cd "$OLDPWD"
        done
    "#;
    let Some(ended) = apart(&world, script) else {
        return;
    };
    let ended = ended.succeeds();
    let wrong: Vec<&str> = ended
        .stdout
        .lines()
        .filter(|line| !line.starts_with("ended "))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(
        ended.stdout.contains("ended 70") && ended.stdout.contains("ended 0"),
        "{ended:?}"
    );
}
