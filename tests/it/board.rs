//! `orch board` as people and CI use it.

use crate::harness::World;
use std::fs;

/// The part of a page that begins with a marker.
fn after<'p>(page: &'p str, marker: &str) -> &'p str {
    page.split_once(marker)
        .unwrap_or_else(|| panic!("no {marker} in {page}"))
        .1
}

#[test]
fn a_board_is_written_as_one_file_and_to_stdout() {
    let world = World::ready();
    world
        .orch(&["new", "t-1", "--title", "A <b>bold</b> title"])
        .succeeds();
    world.write("tasks/t-1/planning/plan.json", "{");
    world.orch(&["new", "t-2"]).succeeds();
    world.plan("t-2", 1);
    world.orch(&["next", "t-2"]).succeeds();

    world.write(
        "board.html",
        "<!DOCTYPE html><title>what was there before</title>",
    );
    world
        .orch(&["board", "--html", "board.html"])
        .succeeds()
        .says("wrote 2 tasks to board.html");
    let page = world.read("board.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    let planning = after(&page, "data-phase=\"planning\"");
    let planning = planning.split("data-phase").next().unwrap_or_default();
    assert!(
        planning.contains("A &lt;b&gt;bold&lt;/b&gt; title")
            && planning.contains("fix planning/plan.json")
            && planning.contains("<span class=\"flag flag-invalid\">invalid</span>")
    );
    assert!(
        page.contains("<section class=\"column empty\" data-phase=\"codegen\""),
        "a column without a task is folded"
    );
    assert!(
        !page.contains("href=\"/"),
        "nothing leads to a server: {page}"
    );
    assert!(after(&page, "data-phase=\"plan_review\"").contains("href=\"#task:t-2\""));
    let task = after(&page, "<article class=\"task-page\" id=\"task:t-1\">");
    assert!(
        task.contains("tasks/t-1/planning/plan.json:1:2"),
        "the finding has its line: {task}"
    );
    let task = after(&page, "<article class=\"task-page\" id=\"task:t-2\">");
    for part in [
        "planning → plan_review",
        "<span class=\"state state-ready good\">ready</span> <strong>plan</strong>",
    ] {
        assert!(task.contains(part), "{part}\n{task}");
    }
    let left: Vec<_> = fs::read_dir(world.root())
        .expect("a directory")
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert!(
        left.iter()
            .all(|name| !name.to_string_lossy().starts_with(".orch-tmp")),
        "{left:?}"
    );

    let streamed = world
        .orch(&["board", "--html", "-", "t-2"])
        .succeeds()
        .stdout;
    assert!(streamed.contains("id=\"task:t-2\"") && !streamed.contains("t-1"));
    let document = world.orch_json(&["board", "--html", "-", "t-2"]);
    assert!(
        document["text"]
            .as_str()
            .is_some_and(|text| text.starts_with("<!DOCTYPE html>")),
        "{document}"
    );
    world.orch(&["board"]).ends(2);
    world
        .orch(&["board", "--html", "tasks"])
        .ends(2)
        .reports("tasks is not a regular file");
}

#[test]
fn a_board_replaces_nothing_but_a_page_and_leaves_git_alone() {
    let world = World::ready();
    world.orch(&["new", "t-1"]).succeeds();
    world.write("notes.md", "mine\n");
    world.write("short", "<!DOC");
    world.write("real/.git/HEAD", "of another repository\n");
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(target, world.root().join(name)).expect("linked");
    };
    link(".git/HEAD", "head.html");
    link(".git", "git");
    link("notes.md", "notes.html");
    link("nowhere", "dangling.html");
    let (page, git) = ("is not an HTML page", "it is in a git directory");
    for (file, why) in [
        ("notes.md", page),
        ("notes.html", page),
        ("short", page),
        ("orch.toml", page),
        ("tasks/t-1/transcript.jsonl", page),
        ("tasks/t-1/state.json", page),
        (".git/HEAD", git),
        (".git/index", git),
        (".git/new.html", git),
        (".git/hooks/new.html", git),
        ("head.html", git),
        ("git/new.html", git),
        ("tasks/../.git/new.html", git),
        ("real/.git/new.html", git),
        (".git", git),
        ("dangling.html", "is not a regular file"),
    ] {
        let place = world.root().join(file);
        let before = fs::read(&place).ok();
        let refused = world.orch(&["board", "--html", file]).ends(2).reports(why);
        assert!(
            refused.stderr.contains("--html - writes to stdout"),
            "{file}: {}",
            refused.stderr
        );
        assert!(refused.stderr.contains(file), "{file}: {}", refused.stderr);
        assert_eq!(fs::read(&place).ok(), before, "{file}");
    }
    for (file, why, hint) in [
        (
            "no/such/x.html",
            "there is no directory no/such",
            "/no/such",
        ),
        (
            "notes.md/x.html",
            "notes.md is not a directory",
            "name another file",
        ),
        ("no/..", "it names no file", "name another file"),
        ("new/", "it names a directory", "name another file"),
    ] {
        world
            .orch(&["board", "--html", file])
            .ends(2)
            .reports(why)
            .reports(hint);
    }
    for (start, file) in [("tasks", "out/x.html"), ("tasks/t-1", "../../a b/x.html")] {
        let mut command = world.orch_command(&["board", "--html", file]);
        let ended = world.end(
            command
                .current_dir(world.root().join(start))
                .output()
                .expect("orch runs"),
        );
        let hint = ended
            .stderr
            .lines()
            .find_map(|line| line.trim().strip_prefix("hint: "));
        let hint = hint
            .expect("a hint")
            .replace("[ROOT]", &world.root().to_string_lossy());
        let mut shell = world.command("sh");
        world
            .end(shell.args(["-ec", &hint]).output().expect("sh runs"))
            .succeeds();
        let again = world.end(command.output().expect("orch runs"));
        again.succeeds();
        assert!(world.root().join(start).join(file).exists(), "{file}");
    }
    world.write("empty.html", "");
    for file in ["empty.html", "new.html", "new.html"] {
        world.orch(&["board", "--html", file]).succeeds();
        assert!(world.read(file).ends_with("</html>\n"), "{file}");
    }
    link("new.html", "linked.html");
    world.orch(&["board", "--html", "linked.html"]).succeeds();
    assert!(
        world.root().join("linked.html").is_symlink(),
        "the file is written, not the link"
    );
}

#[test]
fn a_board_leaves_the_git_directory_of_a_linked_work_tree_alone() {
    let world = World::ready();
    world.git(&["worktree", "add", "-q", "-b", "other", "other"]);
    let refused = |file: &str, why: &str| {
        world
            .orch(&["-C", "other", "board", "--html", file])
            .ends(2)
            .reports(why);
    };
    refused(".git", "it is in a git directory");
    refused("../.git/worktrees/other/HEAD", "it is in a git directory");
    fs::rename(world.root().join("other"), world.root().join("moved")).expect("moved");
    world.git(&["clone", "-q", "--separate-git-dir", "apart", ".", "clone"]);
    world
        .orch(&["-C", "clone", "board", "--html", "../apart/x.html"])
        .ends(2)
        .reports("it is in a git directory");
    assert!(!world.root().join("apart/x.html").exists());
}

#[test]
fn finished_tasks_have_pages_on_request_and_agents_see_no_orders() {
    let world = World::ready();
    world.orch(&["new", "t-1"]).succeeds();
    world.walk_to("t-1", "done");
    world.orch(&["new", "t-2"]).succeeds();
    let page = world.orch(&["board", "--html", "-"]).succeeds().stdout;
    assert!(page.contains("data-task=\"t-1\"") && !page.contains("id=\"task:t-1\""));
    assert!(page.contains("--override WHY"), "a person may override");
    let page = world
        .orch(&["board", "--html", "-", "--details"])
        .succeeds()
        .stdout;
    assert!(page.contains("id=\"task:t-1\"") && page.contains("orch reopen t-1 --reason WHY"));
    let page = world
        .orch_by_agent(&["board", "--html", "-", "--details"])
        .succeeds()
        .stdout;
    assert!(page.contains("id=\"task:t-1\"") && page.contains("orch prompt t-2"));
    assert!(!page.contains("WHY"), "{page}");
}
