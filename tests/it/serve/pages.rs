//! The pages of the board, as a browser gets them.

use super::client::Server;
use crate::harness::{World, eventually, executable, started};
use std::fs;
use std::thread;
use std::time::Duration;

#[test]
fn the_board_and_its_assets_are_behind_the_gate_and_come_from_the_binary() {
    let world = World::ready();
    world
        .orch(&["new", "team/t-1", "--title", "A title"])
        .succeeds();
    world.orch(&["new", "t-2"]).succeeds();
    world.write("system/board/board.js", "alert(1)");
    let server = Server::start(&world, &[]);
    let get = |path: &str, token: &str| server.send("GET", path, token, &[], "");
    let pages = [
        "/",
        "/?q=title&owner=agent&new=1",
        "/cards?task=team/t-1",
        "/tasks/team%2Ft-1",
        "/overview",
    ];
    for path in pages {
        let answer = get(path, &server.person);
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, Some("text/html; charset=utf-8")),
            "{path}"
        );
        assert!(
            answer
                .header("content-security-policy")
                .is_some_and(|policy| policy.contains("script-src 'self'"))
        );
        assert!(
            answer.body.contains("A title") && answer.body.contains("team/t-1"),
            "{path}: {}",
            answer.body
        );
        assert_eq!(
            server
                .raw(
                    "GET",
                    path,
                    &[("Host", &format!("127.0.0.1:{}", server.port))],
                    ""
                )
                .status,
            401
        );
    }
    assert!(
        !get("/cards?task=team/t-1", &server.person)
            .body
            .contains("t-2")
    );
    assert!(!get("/cards?task=gone", &server.person).body.contains("<li"));
    let filtered = get("/?owner=human", &server.person).body;
    let cards: Vec<&str> = filtered
        .split("<li class=\"card\"")
        .skip(1)
        .filter_map(|card| card.split('>').next())
        .collect();
    assert!(
        cards.len() == 2 && cards.iter().all(|card| card.ends_with(" hidden")),
        "{cards:?}"
    );
    for (path, media) in [
        ("board.css", "text/css; charset=utf-8"),
        ("board.js", "text/javascript; charset=utf-8"),
    ] {
        let answer = get(&format!("/assets/{path}"), &server.person);
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, Some(media)),
            "{path}"
        );
        assert!(
            !answer.body.contains("alert"),
            "a repository replaces no asset"
        );
        assert_eq!(
            answer.body,
            std::fs::read_to_string(crate::harness::project().join("system/board").join(path))
                .expect("an asset")
        );
    }
    world.write(
        "tasks/t-2/planning/plan.json",
        "{\"title\": \"<script>\"}\n",
    );
    let content = |path: &str| get(&format!("/api/v1/tasks/t-2/content?{path}"), &server.person);
    let plan = content("path=tasks%2Ft-2%2Fplanning%2Fplan.json");
    assert_eq!(
        plan.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    assert_eq!(plan.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(plan.body, "{\"title\": \"<script>\"}\n");
    for (query, status) in [
        ("path=tasks%2Ft-2%2Fstate.json", 404),
        (
            "path=tasks%2Ft-2%2Fplanning%2F..%2F..%2F..%2Forch.toml",
            404,
        ),
        ("path=%2Fetc%2Fpasswd", 404),
        ("", 400),
        ("path=a&path=b", 400),
    ] {
        assert_eq!(content(query).status, status, "{query}");
    }
    let page = get("/tasks/t-2", &server.person).body;
    assert!(
        page.contains("content?path=tasks%2Ft-2%2Fplanning%2Fplan.json")
            && page.contains("[planning]")
            && page.contains("&quot;&lt;script&gt;&quot;"),
        "{page}"
    );
    for path in [
        "/tasks/none",
        "/tasks/team",
        "/assets/board.html",
        "/assets/..%2Fagents%2Fcoder.md",
    ] {
        assert_eq!(get(path, &server.person).status, 404, "{path}");
    }
}

#[test]
fn a_browser_that_is_not_signed_in_is_told_how_and_a_program_gets_a_problem() {
    let world = World::ready();
    let server = Server::start(&world, &[]);
    let own = format!("127.0.0.1:{}", server.port);
    let browser = "text/html,application/xhtml+xml,*/*;q=0.8";
    for (method, path, accept, media) in [
        ("GET", "/", browser, "text/html; charset=utf-8"),
        ("GET", "/tasks/t", browser, "text/html; charset=utf-8"),
        ("GET", "/?token=x", browser, "text/html; charset=utf-8"),
        ("GET", "/", "application/json", "application/problem+json"),
        ("GET", "/", "*/*", "application/problem+json"),
        ("POST", "/api/v1/tasks", browser, "application/problem+json"),
    ] {
        let answer = server.raw(method, path, &[("Host", &own), ("Accept", accept)], "");
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (401, Some(media)),
            "{method} {path}"
        );
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        assert_eq!(
            answer.body.contains("<h1>Sign in</h1>"),
            media.starts_with("text/html"),
            "{path}"
        );
        assert!(
            !answer.body.contains(&server.person) && !answer.body.contains("<script"),
            "{}",
            answer.body
        );
    }
}

#[test]
fn a_browser_that_opens_what_is_not_there_gets_a_page_and_a_program_gets_a_problem() {
    let world = World::ready();
    let server = Server::start(&world, &["--no-watch"]);
    let browser = "text/html,application/xhtml+xml,*/*;q=0.8";
    for (method, path, accept, status, media) in [
        (
            "GET",
            "/tasks/nope",
            browser,
            404,
            "text/html; charset=utf-8",
        ),
        (
            "HEAD",
            "/tasks/nope",
            browser,
            404,
            "text/html; charset=utf-8",
        ),
        (
            "GET",
            "/tasks/%3Cb%3E",
            browser,
            404,
            "text/html; charset=utf-8",
        ),
        ("GET", "/nope", browser, 404, "text/html; charset=utf-8"),
        ("GET", "/?%ff", browser, 400, "text/html; charset=utf-8"),
        (
            "GET",
            "/tasks/nope",
            "application/json",
            404,
            "application/problem+json",
        ),
        ("GET", "/tasks/nope", "*/*", 404, "application/problem+json"),
        (
            "POST",
            "/tasks/nope",
            browser,
            405,
            "application/problem+json",
        ),
        (
            "GET",
            "/api/v1/tasks/nope",
            browser,
            404,
            "application/problem+json",
        ),
        (
            "GET",
            "/assets/nope",
            browser,
            404,
            "application/problem+json",
        ),
        ("GET", "/api", browser, 404, "application/problem+json"),
        ("GET", "/ws", browser, 400, "application/problem+json"),
        ("GET", "/apiary", browser, 404, "text/html; charset=utf-8"),
    ] {
        let answer = server.send(method, path, &server.person, &[("Accept", accept)], "");
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (status, Some(media)),
            "{method} {path}"
        );
        if media.starts_with("text/html") && method == "GET" {
            assert!(
                answer.body.contains("href=\"/assets/board.css\""),
                "{path}: {}",
                answer.body
            );
            assert!(
                answer.body.contains("<a href=\"/\">all tasks</a>"),
                "{path}: {}",
                answer.body
            );
            assert!(
                !answer.body.contains("<script") && !answer.body.contains("<b>"),
                "{}",
                answer.body
            );
            assert!(answer.header("content-security-policy").is_some());
        }
    }
    let foreign = server.raw(
        "GET",
        "/",
        &[("Host", "elsewhere.example"), ("Accept", browser)],
        "",
    );
    assert_eq!(
        (foreign.status, foreign.header("content-type")),
        (403, Some("text/html; charset=utf-8"))
    );
    let shown = server
        .send(
            "GET",
            "/tasks/nope",
            &server.person,
            &[("Accept", browser)],
            "",
        )
        .body;
    assert!(
        shown.contains("there is no task <code>nope</code>"),
        "{shown}"
    );
}

#[test]
fn the_overview_shows_each_task_once_where_it_is_furthest() {
    let world = started("planning");
    world.orch(&["new", "u"]).succeeds();
    world.git(&["switch", "-q", "-c", "feature"]);
    world.walk_to("t", "codegen");
    world.git(&["switch", "-q", "main"]);
    world.git(&["switch", "-q", "-c", "other"]);
    world.orch(&["next", "t", "--override", "x"]).succeeds();
    world.git(&["switch", "-q", "main"]);
    let side = world
        .root()
        .with_file_name("side")
        .to_string_lossy()
        .into_owned();
    world.git(&["worktree", "add", "-q", "-b", "side", &side]);
    let server = Server::start(&world, &["--read-only"]);
    let page = server
        .send("GET", "/overview", &server.person, &[], "")
        .body;
    let card = |task: &str| -> String {
        let (_, card) = page
            .split_once(&format!("data-task=\"{task}\""))
            .expect("a card");
        card.split("</li>").next().unwrap_or_default().to_owned()
    };
    assert_eq!(page.matches("class=\"card\"").count(), 2, "{page}");
    assert!(
        card("t").contains("<bdi class=\"mono\">feature</bdi>, older in 2"),
        "{}",
        card("t")
    );
    assert!(
        card("t").contains("other steps in: <bdi class=\"mono\">other</bdi>"),
        "{}",
        card("t")
    );
    assert!(
        !card("t").contains("href") && card("u").contains("href=\"/tasks/u\""),
        "{page}"
    );
    assert!(
        page.contains("../side") && !page.contains("data-path"),
        "{page}"
    );
    let board = server.send("GET", "/", &server.person, &[], "").body;
    assert!(board.contains("href=\"/overview\""), "{board}");
}

#[test]
fn the_browser_is_opened_with_a_word_that_signs_it_in_once() {
    let world = World::ready();
    let programs = world.path("../programs");
    fs::create_dir_all(&programs).expect("made");
    let opened = world.path("../opened");
    for name in ["xdg-open", "open"] {
        let program = programs.join(name);
        let script = format!(
            "#!/bin/sh\necho \"$1\" > '{0}.part' && mv '{0}.part' '{0}'\n",
            opened.display()
        );
        fs::write(&program, script).expect("written");
        executable(&program);
    }
    let mut command = world.orch_command(&["serve", "--listen", "127.0.0.1:0", "--open"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", programs.display()));
    let server = Server::begin(&world, command);
    eventually("the browser is open", || opened.exists());
    let url = fs::read_to_string(&opened).expect("a URL");
    let path = url
        .trim()
        .strip_prefix(&format!("http://127.0.0.1:{}", server.port))
        .expect(&url);
    assert!(
        path.starts_with("/?token=") && !path.contains(&server.person),
        "{url}"
    );
    let own = format!("127.0.0.1:{}", server.port);
    let signed = server.raw("GET", path, &[("Host", &own)], "");
    let cookie = signed
        .header("set-cookie")
        .and_then(|kept| kept.split(';').next())
        .expect("a cookie");
    assert_eq!(signed.status, 303);
    assert_eq!(
        server
            .raw("GET", "/", &[("Host", &own), ("Cookie", cookie)], "")
            .status,
        200
    );
    assert_eq!(
        server.raw("GET", path, &[("Host", &own)], "").status,
        401,
        "it was used"
    );
    let mut command = world.orch_command(&["serve", "--listen", "127.0.0.1:0", "--open"]);
    command.env("PATH", world.path("../no-programs"));
    let other = Server::begin(&world, command);
    assert_eq!(
        other.get("tasks").status,
        200,
        "a server without a browser serves"
    );
}

#[test]
fn a_person_has_a_button_for_each_order_and_nobody_else_has_one() {
    let world = started("planning");
    let server = Server::start(&world, &["--no-watch"]);
    let page = |server: &Server, token: &str| server.send("GET", "/tasks/t", token, &[], "").body;
    let orders = |page: &str| page.matches("data-path=\"/api/v1/tasks/t/").count();
    let mine = page(&server, &server.person);
    assert!(
        mine.contains("data-path=\"/api/v1/tasks/t/override\" data-known=\"{}\""),
        "{mine}"
    );
    assert!(
        mine.contains("<textarea id=\"order-1-0\" name=\"reason\""),
        "it asks for its reason"
    );
    assert!(
        mine.contains("default: the phase that the work of the current one leads to"),
        "{mine}"
    );
    let tag = server
        .get("tasks/t")
        .header("etag")
        .expect("a tag")
        .replace('"', "&quot;");
    assert!(
        mine.contains(&format!("data-tag=\"{tag}\"")),
        "orders rest on what is shown"
    );
    // What a person may order in any case is there, too: with its targets, and only where it is legal.
    assert!(mine.contains("data-path=\"/api/v1/tasks/t/run\""), "{mine}");
    assert!(
        !mine.contains("/t/rollback\"") && !mine.contains("/t/reopen\""),
        "nothing is earlier: {mine}"
    );
    world.plan("t", 1);
    world.orch(&["next", "t"]).succeeds();
    let mine = page(&server, &server.person);
    let (_, rollback) = mine
        .split_once("data-path=\"/api/v1/tasks/t/rollback\"")
        .expect("a rollback");
    let rollback = rollback.split("</form>").next().unwrap_or_default();
    let targets: Vec<&str> = rollback
        .split("<option")
        .skip(1)
        .filter_map(|one| one.split('>').nth(1))
        .collect();
    assert_eq!(targets, ["planning</option"], "{rollback}");
    assert!(
        rollback.contains("name=\"reason\"") && rollback.contains("required"),
        "{rollback}"
    );
    assert_eq!(
        mine.matches("/t/override\"").count(),
        1,
        "one button for all targets"
    );
    world
        .orch(&["next", "t", "--override", "x", "--to", "done"])
        .succeeds();
    let mine = page(&server, &server.person);
    assert!(
        mine.contains("/t/reopen\"")
            && mine.contains("/t/undo\"")
            && !mine.contains("/t/override\"")
            && !mine.contains("/t/run\""),
        "{mine}"
    );
    let agents = page(&server, &server.agent);
    assert!(
        agents.contains("signed in with the token of agents"),
        "{agents}"
    );
    assert_eq!(
        (orders(&agents), agents.contains("WHY")),
        (0, false),
        "{agents}"
    );
    // What waits for a person is reached one after the other, with the filter of the board.
    let led = |server: &Server| {
        let answer = server.send(
            "GET",
            "/decide?at=7&q=t&owner=agent",
            &server.person,
            &[],
            "",
        );
        assert_eq!(answer.status, 303, "{answer:?}");
        answer.header("location").unwrap_or_default().to_owned()
    };
    assert_eq!(led(&server), "/?q=t&owner=agent", "nothing waits");
    world
        .orch(&["reopen", "t", "--to", "accept", "--reason", "x"])
        .succeeds();
    assert_eq!(led(&server), "/tasks/t?q=t&owner=agent");
    let shown = server.send("GET", "/tasks/t?q=t", &server.person, &[], "");
    assert!(
        shown.body.contains("decision 1 of 1") && shown.body.contains("href=\"/?q=t\""),
        "{}",
        shown.body
    );
    let reads = Server::start(&world, &["--read-only"]);
    let shown = page(&reads, &reads.person);
    assert_eq!(
        (
            orders(&shown),
            shown.contains("started with <code>--read-only</code>")
                && shown.contains("orch approve t")
        ),
        (0, true),
        "{shown}"
    );
}

#[test]
fn orders_rest_on_what_a_page_shows_although_the_task_changes_while_it_is_made() {
    let world = started("planning");
    let server = Server::start(&world, &["--no-watch"]);
    let path = "tasks/t/planning/plan.json";
    world.write(path, "");
    let change = |text: &str| {
        world.write("next.json", text);
        fs::rename(world.path("next.json"), world.path(path)).expect("renamed");
    };
    let tag = |text: &str| {
        change(text);
        let answer = server.get("tasks/t");
        answer.header("etag").expect("a tag").replace('"', "&quot;")
    };
    let tags = ["{}", "{"].map(tag);
    for after in (0..40).step_by(3) {
        change("{}");
        let page = thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(after));
                change("{");
            });
            let page = server.send("GET", "/tasks/t", &server.person, &[], "");
            page.body
        });
        let shown = &tags[usize::from(page.contains("planning/plan.json:1:2"))];
        assert!(
            page.contains(&format!("data-tag=\"{shown}\"")),
            "changed after {after} ms: {page}"
        );
    }
}
