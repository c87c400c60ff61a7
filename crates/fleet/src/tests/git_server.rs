//! git remotes of tests: a bare repository, reached as a file, over http and over git's own protocol.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// How clones reach the bare repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    File,
    Http,
    Daemon,
}

/// A bare repository with clones.
pub(super) struct World {
    home: tempfile::TempDir,
    pub url: String,
    pub reach: Reach,
    format: String,
    clones: AtomicUsize,
    daemon: Option<Child>,
}

impl World {
    pub(super) fn new(reach: Reach, format: &str) -> Self {
        let home = tempfile::tempdir().expect("a directory");
        let bare = home.path().join("remote.git");
        let format = format!("--object-format={format}");
        git(
            home.path(),
            &["init", "-q", "--bare", "-b", "main", &format, "remote.git"],
        );
        git(&bare, &["config", "http.receivepack", "true"]);
        let mut daemon = None;
        let url = match reach {
            Reach::File => format!("file://{}", bare.display()),
            Reach::Http => {
                let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
                let port = listener.local_addr().expect("bound").port();
                let root = home.path().to_owned();
                thread::spawn(move || serve(&listener, &root));
                format!("http://127.0.0.1:{port}/remote.git")
            }
            Reach::Daemon => {
                let port = free_port();
                daemon = Some(start_daemon(home.path(), port));
                format!("git://127.0.0.1:{port}/remote.git")
            }
        };
        Self {
            home,
            url,
            reach,
            format,
            clones: AtomicUsize::new(0),
            daemon,
        }
    }

    pub(super) fn bare(&self) -> PathBuf {
        self.home.path().join("remote.git")
    }

    /// A new clone, with the remote `origin`.
    pub(super) fn cloned(&self) -> PathBuf {
        let name = format!("clone-{}", self.clones.fetch_add(1, Relaxed));
        git(
            self.home.path(),
            &["init", "-q", "-b", "main", &self.format, &name],
        );
        let clone = self.home.path().join(name);
        git(&clone, &["remote", "add", "origin", &self.url]);
        git(&clone, &["config", "user.name", "Ann"]);
        git(&clone, &["config", "user.email", "ann@example.com"]);
        clone
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(daemon) = &mut self.daemon {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

pub(super) fn store_at(clone: &Path) -> orch_git::Store {
    let found = orch_git::Store::discover(clone, &orch_git::Environment::default());
    found.expect("usable").expect("a repository")
}

/// Runs git, which must succeed, and returns its stdout.
#[track_caller]
pub(super) fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = git_command(directory, arguments)
        .output()
        .expect("git starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {said}");
    String::from_utf8(output.stdout)
        .expect("text")
        .trim()
        .to_owned()
}

pub(super) fn git_command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = command(Path::new("git"), directory);
    command.args(arguments);
    command
}

#[expect(clippy::disallowed_methods, reason = "git itself serves the remote")]
pub(super) fn command(program: &Path, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::null());
    command
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("bound").port()
}

fn start_daemon(root: &Path, port: u16) -> Child {
    let base = format!("--base-path={}", root.display());
    let port_word = format!("--port={port}");
    let arguments = [
        "--export-all",
        "--enable=receive-pack",
        "--max-connections=0",
        "--listen=127.0.0.1",
        &base,
        &port_word,
    ];
    // `git daemon` would start it as a process of its own, which nobody ends.
    let program = Path::new(&git(root, &["--exec-path"])).join("git-daemon");
    let mut command = command(&program, root);
    command.args(arguments);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let daemon = command.spawn().expect("git daemon starts");
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "git daemon listens"
        );
        thread::sleep(Duration::from_millis(10));
    }
    daemon
}

/// Answers requests by `git http-backend`, each on a connection of its own, until the test ends.
fn serve(listener: &TcpListener, root: &Path) {
    for connection in listener.incoming() {
        let root = root.to_owned();
        if let Ok(connection) = connection {
            thread::spawn(move || answer(connection, &root));
        }
    }
}

fn answer(connection: TcpStream, root: &Path) -> Option<()> {
    let mut reader = BufReader::new(connection.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let method = words.next()?.to_owned();
    let target = words.next()?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let header = |wanted: &str| {
        let found = headers.iter().find(|(name, _)| name == wanted);
        found.map_or("", |(_, value)| value.as_str())
    };
    if header("expect").eq_ignore_ascii_case("100-continue") {
        let mut connection = &connection;
        connection
            .write_all(b"HTTP/1.1 100 Continue\r\n\r\n")
            .ok()?;
    }
    let body = if header("transfer-encoding") == "chunked" {
        chunks(&mut reader)?
    } else {
        let mut body = vec![0; header("content-length").parse().unwrap_or(0)];
        reader.read_exact(&mut body).ok()?;
        body
    };
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut command = git_command(root, &["http-backend"]);
    command
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REMOTE_USER", "ann")
        .env("REQUEST_METHOD", &method)
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("CONTENT_TYPE", header("content-type"))
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("HTTP_GIT_PROTOCOL", header("git-protocol"))
        .env("GIT_PROTOCOL", header("git-protocol"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut backend = command.spawn().ok()?;
    let mut stdin = backend.stdin.take()?;
    thread::spawn(move || stdin.write_all(&body));
    let output = backend.wait_with_output().ok()?.stdout;
    let end = output.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&output[..end]).into_owned();
    let status = head.lines().find_map(|line| line.strip_prefix("Status: "));
    let content = &output[end + 4..];
    let mut connection = &connection;
    let begin = format!(
        "HTTP/1.1 {}\r\n{head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        status.unwrap_or("200 OK"),
        content.len()
    );
    connection.write_all(begin.as_bytes()).ok()?;
    connection.write_all(content).ok()
}

/// A body that comes in chunks.
fn chunks(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let length = usize::from_str_radix(line.trim(), 16).ok()?;
        let mut chunk = vec![0; length + 2];
        reader.read_exact(&mut chunk).ok()?;
        if length == 0 {
            return Some(body);
        }
        body.extend(&chunk[..length]);
    }
}

/// Lets a bare repository refuse pushes to references that this shell pattern matches.
pub(super) fn refuse(bare: &Path, pattern: &str) {
    use std::os::unix::fs::PermissionsExt;
    let hook = bare.join("hooks/update");
    fs::create_dir_all(bare.join("hooks")).expect("a directory");
    let text = format!("#!/bin/sh\ncase $1 in {pattern}) echo not allowed; exit 1;; esac\n");
    fs::write(&hook, text).expect("written");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).expect("executable");
}
