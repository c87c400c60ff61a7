//! A fleet over NATS: a take beside a bare write of the same client and beside a take on a git remote, and tasks that workers
//! drain beside the same transitions alone.

use super::table::{Row, Table};

/// Adds the figures, unless there is no server.
#[cfg(not(feature = "nats"))]
pub fn queue(table: &mut Table) {
    let why = "built without `nats`: make bench-fleet";
    table.add(Row::skipped("a fleet over NATS", why));
}

/// Adds the figures, unless there is no server.
#[cfg(feature = "nats")]
pub fn queue(table: &mut Table) {
    match measured::Server::start() {
        Some(server) => measured::fleet(table, &server),
        None => table.add(Row::skipped("a fleet over NATS", "NATS_SERVER names none")),
    }
}

#[cfg(feature = "nats")]
mod measured {
    use super::super::table::{Row, Table, Target, Unit};
    use super::super::{World, paired};
    use orch_base::{TaskId, Timestamp};
    use orch_core::lease::{Lease, LeaseOwner};
    use orch_engine::apply::{AdvancePlan, TakeWish, TaskOutcome, Writer};
    use orch_engine::survey::{Caller, Workspace};
    use orch_fleet::git::GitLeases;
    use orch_fleet::leases::{LeaseTerms, Leases, TakeOutcome};
    use orch_fleet::nats::leases::NatsLeases;
    use orch_fleet::nats::wake_ups::WakeUps;
    use orch_fleet::queue::QueuePlace;
    use orch_fleet::store::LeaseStore;
    use orch_git::{Environment, Store};
    use std::net::{TcpListener, TcpStream};
    use std::path::Path;
    use std::process::{Child, Command, Stdio};
    use std::thread::{scope, sleep};
    use std::time::{Duration, Instant};

    /// A server that ends with its value.
    pub struct Server {
        process: Child,
        port: u16,
        _home: tempfile::TempDir,
    }

    impl Server {
        /// Starts the server that `NATS_SERVER` names.
        pub fn start() -> Option<Self> {
            let program = std::env::var_os("NATS_SERVER")?;
            let home = tempfile::tempdir().expect("a directory");
            let free = TcpListener::bind("127.0.0.1:0").expect("a port");
            let port = free.local_addr().expect("bound").port();
            drop(free);
            let process = Command::new(program)
                .args(["-a", "127.0.0.1", "-p", &port.to_string(), "-js", "-sd"])
                .arg(home.path())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("the server starts");
            while TcpStream::connect(("127.0.0.1", port)).is_err() {
                sleep(Duration::from_millis(10));
            }
            Some(Self {
                process,
                port,
                _home: home,
            })
        }

        fn place(&self, bucket: &str) -> QueuePlace {
            QueuePlace {
                url: format!("nats://127.0.0.1:{}", self.port),
                bucket: bucket.to_owned(),
                secret: None,
            }
        }
    }

    impl Drop for Server {
        fn drop(&mut self) {
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }

    pub fn fleet(table: &mut Table, server: &Server) {
        takes(table, server);
        // Workers and tasks.
        let size = std::env::var("ORCH_BENCH_FLEET").unwrap_or_default();
        let (workers, tasks) = match size.split_once('x') {
            Some((workers, tasks)) => (
                workers.parse().expect("a number of workers"),
                tasks.parse().expect("a number of tasks"),
            ),
            None => (5, 50),
        };
        drained(table, server, workers, tasks);
    }

    fn owner(name: &str) -> LeaseOwner {
        LeaseOwner {
            name: name.to_owned(),
            token: format!("token of {name}"),
        }
    }

    fn terms() -> LeaseTerms {
        LeaseTerms {
            length: None,
            usual: Duration::from_secs(1800),
            now: Timestamp::from_seconds(1000),
            place: "bench".to_owned(),
            branch: None,
            run: None,
        }
    }

    /// Times an operation on tasks that nobody has taken, one after the other.
    fn timed<'t>(
        kind: &'t str,
        mut what: impl FnMut(&TaskId) + 't,
    ) -> Box<dyn FnMut() -> Duration + 't> {
        let mut number = 0;
        Box::new(move || {
            number += 1;
            let task = TaskId::new(format!("{kind}-{number}")).expect("an id");
            let begun = Instant::now();
            what(&task);
            begun.elapsed()
        })
    }

    fn take(store: &mut dyn LeaseStore, task: &TaskId) {
        let taken = Leases::new(store, owner("ann")).take(task, 0, &terms(), false);
        let taken = taken.expect("reached");
        assert!(matches!(taken, TakeOutcome::Held { .. }), "{taken:?}");
    }

    fn takes(table: &mut Table, server: &Server) {
        let remote = tempfile::tempdir().expect("a directory");
        let world = World::new();
        let path = remote.path().to_str().expect("text");
        world.run("git", &["init", "-q", "--bare", path]);
        world.run("git", &["remote", "add", "origin", path]);
        world.run("git", &["push", "-q", "origin", "main"]);
        let store = Store::discover(world.root(), &Environment::default());
        let store = store.expect("usable").expect("a repository");
        let mut by_git = GitLeases::open(store, "origin").expect("usable");
        let mut bare = NatsLeases::open(&server.place("bare")).expect("usable");
        let mut by_nats = NatsLeases::open(&server.place("takes")).expect("usable");
        let lease = Lease {
            owner: owner("ann"),
            generation: 1,
            nonce: "0123456789abcdef".to_owned(),
            length: 1800,
            since: Timestamp::from_seconds(1000),
            until: Timestamp::from_seconds(2800),
            place: "bench".to_owned(),
            branch: None,
            run: None,
        };
        let [created, nats, git] = paired([
            timed("bare", |task| {
                bare.put(task, None, &lease).expect("reached");
            }),
            timed("nats", |task| take(&mut by_nats, task)),
            timed("git", |task| take(&mut by_git, task)),
        ]);
        table.add(
            Row::ms("take over NATS", "a free task", nats)
                .beside("a bare create of a key", created)
                .target(Target::MostTimes(2.0)),
        );
        table.add(
            Row::new("takes over NATS", "a free task", Unit::Count, git / nats)
                .beside("of those over git", 1.0)
                .target(Target::Least(50.0)),
        );
    }

    /// A repository with tasks of which one transition is due each.
    fn ready(tasks: usize) -> World {
        let world = World::new();
        world.run("git", &["config", "user.name", "Bench"]);
        world.run("git", &["config", "user.email", "bench@example.com"]);
        (0..tasks).for_each(|number| world.task(&format!("t-{number}")));
        world
    }

    fn caller() -> Caller {
        Caller {
            trusts_once: true,
            ..Caller::from_environment(|_| None)
        }
    }

    fn open(root: &Path) -> Workspace {
        Workspace::open(root, Environment::default()).expect("a workspace")
    }

    /// Applies what is due for a task.
    fn advance(writer: &Writer<'_>, task: &str) {
        let task = writer.workspace.finder().task(task).expect("a task");
        let plan = AdvancePlan {
            may: &|_| true,
            lapses: false,
            once: false,
            own: true,
            dry_run: false,
            adopt: &|_| false,
        };
        let done = writer.advance().tasks(&[task], &plan).expect("recorded");
        assert!(matches!(done[..], [TaskOutcome::Applied(_)]));
    }

    /// Takes a task, applies what is due, and gives it back.
    fn work(writer: &Writer<'_>, task: &str) {
        let found = writer.workspace.finder().task(task).expect("a task");
        let sight = writer.workspace.look(&found).expect("a look");
        let taking = writer.taking();
        taking.take(&sight, TakeWish::default()).expect("taken");
        advance(writer, task);
        taking.release(&found, None).expect("released");
    }

    fn drained(table: &mut Table, server: &Server, workers: usize, tasks: usize) {
        let alone = ready(tasks);
        let caller = caller();
        let workspace = open(alone.root());
        let writer = Writer::new(&workspace, &caller);
        let begun = Instant::now();
        (0..tasks).for_each(|number| advance(&writer, &format!("t-{number}")));
        let transitions = begun.elapsed();

        let world = ready(tasks);
        let place = server.place("drained");
        let settings = std::fs::read_to_string(world.root().join("orch.toml")).expect("settings");
        let leases = format!(
            "{settings}\n[leases]\nstore = \"nats\"\nurl = \"{}\"\nbucket = \"{}\"\n",
            place.url, place.bucket
        );
        world.write("orch.toml", &leases);
        world.run("git", &["commit", "-qam", "Leases in NATS"]);
        let queue = WakeUps::open(&place).expect("usable");
        for number in 0..tasks {
            let task = TaskId::new(format!("t-{number}")).expect("an id");
            queue.publish(&task).expect("published");
        }
        let begun = Instant::now();
        scope(|threads| {
            for _ in 0..workers {
                threads.spawn(|| {
                    let queue = WakeUps::open(&place).expect("usable");
                    let workspace = open(world.root());
                    let writer = Writer::new(&workspace, &caller);
                    while let Some(woken) = queue.next(Duration::from_millis(20)).expect("reached")
                    {
                        queue.acknowledge(&woken).expect("acknowledged");
                        work(&writer, woken.task.as_str());
                    }
                });
            }
        });
        let drained = begun.elapsed();
        let size = format!("{workers} x {tasks}");
        table.add(
            Row::ms("workers drain tasks", &size, drained.as_secs_f64() * 1e3)
                .beside("the transitions alone", transitions.as_secs_f64() * 1e3)
                .target(Target::MostTimes(1.5)),
        );
    }
}
