//! A server with many clients: what they wait for an answer while others listen and order.

use super::table::{Row, Table, Target, Unit};
use super::{ORCH, PLAN, RUNS, World, median, percentiles, places};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How many clients listen to events.
const LISTENERS: usize = 200;
/// How many clients order, each one order at a time.
const CLIENTS: usize = 16;
/// How many orders are sent in a second.
const RATE: u32 = 100;
/// How many reads are timed while nothing else happens.
const READS: usize = 500;
/// How many tasks the orders are about.
const TASKS: usize = 50;
/// How many orders are timed while nothing else happens.
const ALONE: usize = 30;

/// A running server.
struct Server {
    child: Child,
    port: u16,
    token: String,
}

/// An answer, and how long it took.
struct Answer {
    status: u16,
    time: Duration,
    body: String,
}

/// A connection that is kept open.
struct Client<'s> {
    stream: BufReader<TcpStream>,
    server: &'s Server,
}

impl Server {
    fn start(world: &World) -> Self {
        let mut command = world.command(ORCH, &["serve", "--listen", "127.0.0.1:0", "--no-watch"]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("orch starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe"))
            .read_line(&mut line)
            .expect("a line");
        let rest = line
            .trim()
            .strip_prefix("http://127.0.0.1:")
            .expect("an address");
        let (port, token) = rest.split_once("/?token=").expect("a token");
        Self {
            child,
            port: port.parse().expect("a port"),
            token: token.to_owned(),
        }
    }

    fn client(&self) -> Client<'_> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("connected");
        stream.set_nodelay(true).expect("set");
        stream
            .set_read_timeout(Some(Duration::from_secs(120)))
            .expect("set");
        Client {
            stream: BufReader::new(stream),
            server: self,
        }
    }
}

impl Client<'_> {
    fn send(&mut self, method: &str, path: &str, body: &str) {
        let Server { port, token, .. } = self.server;
        let head = format!(
            "{method} /api/v1/{path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream
            .get_mut()
            .write_all(head.as_bytes())
            .expect("sent");
    }

    /// The head of an answer, in small letters.
    fn head(&mut self) -> String {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(
                self.stream.read_line(&mut head).expect("a line") > 0,
                "{head}"
            );
        }
        head.to_ascii_lowercase()
    }

    /// Sends a request and reads the answer.
    fn ask(&mut self, method: &str, path: &str, body: &str) -> Answer {
        let begun = Instant::now();
        self.send(method, path, body);
        let head = self.head();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        let mut body = vec![0; length.expect("a length")];
        self.stream.read_exact(&mut body).expect("a body");
        let time = begun.elapsed();
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        Answer {
            status: status.expect("a status"),
            time,
            body: String::from_utf8(body).expect("text"),
        }
    }
}

/// What a client heard of.
#[derive(Default)]
struct Heard {
    /// The number of the last event.
    last: Option<u64>,
    missed: bool,
    /// How often each step was told. Only one client reads what it hears, because all are sent the same events and
    /// share the processors with the server.
    steps: BTreeMap<String, usize>,
}

/// Listens until a step of the task `last`.
fn listen(server: &Server, ready: &AtomicUsize, reads: bool) -> Heard {
    let mut client = server.client();
    client.send("GET", "events", "");
    client.head();
    let (mut heard, mut number, mut name, mut line) =
        (Heard::default(), None::<u64>, String::new(), String::new());
    loop {
        line.clear();
        assert!(
            client.stream.read_line(&mut line).expect("an event") > 0,
            "the stream has ended"
        );
        match line.trim_end().split_once(": ") {
            Some(("id", id)) => {
                let now = id
                    .rsplit_once('-')
                    .and_then(|(_, number)| number.parse().ok());
                heard.missed |= number.is_some() && now != number.map(|number| number + 1);
                number = now;
                heard.last = now;
            }
            Some(("event", event)) => event.clone_into(&mut name),
            Some(("data", _)) if name == "ready" => drop(ready.fetch_add(1, Ordering::SeqCst)),
            Some(("data", _)) if name == "reset" => heard.missed = true,
            Some(("data", data)) if name == "transition" => {
                if reads {
                    let event: serde_json::Value = serde_json::from_str(data).expect("JSON");
                    let text = |key: &str| event["transition"][key].as_str().unwrap_or_default();
                    let step = format!("{} {}", text("task"), text("commit"));
                    *heard.steps.entry(step).or_default() += 1;
                }
                if data.contains("\"task\":\"last\"") {
                    return heard;
                }
            }
            _ => {}
        }
    }
}

/// Adds rows for each kind of request, for a repository on the disk and one in memory. `ORCH_BENCH_SECONDS` is how long
/// orders are sent.
pub fn serve(table: &mut Table) {
    places()
        .iter()
        .for_each(|(what, place)| serve_in(what, place, table));
}

fn serve_in(what: &str, place: &Path, table: &mut Table) {
    let seconds = std::env::var("ORCH_BENCH_SECONDS")
        .ok()
        .and_then(|seconds| seconds.parse().ok());
    let seconds: u32 = seconds.unwrap_or(5);
    let world = World::within(place, ORCH);
    for number in 0..TASKS {
        world.task(&format!("s-{number}"));
    }
    (0..ALONE).for_each(|number| world.task(&format!("a-{number}")));
    world.task("last");
    let commit = || world.time("git", &["commit", "-q", "--allow-empty", "-m", "by hand"]);
    let commit = median((0..RUNS).map(|_| commit()).collect());
    let before = world.commits("HEAD");
    let mut server = Server::start(&world);
    let ready = AtomicUsize::new(0);
    let sent = AtomicUsize::new(0);
    let total = (seconds * RATE) as usize;
    let (mut idle, mut alone, mut reads, mut orders, mut moved) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), ALONE);
    let (mut heard, mut lasted) = (Vec::new(), Duration::ZERO);
    thread::scope(|scope| {
        let (server, world, ready, sent) = (&server, &world, &ready, &sent);
        let listeners: Vec<_> = (0..LISTENERS)
            .map(|at| scope.spawn(move || listen(server, ready, at == 0)))
            .collect();
        while ready.load(Ordering::SeqCst) < LISTENERS {
            thread::sleep(Duration::from_millis(10));
        }
        let mut reader = server.client();
        idle = (0..READS)
            .map(|at| {
                reader
                    .ask("GET", &format!("tasks/s-{}", at % TASKS), "")
                    .time
            })
            .collect();
        alone = (0..ALONE)
            .map(|at| reader.ask("POST", &format!("tasks/a-{at}/next"), "{}").time)
            .collect();
        let begun = Instant::now();
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| scope.spawn(move || order(server, world, sent, total, begun)))
            .collect();
        while clients.iter().any(|client| !client.is_finished()) {
            reads.push(reader.ask("GET", "tasks/last", "").time);
            thread::sleep(Duration::from_millis(10));
        }
        lasted = begun.elapsed();
        for client in clients {
            let (times, steps) = client.join().expect("all orders are answered");
            orders.extend(times);
            moved += steps;
        }
        server.client().ask("POST", "tasks/last/next", "");
        heard = listeners
            .into_iter()
            .map(|listener| listener.join().expect("it listens"))
            .collect();
    });
    let _ = server.child.kill();
    let _ = server.child.wait();
    // The step of `last` is not an order of these.
    let recorded = world.commits("HEAD") - before - 1;
    let told = heard
        .first()
        .map(|reader| reader.steps.clone())
        .unwrap_or_default();
    let lost = heard
        .iter()
        .filter(|one| one.missed || one.last != heard[0].last)
        .count();
    let twice = told.values().filter(|count| **count > 1).count();
    let size = format!("{LISTENERS} clients {what}");
    let most = Target::Most;
    let mut tell = |times, row: &dyn Fn(f64) -> Row| {
        let (median, slow) = percentiles(times);
        table.add(row(median));
        table.add(Row::ms("  99 of 100 within", &size, slow));
    };
    let order = |what: &str, took| Row::ms(what, &size, took).beside("git commit, empty", commit);
    tell(idle, &|took| {
        Row::ms("serve, read", &size, took).target(most(5.0))
    });
    tell(reads, &|took| {
        Row::ms("serve, read among orders", &size, took).target(most(5.0))
    });
    tell(alone, &|took| {
        order("serve, order", took).target(most(25.0 + commit))
    });
    tell(orders, &|took| {
        order("serve, order among others", took).target(most(25.0 + commit))
    });
    let answered = f64::from(seconds * RATE) / lasted.as_secs_f64();
    let row = Row::new("serve, orders answered", &size, Unit::PerSecond, answered);
    table.add(
        row.beside("ordered", f64::from(RATE))
            .target(Target::Least(0.99 * f64::from(RATE))),
    );
    for (what, count) in [
        ("serve, clients that missed", lost),
        ("serve, events twice", twice),
    ] {
        table.add(Row::new(what, &size, Unit::Count, count as f64).target(most(0.0)));
    }
    let all_told = told.len() == moved + 1;
    assert!(
        all_told && moved == recorded && lost == 0 && twice == 0,
        "events are lost, or tasks are moved twice"
    );
}

/// Sends orders at their times until all are sent: each task continues, which is ordered twice, and is sent back. Returns
/// how long the answers took, and how many steps were taken.
fn order(
    server: &Server,
    world: &World,
    sent: &AtomicUsize,
    total: usize,
    begun: Instant,
) -> (Vec<Duration>, usize) {
    let mut client = server.client();
    let (mut times, mut steps) = (Vec::new(), 0);
    loop {
        let number = sent.fetch_add(1, Ordering::SeqCst);
        if number >= total {
            return (times, steps);
        }
        let due = Duration::from_secs(1) * u32::try_from(number).expect("small") / RATE;
        thread::sleep((begun + due).saturating_duration_since(Instant::now()));
        let place = number % (3 * TASKS);
        let (task, order, body) = match place.checked_sub(2 * TASKS) {
            None => (place / 2, "next", "{\"expect\": \"plan_review\"}"),
            Some(task) => (
                task,
                "rollback",
                "{\"to\": \"planning\", \"reason\": \"again\"}",
            ),
        };
        let answer = client.ask("POST", &format!("tasks/s-{task}/{order}"), body);
        assert_eq!(answer.status, 200, "{order}: {}", answer.body);
        times.push(answer.time);
        let document: serde_json::Value = serde_json::from_str(&answer.body).expect("JSON");
        steps += document["transitions"].as_array().map_or(0, Vec::len);
        if order == "rollback" {
            // The plan is used up.
            let plan = PLAN.replace("\"Bench\"", &format!("\"Bench {number}\""));
            world.write(&format!("tasks/s-{task}/planning/planning.ai.json"), &plan);
        }
    }
}
