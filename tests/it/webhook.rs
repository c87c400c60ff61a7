//! Word of events by a webhook: signed, tried again within limits, and sent nowhere else.

use crate::harness::{Ended, World};
use crate::run::{GOOD, LOOP, Loop};
use orch_read::Schema;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// A request that a server has got.
struct Request {
    head: String,
    body: String,
}

impl Request {
    fn read(stream: &TcpStream) -> Self {
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut head).expect("a line") > 0, "{head}");
        }
        let mut request = Self {
            head,
            body: String::new(),
        };
        let length = request
            .header("content-length")
            .and_then(|length| length.parse().ok());
        let mut body = vec![0; length.expect("a length")];
        reader.read_exact(&mut body).expect("a body");
        request.body = String::from_utf8(body).expect("text");
        request
    }

    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .into_iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }
}

/// A server that answers one request after another with these statuses, and then with 200. At `0` it hangs up, and at
/// `1` it answers what is not HTTP.
fn server(statuses: &'static [u16]) -> (u16, Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (send, got) = channel();
    thread::spawn(move || {
        for (stream, status) in listener
            .incoming()
            .zip(statuses.iter().copied().chain(std::iter::repeat(200)))
        {
            let mut stream = stream.expect("a connection");
            let request = Request::read(&stream);
            if status == 1 {
                stream.write_all(b"Thank you!\r\n\r\n").expect("sent");
            } else if status > 0 {
                let answer = format!(
                    "HTTP/1.1 {status} X\r\nLocation: /elsewhere\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                );
                stream.write_all(answer.as_bytes()).expect("sent");
            }
            drop(stream);
            if send.send(request).is_err() {
                return;
            }
        }
    });
    (port, got)
}

/// A task whose run is told to this address. `more` are further lines of the entry.
fn task(url: &str, more: &str) -> Loop {
    let task = Loop::with(LOOP, GOOD);
    let entry = format!("[[notify]]\non = [\"done\"]\nwebhook = \"{url}\"\n{more}\n");
    task.world.write(
        "orch.toml",
        format!("{}\n{entry}", task.world.read("orch.toml")),
    );
    task.world.commit("notify");
    task
}

/// Runs the task to its end, with a key in the environment.
fn run(world: &World) -> Ended {
    let mut command = world.orch_command(&["run", "t", "--auto"]);
    world.end(
        command
            .env("HOOK_KEY", "a key")
            .output()
            .expect("orch runs"),
    )
}

/// The HMAC-SHA256 of a body, by its definition.
fn signature(key: &[u8], body: &str) -> String {
    let pad = |with: u8| -> Vec<u8> {
        (0..64)
            .map(|at| key.get(at).copied().unwrap_or_default() ^ with)
            .collect()
    };
    let inner = Sha256::digest([pad(0x36), body.as_bytes().to_vec()].concat());
    let outer = Sha256::digest([pad(0x5c), inner.to_vec()].concat());
    outer.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_document_is_signed_and_sent_again_until_it_is_taken() {
    let (port, got) = server(&[503, 0]);
    let task = task(
        &format!("HTTP://127.0.0.1:{port}/hook?a=b"),
        "secret = \"HOOK_KEY\"",
    );
    run(&task.world).succeeds();
    let requests: Vec<Request> = got.try_iter().collect();
    assert_eq!(requests.len(), 3);
    let schema = crate::harness::project().join("system/schemas/output/notice.schema.json");
    let schema = Schema::compile("notice", &fs::read_to_string(schema).expect("readable"))
        .expect("a schema");
    for request in &requests {
        assert!(
            request.head.starts_with("POST /hook?a=b HTTP/1.1\r\n"),
            "{}",
            request.head
        );
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert!(
            request
                .header("user-agent")
                .is_some_and(|name| name.starts_with("orch/"))
        );
        let expected = format!("sha256={}", signature(b"a key", &request.body));
        assert_eq!(
            request.header("x-hub-signature-256"),
            Some(expected.as_str())
        );
        assert_eq!(
            request.header("x-orch-delivery"),
            requests[0].header("x-orch-delivery")
        );
        let document: Value = serde_json::from_str(&request.body).expect("JSON");
        assert_eq!(schema.validate(&document), [], "{document:#}");
        assert_eq!(
            (&document["event"], &document["suggestion"]["task"]),
            (&"done".into(), &"t".into())
        );
    }
}

#[test]
fn what_is_not_taken_is_reported_and_the_run_is_as_it_was() {
    for (statuses, count, told) in [
        (&[500, 501, 502, 503][..], 4, "it answered with 503"),
        (
            &[302],
            1,
            "it answered with 302; redirects are not followed",
        ),
        (&[404], 1, "it answered with 404"),
        (
            &[1],
            1,
            "it received the document, but its answer is not valid HTTP",
        ),
        (
            &[503, 1],
            2,
            "it received the document, but its answer is not valid HTTP",
        ),
    ] {
        let (port, got) = server(statuses);
        let url = format!("http://127.0.0.1:{port}/");
        let task = task(&url, "");
        run(&task.world)
            .succeeds()
            .reports("notify-failed")
            .reports(&format!("`{url}` of [notify.1]"))
            .reports(told);
        let requests: Vec<Request> = got.try_iter().collect();
        assert_eq!(requests.len(), count, "{told}");
        assert_eq!(requests[0].header("x-hub-signature-256"), None);
    }
    // Nobody listens there.
    let port = TcpListener::bind("127.0.0.1:0")
        .and_then(|free| free.local_addr())
        .expect("a port")
        .port();
    run(&task(&format!("http://127.0.0.1:{port}/"), "").world)
        .succeeds()
        .reports("notify-failed");
    // Nobody answers there.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("an address").port();
    let task = task(
        &format!("http://127.0.0.1:{port}/"),
        "time_limit = \"300ms\"",
    );
    run(&task.world)
        .succeeds()
        .reports("there was no answer in time");
}

#[test]
fn nothing_is_sent_without_trust_or_without_the_key() {
    let (port, got) = server(&[]);
    let first = task(
        &format!("http://127.0.0.1:{port}/"),
        "secret = \"NO_SUCH_KEY\"",
    );
    run(&first.world)
        .succeeds()
        .reports("the variable NO_SUCH_KEY is not set");
    first.world.orch(&["trust", "--show"]).says(&format!(
        "http://127.0.0.1:{port}/, signed with $NO_SUCH_KEY"
    ));
    let second = task(&format!("http://127.0.0.1:{port}/"), "");
    let world = &second.world;
    let untrusted = |arguments: &[&str]| {
        let mut command = world.orch_command(arguments);
        world.end(
            command
                .env_remove("ORCH_TRUST_ONCE")
                .output()
                .expect("orch runs"),
        )
    };
    let trusted = "[executor.default]";
    assert!(
        world.read("orch.toml").contains(trusted),
        "{}",
        world.read("orch.toml")
    );
    untrusted(&["trust", "--show"]).ends(1).says(&format!(
        "not trusted  notify.1  post to http://127.0.0.1:{port}/"
    ));
    untrusted(&["trust"]).succeeds();
    // Another address needs trust of its own.
    let text = world
        .read("orch.toml")
        .replace(&format!("{port}/"), &format!("{port}/other"));
    world.write("orch.toml", &text);
    world.commit("another address");
    untrusted(&["run", "t", "--auto"])
        .succeeds()
        .reports("nobody has trusted")
        .reports("/other");
    assert_eq!(got.try_iter().count(), 0);
    assert_eq!(second.state()["status"], "done");
}
