//! The pages of the board, as a browser gets them.

use super::client::Server;
use crate::harness::World;

#[test]
fn the_board_and_its_assets_are_behind_the_gate_and_come_from_the_binary() {
    let world = World::ready();
    world.orch(&["new", "team/t-1", "--title", "A title"]).succeeds();
    world.orch(&["new", "t-2"]).succeeds();
    world.write("system/board/board.js", "alert(1)");
    let server = Server::start(&world, &[]);
    let get = |path: &str, token: &str| server.send("GET", path, token, &[], "");
    let pages = ["/", "/?q=title&owner=agent&new=1", "/cards?task=team/t-1", "/tasks/team%2Ft-1"];
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
            server.raw("GET", path, &[("Host", &format!("127.0.0.1:{}", server.port))], "").status,
            401
        );
    }
    assert!(!get("/cards?task=team/t-1", &server.person).body.contains("t-2"));
    assert!(!get("/cards?task=gone", &server.person).body.contains("<li"));
    let filtered = get("/?owner=human", &server.person).body;
    let cards: Vec<&str> =
        filtered.split("<li class=\"card\"").skip(1).filter_map(|card| card.split('>').next()).collect();
    assert!(cards.len() == 2 && cards.iter().all(|card| card.ends_with(" hidden")), "{cards:?}");
    for (path, media) in
        [("board.css", "text/css; charset=utf-8"), ("board.js", "text/javascript; charset=utf-8")]
    {
        let answer = get(&format!("/assets/{path}"), &server.person);
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(media)), "{path}");
        assert!(!answer.body.contains("alert"), "a repository replaces no asset");
        assert_eq!(
            answer.body,
            std::fs::read_to_string(crate::harness::project().join("system/board").join(path))
                .expect("an asset")
        );
    }
    for path in ["/tasks/none", "/tasks/team", "/assets/board.html", "/assets/..%2Fagents%2Fcoder.md"] {
        assert_eq!(get(path, &server.person).status, 404, "{path}");
    }
}

#[test]
fn a_person_has_a_button_for_each_order_and_nobody_else_has_one() {
    let world = World::ready();
    world.orch(&["new", "t"]).succeeds();
    let server = Server::start(&world, &[]);
    let page = |server: &Server, token: &str| server.send("GET", "/tasks/t", token, &[], "").body;
    let orders = |page: &str| page.matches("data-path=\"/api/v1/tasks/t/").count();
    let mine = page(&server, &server.person);
    assert!(mine.contains("data-path=\"/api/v1/tasks/t/override\" data-known=\"{}\""), "{mine}");
    assert!(mine.contains("<textarea id=\"order-0-0\" name=\"reason\""), "it asks for its reason");
    let tag = server.get("tasks/t").header("etag").expect("a tag").replace('"', "&quot;");
    assert!(mine.contains(&format!("data-tag=\"{tag}\"")), "orders rest on what is shown");
    let agents = page(&server, &server.agent);
    assert_eq!((orders(&agents), agents.contains("WHY")), (0, false), "{agents}");
    let reads = Server::start(&world, &["--read-only"]);
    let shown = page(&reads, &reads.person);
    assert_eq!((orders(&shown), shown.contains("orch next t --override WHY")), (0, true), "{shown}");
}
