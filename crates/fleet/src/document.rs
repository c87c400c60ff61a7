//! A lease as the bytes that a store keeps, and the name under which it keeps them.

use orch_base::{Code, Error, Hint, Place, TaskId};
use orch_core::decide::WHY;
use orch_core::lease::Lease;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// The version of the format that this program writes.
const VERSION: u32 = 1;
/// Names that are longer end with a digest: a file system takes 255 bytes.
const LONGEST: usize = 180;

/// A lease with the task that it is about, whose name in the store does not tell it.
#[derive(Serialize, Deserialize)]
struct KeptLeaseDocument {
    version: u32,
    task: String,
    lease: Lease,
}

/// Where a document is, for people, and how to remove it.
pub(crate) struct DocumentPlace {
    /// The name of the place.
    pub name: String,
    /// The command that removes it.
    pub removal: Hint,
}

/// The name of a task's lease: small letters, digits, `-`, `_`, and two hexadecimal digits after `=` for each other byte.
/// So it is one part of the name of a reference or a key, also where a file system does not tell capitals apart.
pub(crate) fn key(task: &TaskId) -> String {
    let mut key = String::new();
    for byte in task.as_str().bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => key.push(char::from(byte)),
            _ => {
                let _ = write!(key, "={byte:02x}");
            }
        }
    }
    if key.len() > LONGEST {
        let digest = orch_base::Digest::of_blob(task.as_str().as_bytes());
        key.truncate(LONGEST);
        let _ = write!(key, "=_{digest}");
    }
    key
}

/// The task with this key; `None` if the key does not tell.
fn task_of(key: &str) -> Option<TaskId> {
    let mut bytes = Vec::new();
    let mut rest = key.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'=' {
            let digits = [rest.next()?, rest.next()?];
            let digits = str::from_utf8(&digits).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    let task = TaskId::new(String::from_utf8(bytes).ok()?).ok()?;
    (self::key(&task) == key).then_some(task)
}

/// How a person removes a document that cannot be read.
fn removal(key: &str, place: &DocumentPlace) -> Hint {
    match task_of(key) {
        Some(task) => Hint::from("a person ends it: ").command(&[
            "orch",
            "take",
            task.as_str(),
            "--break",
            WHY,
        ]),
        None => Hint::from("if nobody works on the task: ").followed_by(place.removal.clone()),
    }
}

/// The bytes of a lease in a store. Returns an error if it cannot be written as JSON.
pub(crate) fn written(task: &TaskId, lease: &Lease) -> Result<Vec<u8>, Error> {
    let document = KeptLeaseDocument {
        version: VERSION,
        task: task.to_string(),
        lease: lease.clone(),
    };
    serde_json::to_vec_pretty(&document)
        .map_err(|error| Error::new(Code::LeaseStore, format!("cannot write a lease: {error}")))
}

/// The task and the lease in these bytes, which are kept under this key. Returns an error with the place if they are none,
/// or belong under another key.
pub(crate) fn read(
    key_there: &str,
    bytes: &[u8],
    place: &DocumentPlace,
) -> Result<(TaskId, Lease), Error> {
    let text = String::from_utf8_lossy(bytes);
    let damaged = |why: String, line: u32| {
        let place_there = Place::on_line(&place.name, &text, line, None);
        Error::new(Code::LeaseDamaged, format!("this is no lease: {why}"))
            .or_at(place_there)
            .with_hint(removal(key_there, place))
    };
    let document: KeptLeaseDocument = serde_json::from_slice(bytes).map_err(|error| {
        let line = u32::try_from(error.line()).unwrap_or(1);
        damaged(error.to_string(), line.max(1))
    })?;
    if document.version != VERSION {
        let why = format!(
            "it has version {}, and this orch knows {VERSION}",
            document.version
        );
        return Err(damaged(why, 1));
    }
    let task = TaskId::new(&document.task).map_err(|error| damaged(error.to_string(), 1))?;
    if key(&task) != key_there {
        return Err(damaged(format!("it belongs to the task {task}"), 1));
    }
    Ok((task, document.lease))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_task_has_a_name_of_its_own_that_every_store_takes() {
        let long = "Ä".repeat(100);
        let longer = format!("{}b", "Ä".repeat(99));
        let tasks = [
            "a", "A", "a/b", "a=2fb", "a.lock", "a..b", "a b", "@{", "a~1", "a^", "a:b", "a?",
            "a*", "[a", "日本", &long, &longer,
        ];
        let mut keys = BTreeSet::new();
        for task in tasks {
            let key = key(&TaskId::new(task).expect("an id"));
            let is_plain = |byte: u8| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_=".contains(&byte)
            };
            assert!(key.bytes().all(is_plain), "{key}");
            assert!(key.len() < 240, "{key}");
            if key.len() <= LONGEST {
                assert_eq!(task_of(&key), TaskId::new(task).ok());
            }
            keys.insert(key);
        }
        assert_eq!(keys.len(), tasks.len(), "{keys:?}");
    }
}
