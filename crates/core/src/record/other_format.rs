//! A log with the ids of another object format, as a task has it that is older than its repository: without a
//! repository, ids are SHA-1.

use super::json_patch::JsonPatchOp;
use super::log_event::LogEvent;
use super::patch_text::PatchText;
use crate::decide::Detail;
use crate::verification::VerifiedCode;
use orch_base::{Digest, ObjectFormat, pointer};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// The changes whose values are digests: the records of the phases, what was verified, and the file that was imported.
const WITH_DIGESTS: [&str; 3] = ["/actors", "/run/verified", "/original"];

/// The format of the ids in a log, as its first event has it; `None` if its first line is not an event.
#[must_use]
pub fn format_of_log(log: &str) -> Option<ObjectFormat> {
    let first = LogEvent::read(log.lines().next()?).ok()?;
    Some(first.id.format())
}

/// The same log with all ids in `format`. `known` returns the digest in this format of the content that a digest
/// names; content that it does not know gets an id that no content has.
///
/// `None` if all ids have this format already, or a line is not an event.
#[must_use]
pub fn log_in_format(
    log: &str,
    format: ObjectFormat,
    known: impl Fn(Digest) -> Option<Digest>,
) -> Option<String> {
    let events: Vec<LogEvent> = log
        .lines()
        .map(|line| LogEvent::read(line).ok())
        .collect::<Option<_>>()?;
    if events.iter().all(|event| event.id.format() == format) {
        return None;
    }
    let convert = |digest: Digest| match digest.format() {
        own if own == format => digest,
        _ => known(digest).unwrap_or_else(|| format.blob(digest.to_string().as_bytes())),
    };
    let mut ids: HashMap<Digest, Digest> = HashMap::new();
    let mut lines = String::new();
    for mut event in events {
        let old = event.id;
        for id in &mut event.after {
            *id = *ids.get(id)?;
        }
        event.workflow.digest = convert(event.workflow.digest);
        let entry = Arc::make_mut(&mut event.entry);
        let files = entry
            .performance
            .iter_mut()
            .flat_map(|performance| &mut performance.files);
        for (_, digest) in entry.evidence.iter_mut().chain(files) {
            convert_text(digest, &convert);
        }
        for noted in entry.files.values_mut().flatten() {
            noted.digest = convert(noted.digest);
        }
        for other in &mut entry.others {
            other.head = convert(other.head);
        }
        if let Some(detail) = &mut entry.detail {
            convert_detail(detail, &convert);
        }
        let mut changes = event.changes.ops();
        for change in &mut changes {
            if let JsonPatchOp::Add { path, value } | JsonPatchOp::Replace { path, value } = change
                && WITH_DIGESTS
                    .iter()
                    .any(|member| pointer::is_at_or_below(path, member))
            {
                convert_value(value, &convert);
            }
        }
        event.changes = PatchText::of(&changes);
        event.renew_id(format);
        ids.insert(old, event.id);
        lines.push_str(&event.line());
    }
    Some(lines)
}

fn convert_detail(detail: &mut Detail, convert: &impl Fn(Digest) -> Digest) {
    match detail {
        Detail::Verify(run) => {
            match &mut run.code {
                VerifiedCode::Commit(code) => *code = convert(*code),
                VerifiedCode::Patch(patched) => {
                    (patched.patch, patched.on) = (convert(patched.patch), convert(patched.on));
                }
            }
            if let Some(base) = &mut run.base {
                (base.commit, base.code) = (convert(base.commit), convert(base.code));
            }
            run.table = convert(run.table);
            run.result.digest = convert(run.result.digest);
        }
        Detail::Migrate(moved) => {
            for digest in [&mut moved.map, &mut moved.from.digest, &mut moved.to.digest] {
                *digest = convert(*digest);
            }
        }
        Detail::Approve(_) | Detail::Relate(_) | Detail::Take(_) | Detail::Lapse(_) => {}
    }
}

fn convert_value(value: &mut Value, convert: &impl Fn(Digest) -> Digest) {
    match value {
        Value::String(text) => convert_text(text, convert),
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| convert_value(item, convert)),
        Value::Object(members) => members
            .values_mut()
            .for_each(|member| convert_value(member, convert)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn convert_text(text: &mut String, convert: &impl Fn(Digest) -> Digest) {
    if let Some(digest) = Digest::parse(text) {
        *text = convert(digest).to_string();
    }
}
