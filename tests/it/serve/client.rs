//! A client of HTTP, and the server that it talks to.

use crate::harness::World;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A running `orch serve`, which is killed when dropped.
pub struct Server {
    child: Child,
    pub port: u16,
    pub person: String,
    pub agent: String,
}

/// A stream of events that is being read.
pub struct Listener {
    reader: BufReader<TcpStream>,
    /// The id of the last event.
    pub last: String,
}

impl Listener {
    /// The next event: its name and its data; `None` if the stream has ended.
    pub fn next(&mut self) -> Option<(String, Value)> {
        let mut name = String::new();
        loop {
            let mut line = String::new();
            // The sizes of chunks stand on lines of their own.
            if self
                .reader
                .read_line(&mut line)
                .expect("an event within a minute")
                == 0
            {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("id", id)) => self.last = id.to_owned(),
                Some(("event", event)) => event.clone_into(&mut name),
                Some(("data", data)) => {
                    return Some((name, serde_json::from_str(data).expect("JSON")));
                }
                _ => {}
            }
        }
    }

    /// The data of the next event with this name.
    #[track_caller]
    pub fn hears(&mut self, name: &str) -> Value {
        let mut heard = Vec::new();
        while let Some((event, data)) = self.next() {
            if event == name {
                return data;
            }
            heard.push(event);
        }
        panic!("no {name} in {heard:?}");
    }
}

/// An answer of HTTP.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub body: String,
}

impl Server {
    /// Starts a server at a free port.
    pub fn start(world: &World, options: &[&str]) -> Self {
        Self::begin(
            world,
            world.orch_command(&[&["serve", "--listen", "127.0.0.1:0"], options].concat()),
        )
    }

    /// Starts this command, and waits until it listens.
    pub fn begin(world: &World, mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("orch starts");
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        output.read_line(&mut line).expect("a line");
        let rest = line
            .trim()
            .strip_prefix("http://127.0.0.1:")
            .unwrap_or_else(|| panic!("{line:?}"));
        let (port, person) = rest.split_once("/?token=").expect("a token");
        let tokens = world.json(".git/orch/serve.json");
        assert_eq!(tokens["person"], person);
        let agent = tokens["agent"].as_str().expect("a token").to_owned();
        Self {
            child,
            port: port.parse().expect("a port"),
            person: person.to_owned(),
            agent,
        }
    }

    /// Asks as the person.
    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", &format!("/api/v1/{path}"), &self.person, &[], "")
    }

    /// Orders as the person.
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        let json = [("Content-Type", "application/json")];
        self.send(
            "POST",
            &format!("/api/v1/{path}"),
            &self.person,
            &json,
            &body.to_string(),
        )
    }

    /// Asks or orders as an agent.
    pub fn by_agent(&self, method: &str, path: &str, body: &str) -> Answer {
        let json = [("Content-Type", "application/json")];
        self.send(method, &format!("/api/v1/{path}"), &self.agent, &json, body)
    }

    /// Sends a request with a token.
    pub fn send(
        &self,
        method: &str,
        path: &str,
        token: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let (host, bearer) = (
            format!("127.0.0.1:{}", self.port),
            format!("Bearer {token}"),
        );
        let own = [("Host", host.as_str()), ("Authorization", bearer.as_str())];
        self.raw(method, path, &[&own, headers].concat(), body)
    }

    /// Sends a request with exactly these headers.
    pub fn raw(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = self.open(method, path, headers, body);
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("an answer");
        Answer::parse(&bytes)
    }

    /// Sends a request, and leaves the answer to be read.
    pub fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("connected");
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            text.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        stream
            .write_all(format!("{text}\r\n{body}").as_bytes())
            .expect("sent");
        stream
    }

    /// Listens to a stream, after the event with the id `last` if it is given.
    pub fn listen(&self, path: &str, last: Option<&str>) -> Listener {
        let (host, bearer) = (
            format!("127.0.0.1:{}", self.port),
            format!("Bearer {}", self.person),
        );
        let mut headers = vec![("Host", host.as_str()), ("Authorization", bearer.as_str())];
        headers.extend(last.map(|last| ("Last-Event-ID", last)));
        let stream = self.open("GET", &format!("/api/v1/{path}"), &headers, "");
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .expect("set");
        let mut listener = Listener {
            reader: BufReader::new(stream),
            last: String::new(),
        };
        let mut status = String::new();
        listener.reader.read_line(&mut status).expect("a status");
        assert!(status.starts_with("HTTP/1.1 200"), "{status}");
        listener
    }

    /// Ends the server as Ctrl-C does. Returns its exit code.
    pub fn stop(mut self) -> Option<i32> {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, rustix::process::Signal::INT).expect("sent");
        self.child.wait().expect("ends").code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Answer {
    /// The answer in these bytes. A body in chunks is put together.
    fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8(bytes.to_vec()).expect("text");
        let (head, body) = text
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("no answer: {text:?}"));
        let mut lines = head.lines();
        let status = lines
            .next()
            .and_then(|line| line.split(' ').nth(1)?.parse().ok())
            .expect("a status");
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        let mut answer = Self {
            status,
            headers,
            body: body.to_owned(),
        };
        if answer.header("transfer-encoding") == Some("chunked") {
            answer.body = unchunked(body);
        }
        answer
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The code of a problem document.
    #[track_caller]
    pub fn code(&self) -> String {
        let document = self.json();
        assert_eq!(document["status"], self.status, "{self:?}");
        document["code"]
            .as_str()
            .unwrap_or_else(|| panic!("no problem: {self:?}"))
            .to_owned()
    }
}

fn unchunked(body: &str) -> String {
    let (mut whole, mut rest) = (String::new(), body);
    while let Some((size, more)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("a size");
        whole.push_str(&more[..size]);
        rest = more[size..].trim_start_matches("\r\n");
    }
    whole
}
