//! The output of a run as a stream: what its executors have printed, and what they print.

use super::events::{HEARTBEAT, event_stream, heartbeat};
use axum::body::Bytes;
use axum::response::Response;
use orch_engine::run::RunFiles;
use orch_files::open_regular;
use serde_json::json;
use std::io::{Read, Seek, SeekFrom};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::mpsc::{Sender, channel};
use tokio::sync::watch::Receiver;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

/// How often the logs are looked at.
const TICK: Duration = Duration::from_millis(200);
/// How long a stream continues with what was printed when the server ends.
const LAST: Duration = Duration::from_secs(1);
/// The most bytes of an event.
const CHUNK: usize = 32 * 1024;

/// A place in the logs of a run: a file and how many bytes of it were sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct LogPlace {
    name: String,
    offset: u64,
}

/// What is next in the logs.
enum NextOutput {
    Text(String),
    Nothing,
    /// The run has ended, in this state.
    End(&'static str),
}

/// The output of the last run of a task from the start, or after the event with the id `last`. It ends with the run, or
/// when `end` is true, then with what was printed until then.
pub(super) fn stream(files: RunFiles, last: Option<&str>, mut end: Receiver<bool>) -> Response {
    let mut place = last.and_then(LogPlace::parse).unwrap_or_default();
    let (send, receive) = channel(1);
    tokio::spawn(async move {
        let mut last_sent = Instant::now();
        let mut until = None;
        loop {
            let is_last = *end.borrow_and_update();
            // Somebody else may drive the run, and continue.
            if is_last && *until.get_or_insert_with(|| Instant::now() + LAST) < Instant::now() {
                return;
            }
            let read = files.clone();
            let from = place.clone();
            // Files are read in another thread: a slow disk holds up only this client.
            let done = spawn_blocking(move || {
                let mut place = from;
                (next(&read, &mut place), place)
            });
            let (next, at) = done
                .await
                .unwrap_or_else(|error| resume_unwind(error.into_panic()));
            place = at;
            let is_end = matches!(next, NextOutput::End(_));
            let event = match next {
                NextOutput::Text(text) => Some(event(
                    &place,
                    "output",
                    &json!({"log": place.name, "text": text}).to_string(),
                )),
                NextOutput::End(state) => {
                    Some(event(&place, "end", &json!({"state": state}).to_string()))
                }
                NextOutput::Nothing if last_sent.elapsed() > HEARTBEAT => Some(heartbeat()),
                NextOutput::Nothing => None,
            };
            match event {
                Some(event) => {
                    if deliver(&send, event).await.is_err() || is_end {
                        return;
                    }
                    last_sent = Instant::now();
                }
                None if is_last => return,
                None => {
                    tokio::select! {
                        () = sleep(TICK) => {}
                        _ = end.changed() => {}
                        () = send.closed() => return,
                    }
                }
            }
        }
    });
    event_stream(receive)
}

async fn deliver(send: &Sender<Bytes>, event: Bytes) -> Result<(), ()> {
    send.send(event).await.map_err(drop)
}

fn event(place: &LogPlace, name: &str, data: &str) -> Bytes {
    format!(
        "id: {}:{}\nevent: {name}\ndata: {data}\n\n",
        place.name, place.offset
    )
    .into()
}

impl LogPlace {
    fn parse(id: &str) -> Option<Self> {
        let (name, offset) = id.rsplit_once(':')?;
        Some(Self {
            name: name.to_owned(),
            offset: offset.parse().ok()?,
        })
    }
}

/// What is next after a place, which moves on.
fn next(files: &RunFiles, place: &mut LogPlace) -> NextOutput {
    let Ok(Some(run)) = files.read() else {
        return NextOutput::End("none");
    };
    let is_over = !files.is_driven();
    let logs = logs(files, &run.id);
    if !logs.iter().any(|(name, _)| *name == place.name) {
        *place = LogPlace {
            name: logs
                .first()
                .map(|(name, _)| name.clone())
                .unwrap_or_default(),
            offset: 0,
        };
    }
    let from = logs
        .iter()
        .position(|(name, _)| *name == place.name)
        .unwrap_or(logs.len());
    for (at, (name, path)) in logs.iter().enumerate().skip(from) {
        if *name != place.name {
            *place = LogPlace {
                name: name.clone(),
                offset: 0,
            };
        }
        // A log is complete once there is a later one.
        let is_complete = is_over || at + 1 < logs.len();
        if let Some((text, length)) = part(path, place.offset, is_complete) {
            place.offset += length;
            return NextOutput::Text(text);
        }
    }
    let state = run
        .ended()
        .map_or("interrupted", |(ending, _)| ending.as_str());
    if is_over {
        NextOutput::End(state)
    } else {
        NextOutput::Nothing
    }
}

/// The logs of a run, in the order of its turns.
fn logs(files: &RunFiles, run: &str) -> Vec<(String, PathBuf)> {
    let Some(directory) = files.log("x").parent().map(PathBuf::from) else {
        return Vec::new();
    };
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let named = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let stem = name.strip_suffix(".log")?;
        // The name is part of lines that are sent.
        let is_own = stem.strip_prefix(run)?.starts_with('-') && !stem.contains(char::is_control);
        is_own.then(|| (stem.to_owned(), entry.path()))
    });
    let mut found: Vec<(String, PathBuf)> = named.collect();
    found.sort();
    found
}

/// The next lines of a log, and their length in bytes; also a last line without its end if the log is complete.
fn part(path: &Path, offset: u64, is_complete: bool) -> Option<(String, u64)> {
    // A pipe in its place would be waited for.
    let mut file = open_regular(path).ok()??;
    file.seek(SeekFrom::Start(offset)).ok()?;
    let mut bytes = Vec::new();
    file.take(CHUNK as u64).read_to_end(&mut bytes).ok()?;
    if !is_complete && bytes.len() < CHUNK {
        bytes.truncate(
            bytes
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |at| at + 1),
        );
    }
    let length = bytes.len() as u64;
    (length > 0).then(|| (String::from_utf8_lossy(&bytes).into_owned(), length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use orch_base::RepoPath;

    #[test]
    fn only_whole_lines_of_a_growing_log_are_sent() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("x.log");
        std::fs::write(&path, "one\ntwo\nthr").expect("written");
        assert_eq!(part(&path, 0, false), Some(("one\ntwo\n".to_owned(), 8)));
        assert_eq!(part(&path, 8, false), None);
        assert_eq!(part(&path, 8, true), Some(("thr".to_owned(), 3)));
        assert_eq!(part(&path, 11, true), None);
        std::fs::write(&path, "x".repeat(CHUNK + 1)).expect("written");
        assert_eq!(
            part(&path, 0, false).map(|(_, length)| length),
            Some(CHUNK as u64)
        );
    }

    #[test]
    fn a_log_is_a_regular_file_with_a_name_of_one_line() {
        let root = tempfile::tempdir().expect("a directory");
        let files = RunFiles::of(root.path(), &RepoPath::new("t").expect("a path"));
        let directory = files
            .log("x")
            .parent()
            .map(PathBuf::from)
            .expect("a directory");
        std::fs::create_dir_all(&directory).expect("made");
        for name in [
            "1-0001-a.log",
            "1-0002-b\ndata: c.log",
            "12-0001-a.log",
            "1-0003-c.result",
        ] {
            std::fs::write(directory.join(name), "x\n").expect("written");
        }
        let names: Vec<String> = logs(&files, "1")
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names, ["1-0001-a"]);
        let pipe = directory.join("1-0004-d.log");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .expect("made");
        assert_eq!(part(&pipe, 0, true), None, "a pipe is not waited for");
    }

    #[test]
    fn a_place_is_read_as_it_was_written() {
        let place = LogPlace {
            name: "1-2-0001-coder".to_owned(),
            offset: 17,
        };
        let id = format!("{}:{}", place.name, place.offset);
        assert_eq!(LogPlace::parse(&id), Some(place));
        assert_eq!((LogPlace::parse("x"), LogPlace::parse("x:y")), (None, None));
    }
}
