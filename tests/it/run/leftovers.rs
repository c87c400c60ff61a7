//! What outlives an executor: it is asked to end, then ended, and nobody else is.

use super::control::executor_group;
use super::{GOOD, Loop, processes_in};
use crate::harness::{eventually, skipped};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// A script that leaves its group and its parent behind, and says when it is asked to end.
const DAEMON: &str = r#"
cd tasks/..
trap 'echo asked > asked; exit 0' TERM
echo $$ > daemon
while true; do sleep 0.02; done
"#;

/// A loop whose `polish` starts that daemon, then does what the test wants.
fn with_daemon(then: &str) -> Loop {
    let starts = "  polish)\n    setsid sh daemon.sh </dev/null >/dev/null 2>&1 &\n    while [ ! -e daemon ]; do sleep 0.02; done\n";
    let task = Loop::new(&GOOD.replace("  polish)\n", &format!("{starts}    {then}\n")));
    task.world.write("daemon.sh", DAEMON);
    task.world.write(".gitignore", "asked\ndaemon\nbegan\n");
    task.world.commit("a daemon");
    task
}

/// A run that was killed in `polish`, with its executor: only the daemon is left.
fn killed_in_polish() -> Loop {
    let task = with_daemon("[ -e began ] || { touch began; sleep 60; }");
    let mut child = task.world.orch_spawn(&["run", "t", "--auto"]);
    eventually("polish has begun", || task.world.path("began").exists());
    let group = executor_group(&task.world);
    child.kill().expect("killed");
    child.wait().expect("ends");
    kill(&format!("-{group}"));
    task
}

fn kill(pid: &str) {
    #[expect(
        clippy::disallowed_methods,
        reason = "tests send the signals that users send"
    )]
    let sent = std::process::Command::new("kill")
        .args(["-s", "KILL", "--", pid])
        .status();
    assert!(sent.expect("kill runs").success());
}

#[test]
fn what_has_left_the_group_is_asked_before_it_is_ended() {
    let task = with_daemon("");
    task.run().succeeds().reports("left processes behind");
    assert_eq!(task.world.read("asked"), "asked\n");
    task.is_clean();
}

#[test]
fn what_a_killed_run_left_outside_of_the_group_is_ended_too() {
    let task = killed_in_polish();
    assert!(task.world.lives("daemon"));
    let first = task.world.read("daemon");
    task.world.remove("daemon");
    task.run().succeeds().reports("was still running");
    task.world.write("daemon", first);
    assert!(!task.world.lives("daemon"));
    task.is_clean();
}

#[test]
fn the_executor_of_a_killed_run_ends_before_its_lease() {
    let task = with_daemon("[ -e began ] || { touch began; sleep 60; }");
    let settings = task.world.read("orch.toml");
    task.world.write(
        "orch.toml",
        format!("{settings}\n[leases]\nlength = \"10s\"\n"),
    );
    task.world.commit("Short leases");
    let mut child = task.world.orch_spawn(&["run", "t", "--auto"]);
    eventually("polish has begun", || task.world.path("began").exists());
    child.kill().expect("killed");
    child.wait().expect("ends");
    eventually("nothing runs", || {
        processes_in(&task.world.root()).is_empty()
    });
    assert_eq!(task.world.read("asked"), "asked\n");
    task.run().succeeds();
    task.is_clean();
}

#[test]
fn a_dead_executor_is_not_waited_for() {
    let task = killed_in_polish();
    kill(task.world.read("daemon").trim());
    eventually("nothing runs", || {
        processes_in(&task.world.root()).is_empty()
    });
    // Whoever has to lay the dead to rest may take its time.
    let ended = task.run().succeeds();
    assert!(
        !ended.stderr.contains("was still running"),
        "{}",
        ended.stderr
    );
    task.is_clean();
}

/// After a commit, git starts its maintenance, which by default continues in a process of its own.
#[test]
fn git_does_its_maintenance_before_a_commit_of_an_executor_ends() {
    let commits = "  polish)\n    git commit -q --allow-empty -m work\n    git config --get-regexp autodetach > ../said\n";
    let task = Loop::new(&GOOD.replace("  polish)\n", commits));
    let ended = task.run().succeeds();
    assert!(
        !ended.stderr.contains("left processes behind"),
        "{}",
        ended.stderr
    );
    assert_eq!(
        task.world.git(&["log", "--format=%s", "--grep=^work$"]),
        "work\n"
    );
    assert_eq!(
        task.world.read("../said"),
        "maintenance.autodetach false\ngc.autodetach false\n"
    );
    task.is_clean();
}

#[test]
fn what_the_recording_of_a_step_starts_is_left_alone() {
    let task = Loop::new(GOOD);
    let world = &task.world;
    let signer = world.path("../signer.sh");
    let agent = world.path("../agent");
    let script = format!(
        "#!/bin/sh\ncat > /dev/null\n[ -e {agent} ] || {{ cd /; setsid sleep 600 </dev/null >/dev/null 2>&1 & echo $! > {agent}; }}\n\
         printf '\\n[GNUPG:] SIG_CREATED \\n' >&2\nprintf -- '-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n'\n",
        agent = agent.display()
    );
    fs::write(&signer, script).expect("written");
    fs::set_permissions(&signer, fs::Permissions::from_mode(0o755)).expect("executable");
    world.git(&["config", "gpg.program", &signer.to_string_lossy()]);
    world.git(&["config", "commit.gpgSign", "true"]);
    let ended = task.run().succeeds();
    assert!(
        !ended.stderr.contains("left processes behind"),
        "{}",
        ended.stderr
    );
    let pid = fs::read_to_string(&agent).expect("it was started");
    assert!(
        Path::new(&format!("/proc/{}", pid.trim())).exists(),
        "it was ended"
    );
    kill(pid.trim());
    assert_eq!(world.dirty(), "");
}

/// Where the control group of version 2 of this process may be.
fn own_groups() -> [PathBuf; 2] {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = groups
        .lines()
        .find_map(|line| line.strip_prefix("0::/"))
        .unwrap_or("..")
        .to_owned();
    ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(|mount| Path::new(mount).join(&own))
}

/// Whether the system lets this process make control groups of version 2.
fn has_control_groups() -> bool {
    own_groups().iter().any(|own| {
        let probe = own.join(format!("probe-{}", std::process::id()));
        own.join("cgroup.procs").exists()
            && fs::create_dir(&probe).is_ok()
            && fs::remove_dir(&probe).is_ok()
    })
}

/// The control groups that a process of `orch` has made and left.
pub fn left_groups(process: u32) -> Vec<String> {
    let entries = own_groups()
        .into_iter()
        .filter_map(|own| fs::read_dir(own).ok())
        .flatten()
        .flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names
        .filter(|name| name.starts_with(&format!("orch-{process}-")))
        .collect()
}

/// Each link of the chain has a session and a parent that is gone, and lives for less time than it takes to find it. The
/// chain ends by itself if nobody ends it, and where its directory is gone.
const CHAIN: &str = r#"
use POSIX;
$SIG{TERM} = 'IGNORE';
open(my $links, '>>', '../links');
for (my $link = 0; $link < 20000 && -e '../links'; $link++) {
  exit if fork;
  POSIX::setsid();
  select(undef, undef, undef, 0.001);
  syswrite($links, 'x') if $link % 10 == 0;
}
"#;

#[test]
fn a_chain_of_processes_that_nobody_could_find_in_time_is_ended_at_once() {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|place| place.join("perl").exists()) {
        return skipped("perl is missing, so no chain is fast enough");
    }
    if !has_control_groups() {
        return skipped("this process may not make control groups");
    }
    let task = Loop::new(&GOOD.replace(
        "  polish)\n",
        "  polish)\n    perl chain.pl\n    while [ $(wc -c < ../links) -lt 5 ]; do sleep 0.02; done\n",
    ));
    task.world.write("chain.pl", CHAIN);
    task.world.commit("a chain");
    task.run().succeeds().reports("left processes behind");
    let links = || {
        fs::metadata(task.world.path("../links"))
            .expect("the chain began")
            .len()
    };
    let before = links();
    sleep(Duration::from_millis(300));
    let after = links();
    fs::remove_file(task.world.path("../links")).expect("removed");
    assert_eq!(before, after, "the chain continues");
    task.is_clean();
}

/// Begins in the control group of the executor, and writes down where that is.
const IN_GROUP: &str = r#"
    own=$(sed -n 's/^0:://p' /proc/self/cgroup)
    case $own in */orch-*) ;; *) exit 1 ;; esac
    [ -e "/sys/fs/cgroup$own/cgroup.procs" ] && own=/sys/fs/cgroup$own || own=/sys/fs/cgroup/unified$own
    echo "$own" > ../group
    mkdir -p "$own/a/b"
    setsid sh -c "echo \$\$ > $own/a/b/cgroup.procs; echo \$\$ > ../daemon; trap '' TERM; while :; do sleep 600; done" \
      </dev/null >/dev/null 2>&1 &
    while [ ! -s ../daemon ]; do sleep 0.01; done
"#;

/// What an executor does with groups below its own, in which a process of it lives.
const GROUPS: [(&str, &str); 4] = [
    ("it makes them", ""),
    ("it freezes one", "echo 1 > \"$own/a/cgroup.freeze\""),
    (
        "it freezes itself",
        "echo 1 > \"$own/cgroup.freeze\"; sleep 600",
    ),
    (
        "it makes very many",
        "for n in $(seq 300); do mkdir -p \"$own/$n/x/y/z\"; done",
    ),
];

#[test]
fn groups_below_the_one_of_an_executor_hide_nothing_and_do_not_stay() {
    if !has_control_groups() {
        return skipped("this process may not make control groups");
    }
    for (what, then) in GROUPS {
        let task =
            Loop::new(&GOOD.replace("  polish)\n", &format!("  polish)\n{IN_GROUP}    {then}\n")));
        let path = "system/workflows/loop.md";
        task.world.write(
            path,
            task.world
                .read(path)
                .replace("timeout = \"10s\"", "timeout = \"3s\""),
        );
        task.world.commit("a short time");
        let ended = task.run();
        assert!(
            ended.stderr.contains("left processes behind") || ended.code != 0,
            "{what}: {ended:?}"
        );
        assert!(task.world.path("../group").exists(), "{what}: {ended:?}");
        let group = task.world.read("../group");
        assert!(!task.world.lives("../daemon"), "{what}: {ended:?}");
        assert!(!Path::new(group.trim()).exists(), "{what}: {group} stays");
    }
}
