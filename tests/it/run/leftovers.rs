//! What outlives an executor: it is asked to end, then ended, and nobody else is.

use super::control::executor_group;
use super::{GOOD, Loop, processes_in};
use crate::harness::eventually;
use std::os::unix::fs::PermissionsExt;

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
    #[expect(clippy::disallowed_methods, reason = "tests send the signals that users send")]
    let sent = std::process::Command::new("kill").args(["-s", "KILL", "--", pid]).status();
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
fn a_dead_executor_is_not_waited_for() {
    let task = killed_in_polish();
    kill(task.world.read("daemon").trim());
    eventually("nothing runs", || processes_in(&task.world.root()).is_empty());
    // Whoever has to lay the dead to rest may take its time.
    let ended = task.run().succeeds();
    assert!(!ended.stderr.contains("was still running"), "{}", ended.stderr);
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
    std::fs::write(&signer, script).expect("written");
    std::fs::set_permissions(&signer, std::fs::Permissions::from_mode(0o755)).expect("executable");
    world.git(&["config", "gpg.program", &signer.to_string_lossy()]);
    world.git(&["config", "commit.gpgSign", "true"]);
    let ended = task.run().succeeds();
    assert!(!ended.stderr.contains("left processes behind"), "{}", ended.stderr);
    let pid = std::fs::read_to_string(&agent).expect("it was started");
    assert!(std::path::Path::new(&format!("/proc/{}", pid.trim())).exists(), "it was ended");
    kill(pid.trim());
    assert_eq!(world.dirty(), "");
}
