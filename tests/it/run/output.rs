//! What executors print: all of it is heard, whoever reads it, and none of it rules the terminal.

use super::{GOOD, LOOP, Loop};
use crate::harness::eventually;

/// The only log of an action.
fn log(task: &Loop, action: &str) -> String {
    let logs = std::fs::read_dir(task.world.path("tasks/t/.orch/logs"))
        .expect("logs")
        .flatten();
    let mut found = logs.filter(|log| {
        log.file_name()
            .to_string_lossy()
            .ends_with(&format!("{action}.log"))
    });
    std::fs::read_to_string(found.next().expect("a log").path()).expect("readable")
}

#[test]
fn all_that_was_printed_before_the_end_is_heard() {
    let lines = "i=0; while [ $i -lt 5000 ]; do echo \"line $i of many, all of which are heard\"; i=$((i+1)); done";
    let script = GOOD.replace(
        "  polish)\n",
        &format!("  polish)\n    {lines} > all; cat all; rm all\n"),
    );
    let script = script.replace(" > \"$ORCH_RESULT\"", "");
    let task = Loop::new(&script);
    let ended = task.run().succeeds();
    assert_eq!(ended.stderr.matches("all of which are heard").count(), 5000);
    assert_eq!(
        log(&task, "polish")
            .matches("all of which are heard")
            .count(),
        5000
    );
    task.is_clean();
}

#[test]
fn a_reader_that_does_not_read_holds_up_neither_limits_nor_the_run() {
    let endless = "  polish)\n    [ -e tried ] || { touch tried; yes 'nobody reads this'; }\n";
    let workflow = LOOP.replace("timeout = \"10s\"", "timeout = \"300ms\"");
    let task = Loop::with(&workflow, &GOOD.replace("  polish)\n", endless));
    task.world.write(".gitignore", "tried\n");
    task.world.commit("ignore");
    let mut child = task.world.orch_spawn(&["run", "t", "--auto"]);
    eventually("the run ends", || {
        child.try_wait().expect("asked").is_some()
    });
    assert_eq!(child.wait().expect("ends").code(), Some(0));
    assert_eq!(task.state()["status"], "done");
    task.is_clean();
}

#[test]
fn an_executor_that_prints_nothing_any_more_is_still_watched() {
    let script = GOOD.replace("  polish)\n", "  polish)\n    exec 1>&- 2>&-; sleep 0.3\n");
    let task = Loop::new(&script);
    task.run().succeeds();
    task.is_clean();
    let script = GOOD.replace("  polish)\n", "  polish)\n    exec 1>&- 2>&-; sleep 60\n");
    let task = Loop::with(
        &LOOP.replace("timeout = \"10s\"", "timeout = \"300ms\""),
        &script,
    );
    task.run()
        .ends(1)
        .reports("polish failed: it took longer than 300ms");
    task.is_clean();
}

#[test]
fn nothing_that_an_executor_says_rules_the_terminal() {
    let said = r#"
    printf '\033]0;title\007\033[2Jplain\n'
    printf '{"stateUpdates": {"polished": true}, "message": "red \\u001b[31m\\u001b]0;x\\u0007", "summary": "a\\u001b[2J"}' > "$ORCH_RESULT" ;;
  never)
"#;
    let task = Loop::new(&GOOD.replace("  polish)\n", &format!("  polish)\n{said}")));
    let ended = task
        .run()
        .succeeds()
        .reports("  plain")
        .reports("polish: red");
    assert!(
        !ended.stderr.contains(['\u{1b}', '\u{7}']),
        "{:?}",
        ended.stderr
    );
    task.is_clean();
    let fails = r#"    printf '{"status": "failed", "message": "no \\u001b[31mway"}' ;;
  never)
"#;
    let task = Loop::new(&GOOD.replace("  polish)\n", &format!("  polish)\n{fails}")));
    let ended = task.run().ends(1).reports("way");
    assert!(!ended.stderr.contains('\u{1b}'), "{:?}", ended.stderr);
    task.is_clean();
}

#[test]
fn a_prompt_that_nobody_reads_holds_nothing_up() {
    let task = Loop::new(&GOOD.replace("cat > /dev/null", "exec 0<&-"));
    task.world
        .write("system/agents/improver.md", "p".repeat(3 << 20));
    task.world.commit("a long prompt");
    task.run().succeeds();
    task.is_clean();
    let reads = GOOD.replace(
        "cat > /dev/null",
        "read=$(wc -c); [ $read -gt 3000000 ] || [ $ORCH_ACTION = polish ] || exit 9",
    );
    let task = Loop::new(&reads);
    task.world
        .write("system/agents/improver.md", "p".repeat(3 << 20));
    task.world.commit("a long prompt");
    task.run().succeeds();
    task.is_clean();
}
