//! Real NATS servers: alone, or three as a cluster.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Servers that know each other.
pub(super) struct Servers {
    home: tempfile::TempDir,
    pub nodes: Vec<Node>,
}

/// One server.
pub(super) struct Node {
    pub name: String,
    pub port: u16,
    monitor: u16,
    config: PathBuf,
    process: Option<Child>,
}

/// The program, if there is one: `NATS_SERVER` says where, or it is on the path. `make test-fleet` installs one.
pub(super) fn program() -> Option<PathBuf> {
    let named = std::env::var_os("NATS_SERVER").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut on_path = std::env::split_paths(&path).map(|directory| directory.join("nats-server"));
    named.or_else(|| on_path.find(|program| program.is_file()))
}

impl Servers {
    /// Starts so many servers, which listen when this returns.
    pub(super) fn start(program: &Path, count: usize) -> Self {
        let home = tempfile::tempdir().expect("a directory");
        let routes: Vec<u16> = (0..count).map(|_| free_port()).collect();
        let mut servers = Self {
            home,
            nodes: Vec::new(),
        };
        for number in 0..count {
            let node = servers.configured(number, &routes);
            servers.nodes.push(node);
        }
        for node in &mut servers.nodes {
            node.start(program);
        }
        servers
    }

    fn configured(&self, number: usize, routes: &[u16]) -> Node {
        let name = format!("n{number}");
        let port = free_port();
        let monitor = free_port();
        let store = self.home.path().join(&name);
        let mut text = format!(
            "server_name: {name}\nlisten: 127.0.0.1:{port}\nhttp: 127.0.0.1:{monitor}\n\
             jetstream {{ store_dir: \"{}\", max_mem: 64M, max_file: 256M }}\n",
            store.display()
        );
        if routes.len() > 1 {
            let urls = routes
                .iter()
                .map(|route| format!("nats://127.0.0.1:{route}"));
            let urls: Vec<String> = urls.collect();
            text += &format!(
                "cluster {{ name: fleet, listen: 127.0.0.1:{}, routes: [{}] }}\n",
                routes[number],
                urls.join(", ")
            );
        }
        let config = self.home.path().join(format!("{name}.conf"));
        fs::write(&config, text).expect("written");
        Node {
            name,
            port,
            monitor,
            config,
            process: None,
        }
    }

    /// The addresses of all.
    pub(super) fn url(&self) -> String {
        let urls = self
            .nodes
            .iter()
            .map(|node| format!("nats://127.0.0.1:{}", node.port));
        urls.collect::<Vec<_>>().join(",")
    }

    /// The server that leads a stream. Waits for an election.
    pub(super) fn leader(&self, stream: &str) -> usize {
        let begun = Instant::now();
        loop {
            for node in &self.nodes {
                let told = node
                    .process
                    .is_some()
                    .then(|| node.told("/jsz?streams=true"));
                if let Some(leader) = told.and_then(|told| leader_in(&told, stream)) {
                    let led = self.nodes.iter().position(|node| node.name == leader);
                    if let Some(led) = led.filter(|led| self.nodes[*led].process.is_some()) {
                        return led;
                    }
                }
            }
            assert!(
                begun.elapsed() < Duration::from_secs(30),
                "{stream} has a leader"
            );
            sleep(Duration::from_millis(50));
        }
    }
}

/// The leader that a server names for a stream.
fn leader_in(told: &str, stream: &str) -> Option<String> {
    let told: serde_json::Value = serde_json::from_str(told).ok()?;
    let accounts = told.get("account_details")?.as_array()?;
    let mut streams = accounts
        .iter()
        .filter_map(|account| account.get("stream_detail")?.as_array())
        .flatten();
    let found = streams.find(|found| found["name"] == *stream)?;
    Some(found["cluster"]["leader"].as_str()?.to_owned())
}

impl Node {
    /// Starts it, with what it has kept.
    #[expect(clippy::disallowed_methods, reason = "a real server")]
    pub(super) fn start(&mut self, program: &Path) {
        let mut command = Command::new(program);
        command.arg("-c").arg(&self.config);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        self.process = Some(command.spawn().expect("nats-server starts"));
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(
                begun.elapsed() < Duration::from_secs(20),
                "{} listens",
                self.name
            );
            sleep(Duration::from_millis(10));
        }
    }

    /// Ends it at once.
    pub(super) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Stops it from running, or lets it go on.
    pub(super) fn freeze(&self, is_frozen: bool) {
        use rustix::process::{Pid, Signal, kill_process};
        let process = self.process.as_ref().expect("it runs");
        let id = Pid::from_child(process);
        let signal = if is_frozen {
            Signal::STOP
        } else {
            Signal::CONT
        };
        kill_process(id, signal).expect("sent");
    }

    /// What its monitor answers.
    fn told(&self, path: &str) -> String {
        let Ok(mut connection) = TcpStream::connect(("127.0.0.1", self.monitor)) else {
            return String::new();
        };
        let _ = connection.set_read_timeout(Some(Duration::from_secs(1)));
        let _ = write!(connection, "GET {path} HTTP/1.0\r\n\r\n");
        let mut reader = BufReader::new(connection);
        let mut line = String::new();
        while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
            line.clear();
        }
        let mut body = String::new();
        let _ = reader.read_to_string(&mut body);
        body
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("bound").port()
}
