//! What lies where it should not, and names that nobody would choose.

use crate::harness::{World, started};
use orch_base::RepoPath;
use orch_files::{Content, Raw, Source, WorkDir};

fn path(text: &str) -> RepoPath {
    RepoPath::new(text).expect("valid")
}

fn pipe(world: &World, name: &str) {
    let made = world
        .command("mkfifo")
        .arg(world.path(name))
        .status()
        .expect("mkfifo runs");
    assert!(made.success(), "{name}");
}

#[test]
fn only_a_regular_file_is_read() {
    let world = World::without_git();
    world.write("file", "bytes");
    world.write("secret", "not to be seen");
    pipe(&world, "pipe");
    std::os::unix::fs::symlink(world.path("secret"), world.path("link")).expect("a link");
    std::os::unix::fs::symlink("/dev/zero", world.path("zeros")).expect("a link");
    std::os::unix::fs::symlink("nowhere", world.path("dangling")).expect("a link");
    let _socket = std::os::unix::net::UnixListener::bind(world.path("socket")).expect("a socket");
    std::fs::create_dir(world.path("directory")).expect("a directory");
    let root = world.root();
    let source = WorkDir::new(&root, &Raw);
    let read = |name| source.read(&path(name), 100).expect("a source");
    assert_eq!(read("file"), Content::Bytes(b"bytes".to_vec()));
    assert_eq!(read("absent"), Content::Missing);
    for name in ["pipe", "link", "zeros", "dangling", "socket", "directory"] {
        assert_eq!(
            read(name),
            Content::Unreadable("it is not a regular file".to_owned()),
            "{name}"
        );
        assert_eq!(
            orch_git::durable::read_regular(&world.path(name)),
            None,
            "{name}"
        );
    }
}

#[test]
fn init_refuses_a_pipe_in_the_place_of_a_file_that_it_extends() {
    for name in ["AGENTS.md", "tasks/.gitattributes"] {
        let world = World::new();
        std::fs::create_dir_all(world.path("tasks")).expect("a directory");
        pipe(&world, name);
        world
            .orch(&["init"])
            .ends(70)
            .reports(&format!("cannot write {name}: it is not a regular file"));
    }
}

#[test]
fn a_brief_is_read_up_to_the_limit() {
    let world = World::ready();
    world.write("orch.toml", "limit_bytes = 10000\n");
    world.write("brief", "x".repeat(10_001));
    let brief = |path: &str| world.orch(&["new", "t", "--brief", path]);
    brief("brief")
        .ends(2)
        .reports("the brief in brief is too large: 10001 bytes, more than the 10000");
    brief("/dev/zero")
        .ends(2)
        .reports("the brief in /dev/zero is too large: more than the 10000");
    assert!(!world.path("tasks/t").exists());
    let fifo = world.path("../fifo");
    pipe(&world, "../fifo");
    let writer = std::thread::spawn(move || std::fs::write(fifo, "x".repeat(9_000)));
    brief("../fifo").succeeds();
    writer.join().expect("no panic").expect("written");
    assert_eq!(world.read("tasks/t/brief.md").trim_end().len(), 9_000);
}

#[test]
fn a_pipe_in_the_place_of_a_file_holds_nobody_up() {
    let world = World::ready();
    world.orch(&["new", "t1"]).succeeds();
    for name in [
        "suggestion.json",
        "state.json",
        "transcript.jsonl",
        "planning/plan.json",
    ] {
        let name = format!("tasks/t1/{name}");
        let place = world.path(&name);
        std::fs::create_dir_all(place.parent().expect("a parent")).expect("a directory");
        let _ = std::fs::remove_file(&place);
        pipe(&world, &name);
        // What each of them says differs; that it ends is what counts.
        for command in [&["suggest"][..], &["check"], &["watch", "--once"]] {
            let ended = world.orch(command);
            assert!(
                [0, 1].contains(&ended.code),
                "{name} {command:?}: {ended:?}"
            );
        }
        std::fs::remove_file(&place).expect("the pipe or what took its place");
        world.git(&["checkout", "-q", "--", "tasks"]);
    }
}

/// Also where orch keeps files of its own, and where git looks for attributes and ignore rules.
#[test]
fn a_pipe_in_the_place_of_a_small_file_holds_nobody_up() {
    let world = World::ready();
    world.orch(&["new", "t1"]).succeeds();
    world.plan("t1", 1);
    world.orch(&["next", "t1"]).succeeds();
    world.orch(&["suggest"]).succeeds();
    let names = |path: &str| {
        let entries = std::fs::read_dir(world.path(path)).expect("a directory");
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("an entry").file_name();
        entries
            .map(move |entry| name(entry).into_string().expect("a name"))
            .collect::<Vec<_>>()
    };
    let part = |start: &str| {
        let cache = names(".git/orch")
            .into_iter()
            .find(|name| name.starts_with(start))
            .expect("a cache");
        let directory = format!(".git/orch/{cache}");
        format!(
            "{directory}/{}",
            names(&directory).first().expect("a part of it")
        )
    };
    let valid = part("valid-");
    let own = [valid.as_str(), ".git/orch/journal.json"];
    let of_git = [
        "tasks/t1/.gitattributes",
        ".gitattributes",
        "tasks/.gitignore",
        "tasks/t1/.gitignore",
    ];
    for name in own.into_iter().chain(of_git) {
        let (place, aside) = (world.path(name), world.path("aside"));
        let _ = std::fs::rename(&place, &aside);
        pipe(&world, name);
        for command in [
            &["suggest"][..],
            &["check"],
            &["rollback", "t1", "--to", "planning", "--reason", "x"],
        ] {
            let ended = world.orch(command);
            assert!(
                [0, 1, 3, 4, 5, 70].contains(&ended.code),
                "{name} {command:?}: {ended:?}"
            );
        }
        let _ = std::fs::remove_file(&place);
        let _ = std::fs::rename(&aside, &place);
    }
}

/// A merge that cannot be seen is not judged as another commit.
#[test]
fn what_git_keeps_of_a_merge_is_read_or_said_to_be_unreadable() {
    let world = World::ready();
    world.orch(&["new", "t1"]).succeeds();
    std::fs::create_dir(world.path(".git/MERGE_HEAD")).expect("a directory");
    world.plan("t1", 1);
    world.git(&["add", "-A"]);
    world
        .orch(&["check", "--staged"])
        .ends(70)
        .reports("MERGE_HEAD")
        .reports("not a regular file");
}

#[test]
fn a_hint_can_be_typed_as_it_stands() {
    let world = World::ready();
    let id = "it's $(odd)";
    let typed = r"'it'\''s $(odd)'";
    std::fs::create_dir_all(world.path(&format!("tasks/{id}"))).expect("made");
    world.orch(&["new", id]).succeeds();
    for (arguments, code, command) in [
        (
            &["rollback", id, "--reason", "x", "--to", "planning"][..],
            1,
            "orch next ID --override WHY --to planning",
        ),
        (
            &["reopen", id, "--reason", "x"],
            1,
            "orch next ID --override WHY --to planning",
        ),
        (
            &["next", id, "--to", "codegen"],
            1,
            "orch next ID --override WHY --to codegen",
        ),
        (&["new", id], 2, "orch suggest ID"),
    ] {
        world
            .orch(arguments)
            .ends(code)
            .reports(&command.replace("ID", typed));
    }
    world.write(&format!("tasks/{id}/transcript.jsonl"), "{");
    world
        .orch(&["rollback", id, "--reason", "x"])
        .reports(&format!("orch recover {typed}"));
    world.git(&["rm", "-rqf", "--cached", "tasks"]);
    world.remove(&format!("tasks/{id}/state.json"));
    world.remove(&format!("tasks/{id}/transcript.jsonl"));
    world.commit("Forget it");
    world.plan(id, 1);
    world
        .orch(&["next", id])
        .ends(1)
        .reports(&format!("orch new {typed}"));
}

#[test]
fn settings_that_are_a_link_to_themselves_are_the_users() {
    let world = World::ready();
    world.remove("orch.toml");
    std::os::unix::fs::symlink("orch.toml", world.path("orch.toml")).expect("linked");
    world
        .orch(&["status"])
        .ends(2)
        .reports("cannot read orch.toml");
    let error = &world.orch_json(&["status"])["error"];
    assert_eq!(error["code"], "config-unreadable", "{error}");
}

#[test]
fn nested_front_matter_is_a_finding_and_never_a_crash() {
    let world = World::new();
    world.write(
        "orch.toml",
        "[[root]]\npath = \"changes/*\"\nworkflow = \"openspec\"\n",
    );
    let front = |levels: usize| {
        format!(
            "---\na: {}{}\n---\n# Why\n",
            "[".repeat(levels),
            "]".repeat(levels)
        )
    };
    world.write("changes/c/proposal.md", front(3));
    world.commit("a change");
    world.orch(&["new", "c"]).succeeds();
    world.write("changes/c/proposal.md", front(20_000));
    world.commit("a deep one");
    for (command, code) in [
        (&["check", "c"][..], 1),
        (&["check", "--range", "HEAD~1..HEAD"], 1),
        (&["status"], 0),
        (&["suggest", "c"], 0),
        (&["explain", "c"], 0),
        (&["audit"], 0),
        (&["watch", "--once"], 0),
    ] {
        let ended = world.orch(command);
        assert_eq!(ended.code, code, "{command:?}: {ended:?}");
    }
    world
        .orch(&["check", "c"])
        .says("front-matter")
        .says("proposal.md:2:");
}

#[test]
fn yaml_toml_and_csv_are_data_with_places() {
    let world = World::new();
    let schema = r#"{"type": "object", "properties": {"ok": {"type": "boolean"}}, "additionalProperties": false}"#;
    world.write("system/schemas/report.schema.json", schema);
    for (name, good, bad, place) in [
        (
            "report.yaml",
            "ok: true\n",
            "ok: true\nno: 1\n",
            "report.yaml:2:1",
        ),
        (
            "report.toml",
            "ok = true\n",
            "ok = true\nno = 1\n",
            "report.toml:2:1",
        ),
        ("report.yml", "ok: true\n", "ok:\n  - 1\n", "report.yml:2:3"),
    ] {
        let workflow = format!(
            "# Report\n\n```toml orch\n[workflow]\ntitle = \"Report\"\ninitial = \"writing\"\n\n\
             [artifact.report]\npath = \"{name}\"\nschema = \"report\"\n\n\
             [artifact.rows]\npath = \"rows.csv\"\n\n\
             [phase.writing]\nproduces = [\"report\", \"rows\"]\n\n[phase.done]\nterminal = true\n\n\
             [[rule]]\nid = \"written\"\nfrom = \"writing\"\n\
             when = \"report.ready && report.data.ok && rows.ready && rows.data[1].name == 'b'\"\n\
             to = \"done\"\nbecause = \"the report is ok\"\n```\n"
        );
        world.write("system/workflows/report.md", workflow);
        world.write(
            "orch.toml",
            "[[root]]\npath = \"reports/*\"\nworkflow = \"report\"\n",
        );
        world.write("reports/r/rows.csv", "name\na\nb\n");
        world.write(&format!("reports/r/{name}"), bad);
        world
            .orch(&["check", "r"])
            .ends(1)
            .says(place)
            .says("schema-mismatch");
        world.write(&format!("reports/r/{name}"), good);
        assert_eq!(world.phase_suggested("r"), "done", "{name}");
        world.remove(&format!("reports/r/{name}"));
    }
}

#[test]
fn every_bad_schema_and_guard_is_a_finding_with_its_place_and_moves_nothing() {
    let (schema, document) = (
        "system/schemas/plan.schema.json",
        "system/workflows/global-state-machine.md",
    );
    let shipped = World::ready().read(document);
    let guard = |guard: &str| {
        let (before, after) = shipped.split_once("id = \"plan-ready\"").expect("the rule");
        let after = after.replacen("when = \"", &format!("when = \"{guard} && "), 1);
        format!("{before}id = \"plan-ready\"{after}")
    };
    let rows = [
        (
            schema,
            "{\"$ref\": \"https://example.com/x\"}".to_owned(),
            "schema-remote-ref",
        ),
        (schema, "{\"$ref\": \"#\"}".to_owned(), "schema-cycle"),
        (
            schema,
            "{\"properties\": {\"title\": {\"pattern\": \"(?=a)b\"}}}".to_owned(),
            "schema-invalid",
        ),
        (
            document,
            guard(&format!("{}true{}", "(".repeat(300), ")".repeat(300))),
            "guard-limit",
        ),
        (
            document,
            guard(&vec!["plan.ready"; 20_000].join(" || ")),
            "guard-limit",
        ),
    ];
    for (path, text, code) in rows {
        let world = started("planning");
        world.plan("t", 1);
        world.write(path, text);
        world
            .orch(&["workflow", "check"])
            .ends(1)
            .says(&format!("error[{code}]"))
            .says(path);
        let head = world.git(&["rev-parse", "HEAD"]);
        let refused = world.orch(&["next", "t"]);
        assert_ne!(refused.code, 0, "{code}");
        assert_eq!(world.git(&["rev-parse", "HEAD"]), head, "{code}");
    }
    // A pattern with nested repetitions takes linear time, and a guard that fails is no false one.
    let world = started("planning");
    world.write(
        "tasks/t/planning/plan.json",
        format!("{{\"title\": \"{}!\"}}", "a".repeat(100_000)),
    );
    world.write(
        schema,
        "{\"properties\": {\"title\": {\"pattern\": \"^(a+)+$\"}}}",
    );
    world.orch(&["check", "t"]).ends(1).says("schema-mismatch");
    world.remove(schema);
    world.plan("t", 1);
    world.write(document, guard("1 / 0 == 1"));
    world.orch(&["suggest", "t"]).says("plan-ready");
    world.orch(&["next", "t"]).ends(1);
    assert_eq!(world.phase("t"), "planning");
}

#[test]
fn a_clock_that_jumps_changes_no_verdict_and_no_order_of_steps() {
    let world = World::ready();
    let at = |now: &str, arguments: &[&str]| {
        let mut command = world.orch_command(arguments);
        command.env("ORCH_NOW", now);
        world.end(command.output().expect("orch runs"))
    };
    at("4102444800", &["new", "t"]).succeeds();
    world.plan("t", 1);
    at("1", &["next", "t"]).succeeds();
    world.plan_review("t", true, 1);
    at("4000000000", &["next", "t"]).succeeds();
    at(
        "2",
        &["rollback", "t", "--to", "planning", "--reason", "Again."],
    )
    .succeeds();
    let log = at("1000000000", &["log", "t", "--json"]).succeeds();
    let places: Vec<usize> = ["create", "plan-ready", "plan-accepted", "rollback"]
        .iter()
        .map(|word| {
            log.stdout
                .find(&format!("\"{word}\""))
                .unwrap_or_else(|| panic!("{word}: {log:?}"))
        })
        .collect();
    assert!(places.is_sorted(), "{log:?}");
    world.orch(&["audit"]).succeeds();
    assert_eq!(
        (world.phase("t"), world.dirty()),
        ("planning".to_owned(), String::new())
    );
}

/// Nothing can be said of what comes next, so the answer is no: 1, as where the workflow of a task is missing.
#[test]
fn a_log_that_cannot_be_read_is_no_success_of_any_face() {
    let commands: [(&[&str], i32); 12] = [
        (&["status"], 1),
        (&["status", "--everywhere"], 1),
        (&["status", "--json"], 1),
        (&["suggest"], 1),
        (&["suggest", "t", "--brief"], 1),
        (&["board", "--html", "-"], 1),
        (&["check"], 1),
        (&["log", "--all"], 1),
        // A command about this task alone has no answer.
        (&["log", "t"], 5),
        (&["next", "t"], 5),
        (&["run", "t"], 1),
        (&["doctor"], 1),
    ];
    let world = started("plan_review");
    world.orch(&["new", "other"]).succeeds();
    world.write("tasks/t/transcript.jsonl", b"garbage\n\xff\0{");
    for (command, code) in commands {
        let ended = world.orch(command).ends(code);
        let said = format!("{}{}", ended.stdout, ended.stderr);
        let is_told = ["not an event", "log-invalid", "error: repair"]
            .iter()
            .any(|word| said.contains(word));
        assert!(is_told, "{command:?}: {said}");
    }
    // The second time from a cache.
    world.orch(&["status"]).ends(1);
    world.orch(&["status", "other"]).succeeds();
    // A damaged line among good ones.
    world.git(&["restore", "tasks/t"]);
    let log = world.read("tasks/t/transcript.jsonl");
    world.write("tasks/t/transcript.jsonl", log + "garbage\n");
    world
        .orch(&["log", "t"])
        .ends(1)
        .says("planning")
        .reports("not an event");
    // One that nobody can read.
    world.shell("rm tasks/t/transcript.jsonl; mkfifo tasks/t/transcript.jsonl");
    let unread = world.orch(&["log", "t"]);
    assert!(
        unread.code != 0 && unread.stderr.contains("tasks/t/transcript.jsonl"),
        "{unread:?}"
    );
}

/// Of a long log a look reads only the end, but the reason why its timeline is short may be anywhere.
#[test]
fn a_long_log_that_was_edited_near_its_beginning_says_why_its_timeline_is_short() {
    let world = started("planning");
    let reason = "x".repeat(1000);
    for _ in 0..40 {
        world
            .orch(&["next", "t", "--override", &reason, "--to", "plan_review"])
            .succeeds();
        world
            .orch(&["rollback", "t", "--to", "planning", "--reason", &reason])
            .succeeds();
    }
    let log = world.read("tasks/t/transcript.jsonl");
    assert!(log.len() > 70_000, "{}", log.len());
    world.write(
        "tasks/t/transcript.jsonl",
        log.replacen("was created", "was Created", 1),
    );
    world
        .orch(&["log", "t"])
        .ends(1)
        .reports("transcript.jsonl:1");
}

/// So many tasks that several threads read their logs.
#[test]
fn the_log_of_many_tasks_is_that_of_each_one_of_them() {
    let world = World::ready();
    let ids: Vec<String> = (0..70).map(|number| format!("t-{number:02}")).collect();
    ids.iter()
        .for_each(|id| drop(world.orch(&["new", id]).succeeds()));
    for (number, id) in ids.iter().enumerate() {
        let path = format!("tasks/{id}/transcript.jsonl");
        match number % 10 {
            3 => world.write(&path, world.read(&path) + "garbage\n"),
            6 => world.remove(&path),
            _ => {}
        }
    }
    let all = world.orch(&["log", "--all", "--json"]).ends(1);
    let entries = |text: &str| -> Vec<serde_json::Value> {
        let log: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
        log["entries"].as_array().cloned().unwrap_or_default()
    };
    let mut each = Vec::new();
    for (number, id) in ids.iter().enumerate() {
        let one = world.orch(&["log", id, "--json"]);
        assert_eq!(one.code == 0, !matches!(number % 10, 3 | 6), "{one:?}");
        each.extend(entries(&one.stdout));
    }
    assert_eq!(each.len(), 7 * 9);
    assert_eq!(entries(&all.stdout), each);
    let place = |id: &String| all.stderr.find(id.as_str()).unwrap_or(usize::MAX);
    let short: Vec<usize> = ids
        .iter()
        .enumerate()
        .filter(|(number, _)| matches!(number % 10, 3 | 6))
        .map(|(_, id)| place(id))
        .collect();
    assert!(
        short.is_sorted() && !short.contains(&usize::MAX),
        "in the order of the tasks: {}",
        all.stderr
    );
}
