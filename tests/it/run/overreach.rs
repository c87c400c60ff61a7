//! What an executor changes in its turn that is not its to change: it gains nothing by it in its run, and it is told
//! of.

use super::{GOOD, Loop};
use std::fs;

/// What becomes of it.
enum Outcome {
    /// It stays, and a person reads of it.
    Told(&'static str),
    /// The same, and the run ends with 1, because nothing can be recorded.
    Refused(&'static str),
    /// It is told of, and the file is as if nothing had happened: the audit agrees, and HEAD holds it.
    Undone(&'static str),
    /// The file is gone.
    Forgotten(&'static str),
}

use Outcome::{Forgotten, Refused, Told, Undone};

/// What the second action of a run does beside its work.
const CHANGES: [(&str, Outcome); 21] = [
    (
        "echo '# x' >> orch.toml",
        Told("continues with those that it began with: orch.toml"),
    ),
    (
        "echo >> system/workflows/loop.md",
        Told("it began with: system/workflows/loop.md"),
    ),
    (
        "echo >> system/schemas/loop-state.schema.json",
        Told("with: system/schemas/loop-state.schema.json"),
    ),
    (
        "echo >> system/agents/improver.md",
        Told("with: system/agents/improver.md"),
    ),
    (
        "cp system/workflows/loop.md system/workflows/other.md",
        Told("with: system/workflows/other.md"),
    ),
    (
        "git config alias.x '!true'",
        Told("uses them from now on: .git/config"),
    ),
    (
        "mkdir -p .git/hooks; echo : > .git/hooks/pre-commit",
        Told("from now on: .git/hooks/pre-commit"),
    ),
    (
        "mkdir -p .git/info; echo '* filter=x' > .git/info/attributes",
        Told(": .git/info/attributes"),
    ),
    (
        "echo x > .git/orch/journal.json",
        Told("its journal could not be read; it is kept as"),
    ),
    (
        "sed -i 's/\"score\": 100/\"score\": 79/' tasks/t/state.json",
        Undone("tasks/t/state.json changed while `polish`"),
    ),
    (
        "rm tasks/t/state.json",
        Undone("tasks/t/state.json changed while `polish`"),
    ),
    (
        "echo '{}' > tasks/t/.orch/run.json",
        Undone("the record of the run changed while `polish`"),
    ),
    (
        "rm tasks/t/.orch/logs/*improve.log",
        Undone("logs of the run were cut or removed while `polish`"),
    ),
    (
        "for log in tasks/t/.orch/logs/*improve.log; do : > $log; done",
        Undone("logs of the run were cut"),
    ),
    (
        "rm tasks/t/.orch/run.json",
        Undone("the record of the run changed while `polish`"),
    ),
    (
        "echo '{}' >> tasks/t/transcript.jsonl",
        Refused("the line does not begin with `id`"),
    ),
    (
        ": > tasks/t/transcript.jsonl",
        Refused("transcript.jsonl, the record of this task, is missing"),
    ),
    (
        "sed -i 's/created/made/' tasks/t/transcript.jsonl",
        Refused("the line was changed"),
    ),
    (
        "mkdir -p .git/orch/valid-0.1.0; echo x > .git/orch/valid-0.1.0/zz",
        Forgotten(".git/orch/valid-0.1.0/zz"),
    ),
    (
        "mkdir -p .git/orch/looks/status; echo x > .git/orch/looks/status/zz",
        Forgotten(".git/orch/looks/status/zz"),
    ),
    ("echo x > .git/orch/proven", Forgotten(".git/orch/proven")),
];

#[test]
fn what_an_executor_may_not_change_is_told_of_and_undone_or_refused() {
    for (does, outcome) in CHANGES {
        let task = Loop::new(&GOOD.replace("  polish)\n", &format!("  polish)\n    {does}\n")));
        // What the run prints is shown only if it is told.
        let ended = task.run();
        let (code, told) = match outcome {
            Told(told) | Undone(told) => (0, told),
            Refused(told) => (1, told),
            Forgotten(_) => (0, "completed"),
        };
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert_eq!(ended.code, code, "{does}: {said}");
        assert!(said.contains(told), "{does}: no {told:?} in\n{said}");
        match outcome {
            Undone(_) => task.is_clean(),
            Forgotten(path) => {
                let left = fs::read_to_string(task.world.path(path)).unwrap_or_default();
                assert_ne!(left, "x\n", "{does}");
                task.is_clean();
            }
            Told(_) | Refused(_) => drop(task.world.orch(&["audit"]).succeeds()),
        }
    }
}

#[test]
fn what_an_executor_may_change_is_not_told_of() {
    for does in [
        "git config --get user.name",
        "orch status; orch suggest t",
        "git status; git add -N tasks",
    ] {
        let does = does.replace("orch ", &format!("'{}' ", env!("CARGO_BIN_EXE_orch")));
        let first = format!("  polish)\n    {{ {does}; }} > /dev/null 2>&1\n");
        let task = Loop::new(&GOOD.replace("  polish)\n", &first));
        let ended = task.run().succeeds();
        assert!(!ended.stderr.contains("warning"), "{does}: {ended:?}");
    }
}
