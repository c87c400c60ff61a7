//! The log as text: ids, order, faults, and folding.

use super::*;
use crate::decide::{ActorKind, By, HistoryEntry, Kind, State, WorkflowRef};
use orch_base::{ArtifactName, Code, Digest, ObjectFormat, PhaseId, Timestamp, WorkflowName};
use proptest::prelude::{prop_assert_eq, proptest};
use serde_json::{Value, json};

/// The state one step later: one more used-up digest and one more error.
fn step(before: &State, at: i64) -> State {
    let seq = before.rev + 1;
    let entry = HistoryEntry {
        rests_on: Vec::new(),
        base: None,
        version: crate::decide::RecordVersion::CURRENT,
        files: crate::decide::NotedFiles::new(),
        inputs: None,
        seq,
        at: Timestamp::from_seconds(at),
        from: (seq > 1).then(|| PhaseId::new("a").expect("valid")),
        to: PhaseId::new("a").expect("valid"),
        kind: if seq > 1 { Kind::Advance } else { Kind::Create },
        rule: (seq > 1).then(|| "r".to_owned()),
        reason: format!("step {seq}: ä \"quoted\""),
        actor: By {
            kind: ActorKind::Orch,
            name: "orch".to_owned(),
        },
        evidence: vec![("plan.json".to_owned(), Digest::of_blob(b"plan").to_string())],
        waived: Vec::new(),
        confirmed: None,
        lost: crate::decide::LostTests::new(),
        action: None,
        performance: None,
        detail: None,
        generation: None,
        others: Vec::new(),
    };
    let mut state = State {
        task: Some("t".to_owned()),
        title: Some("A title".to_owned()),
        rev: seq,
        workflow: Some(WorkflowRef {
            name: WorkflowName::new("w").expect("valid"),
            digest: Digest::of_blob(b"w"),
        }),
        phase: Some("a".to_owned()),
        updated_at: Some(entry.at),
        ..before.clone()
    };
    let actor = state.actors.entry("a".to_owned()).or_default();
    actor.attempt += 1;
    let spent = actor
        .spent
        .entry(ArtifactName::new("plan").expect("valid"))
        .or_default();
    if spent.len() < 30 {
        spent.push(Digest::of_blob(format!("{seq} {at}").as_bytes()));
    }
    state.errors.push(json!({"seq": seq}));
    state.errors.drain(..state.errors.len().saturating_sub(5));
    state.extra.insert("n".to_owned(), json!(seq));
    state.history.push(entry.into());
    state.keep_latest();
    state
}

/// `many` steps after a state: their lines, and the state after them.
pub(super) fn steps(before: &State, many: i64, at: i64) -> (String, State) {
    let mut row = Vec::new();
    for index in 0..many {
        row.push(step(row.last().unwrap_or(before), at + index));
    }
    let recorded = record_steps(before, before, &row);
    let lines = recorded.iter().map(|step| step.event.line()).collect();
    (lines, recorded.last().expect("steps").state.clone())
}

fn log(text: &str) -> EventLog {
    let (log, faults) = EventLog::parse(text.as_bytes());
    assert_eq!(faults, Vec::new());
    log
}

fn at(log: &EventLog, id: &Digest) -> State {
    State::clone(
        &log.state_at(id, &mut FoldCache::default())
            .expect("a whole log"),
    )
}

#[test]
fn the_log_folds_to_the_state_that_was_recorded() {
    let (text, state) = steps(&State::default(), 25, 100);
    let log = log(&text);
    assert_eq!((log.len(), log.heads()), (25, state.heads.clone()));
    assert_eq!(at(&log, &state.heads[0]), state);
    assert_eq!(state.history.len(), 3);
    let members = (
        state.task.as_deref(),
        state.title.as_deref(),
        &state.extra["n"],
    );
    assert_eq!(members, (Some("t"), Some("A title"), &json!(25)));
    let extent = LogExtent::of(text.as_bytes(), ObjectFormat::Sha1);
    let file = write_state(&state, "phase", "schema", extent);
    let value: Value = serde_json::from_str(&file).expect("JSON");
    assert_eq!(read_state(&value, &file, "phase"), Ok(state.clone()));
    assert_eq!(log_extent_in(&value), Some(extent));
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[24].len() < lines[6].len() + 10,
        "a line grows with the steps before it: {}",
        lines[24]
    );
}

#[test]
fn a_line_is_read_back_as_it_was_written() {
    let (text, _) = steps(&State::default(), 3, 100);
    for line in text.lines() {
        assert!(
            line.starts_with("{\"id\":\"") && line[47..].starts_with("\",\"v\":4,\"after\":["),
            "{line}"
        );
        let event = LogEvent::read(line).expect("an event");
        assert_eq!(event.line(), format!("{line}\n"));
        let without = format!("{{{}", &line[49..]);
        assert_eq!(event.id, Digest::of_blob(without.as_bytes()));
    }
}

#[test]
fn the_order_of_the_lines_makes_no_difference_and_lines_may_repeat() {
    let (text, state) = steps(&State::default(), 5, 100);
    let mut lines: Vec<&str> = text.lines().collect();
    lines.reverse();
    let twice = format!("{}\r\n\n{text}", lines.join("\r\n"));
    let log = log(&twice);
    assert_eq!((log.len(), log.heads()), (5, state.heads.clone()));
    assert_eq!(at(&log, &state.heads[0]), state);
    let seqs: Vec<u64> = log.in_order().iter().map(|event| event.entry.seq).collect();
    assert_eq!(seqs, [1, 2, 3, 4, 5]);
}

#[test]
fn branches_have_bases_and_tips() {
    let (trunk, base) = steps(&State::default(), 2, 100);
    let (left, ours) = steps(&base, 2, 200);
    let (right, theirs) = steps(&base, 1, 300);
    let log = log(&format!("{right}{trunk}{left}"));
    let a = ours.heads[0];
    let b = theirs.heads[0];
    assert_eq!(log.heads(), [b, a], "the one with the smaller number first");
    assert_eq!(log.merge_bases(&[a], &b), base.heads);
    assert_eq!(log.tips(&[a, base.heads[0], b, a]), [b, a]);
    assert_eq!(log.merge_bases(&[a, b], &base.heads[0]), base.heads);
    assert_eq!(log.ancestry(&[a]).len(), 4);
    let history: Vec<i64> = log
        .history(&[a, b])
        .iter()
        .map(|entry| entry.at.seconds())
        .collect();
    assert_eq!(history, [200, 300, 201], "by number, then by time");
}

#[test]
fn every_fault_is_reported_with_its_line() {
    let (text, _) = steps(&State::default(), 3, 100);
    let lines: Vec<&str> = text.lines().collect();
    let other = lines[1].replace("step 2", "step 9");
    let reordered = lines[1].replacen("{\"id\"", "{ \"id\"", 1);
    let renumbered = {
        let event = LogEvent::read(lines[1]).expect("an event");
        let entry = HistoryEntry {
            seq: 7,
            ..HistoryEntry::clone(&event.entry)
        };
        let event = LogEvent {
            entry: entry.into(),
            ..event
        };
        let body = event.line()[49..].trim_end().to_owned();
        let id = Digest::of_blob(format!("{{{body}").as_bytes());
        format!("{{\"id\":\"{id}\",{body}")
    };
    let twice = |member: &str| {
        let body = lines[1][49..].replacen(",\"seq\"", &format!(",{member},\"seq\""), 1);
        let id = Digest::of_blob(format!("{{{body}").as_bytes());
        format!("{}\n{{\"id\":\"{id}\",{body}\n", lines[0])
    };
    let instead = |member: &str, other: &str| {
        let body = lines[1][49..].replacen(member, other, 1);
        let id = Digest::of_blob(format!("{{{body}").as_bytes());
        format!("{}\n{{\"id\":\"{id}\",{body}\n", lines[0])
    };
    for (text, line, code) in [
        (twice("\"after\":[]"), 2, "log-invalid"),
        (twice("\"more\":1"), 2, "log-newer"),
        (instead("\"v\":4", "\"v\":5"), 2, "log-newer"),
        (
            instead("\"kind\":\"advance\"", "\"kind\":\"leap\""),
            2,
            "log-newer",
        ),
        (
            instead(
                "\"seq\":2",
                "\"files\":{\"plan\":[{\"path\":\"a\",\"more\":1}]},\"seq\":2",
            ),
            2,
            "log-newer",
        ),
        // The first version passes over what it does not know.
        (
            instead("\"v\":4,", "").replace(",\"seq\":2", ",\"more\":1,\"seq\":2"),
            2,
            "log-changed",
        ),
        (twice("\"changes\":[]"), 2, "log-invalid"),
        (twice("\"workflow\":\"\""), 2, "log-invalid"),
        (format!("\u{feff}{text}"), 1, "byte-order-mark"),
        (format!("{}\nnot json\n", lines[0]), 2, "log-invalid"),
        (format!("{}\n{{}}\n", lines[0]), 2, "log-invalid"),
        (format!("{}\n{reordered}\n", lines[0]), 2, "log-invalid"),
        (
            format!("{}\n{}\n", lines[0], &lines[1][..80]),
            2,
            "log-invalid",
        ),
        (format!("{}\n{other}\n", lines[0]), 2, "log-changed"),
        (format!("\n{}\n", lines[1]), 2, "log-incomplete"),
        (
            format!("{}\n{renumbered}\n", lines[0]),
            2,
            "log-inconsistent",
        ),
        (instead("\"v\":4,", ""), 2, "log-inconsistent"),
        (format!("<<<<<<< HEAD\n{text}"), 1, "conflict-markers"),
    ] {
        let (_, faults) = EventLog::parse(text.as_bytes());
        let found: Vec<(usize, &str)> = faults
            .iter()
            .map(|fault| (fault.line, fault.kind.code().as_str()))
            .collect();
        assert_eq!(found.first(), Some(&(line, code)), "{text}");
    }
    let (_, faults) = EventLog::parse(b"\xff\xfe\n");
    assert_eq!(faults[0].kind, LogFaultKind::NotUtf8);
    let (_, faults) = EventLog::parse(b"");
    assert_eq!(faults, Vec::new());
}

#[test]
fn a_patch_that_does_not_apply_is_a_fault_of_its_line() {
    let (text, state) = steps(&State::default(), 1, 100);
    let mut event =
        LogEvent::new(state.heads.clone(), Some(&state), &step(&state, 200)).expect("a step");
    for (ops, said) in [
        (
            vec![JsonPatchOp::Remove {
                path: "/nothing".to_owned(),
            }],
            "there is no value at /nothing",
        ),
        (
            vec![JsonPatchOp::Replace {
                path: "/actors".to_owned(),
                value: json!(3),
            }],
            "/actors",
        ),
    ] {
        event.changes = PatchText::of(&ops);
        let body = event.line()[49..].trim_end().to_owned();
        let id = Digest::of_blob(format!("{{{body}").as_bytes());
        let log = log(&format!("{text}{{\"id\":\"{id}\",{body}\n"));
        let fault = log
            .state_at(&id, &mut FoldCache::default())
            .expect_err("it does not apply");
        assert_eq!((fault.line, fault.kind.code()), (2, Code::LogInconsistent));
        assert!(fault.to_string().contains(said), "{fault}");
    }
}

#[test]
fn the_end_of_a_log_tells_whether_a_state_was_written_with_it() {
    fn whole(text: &str) -> LogPeek<'_> {
        LogPeek::new(text.len() as u64, text.as_bytes())
    }
    let (text, state) = steps(&State::default(), 3, 100);
    let extent = LogExtent::of(text.as_bytes(), ObjectFormat::Sha1);
    assert!(whole(&text).is_of(extent, &state.heads));
    assert!(whole(&text.replace('\n', "\r\n")).is_of(extent, &state.heads));
    let (more, _) = steps(&state, 1, 200);
    assert!(!whole(&format!("{text}{more}")).is_of(extent, &state.heads));
    assert!(!whole(&text[..text.len() - 1]).is_of(extent, &state.heads));
    assert!(
        !whole(&text.replacen("reason", "raeson", 1)).is_of(extent, &state.heads),
        "an edit in place"
    );
    assert!(!whole("").is_of(LogExtent::of(b"", ObjectFormat::Sha1), &state.heads));
    // Merges may order the lines differently.
    let mut lines: Vec<&str> = text.lines().collect();
    lines.swap(0, 1);
    assert_eq!(
        LogExtent::of(
            format!("{}\n", lines.join("\n")).as_bytes(),
            ObjectFormat::Sha1
        ),
        extent
    );
    // The end of a long log is enough, also with the line endings of a checkout.
    let (text, state) = steps(&State::default(), 400, 200);
    let extent = LogExtent::of(text.as_bytes(), ObjectFormat::Sha1);
    assert!(text.len() > 100 << 10 && extent.digest.is_none());
    for text in [text.clone(), text.replace('\n', "\r\n")] {
        let end = &text[text.len() - (64 << 10)..];
        assert!(LogPeek::new(text.len() as u64, end.as_bytes()).is_of(extent, &state.heads));
        let at = end.rfind("reason").expect("a member");
        let edited = format!("{}raeson{}", &end[..at], &end[at + 6..]);
        assert!(!LogPeek::new(text.len() as u64, edited.as_bytes()).is_of(extent, &state.heads));
    }
}

#[test]
fn a_long_log_folds_fast() {
    let (text, state) = steps(&State::default(), 10_000, 100);
    let begun = std::time::Instant::now();
    let log = log(&text);
    let folded = at(&log, &log.heads()[0]);
    let elapsed = begun.elapsed();
    assert_eq!(folded, state);
    // Without optimisation, a busy machine needs a second or two.
    assert!(elapsed.as_secs() < 60, "{elapsed:?}");
}

proptest! {
    #[test]
    fn an_id_detects_any_changed_byte(place in 0_usize..4000, byte in 0_u8..=255) {
        let (text, _) = steps(&State::default(), 3, 100);
        let mut bytes = text.clone().into_bytes();
        let place = place % bytes.len();
        if bytes[place] == byte || bytes[place] == b'\n' {
            return Ok(());
        }
        bytes[place] = byte;
        let (changed, faults) = EventLog::parse(&bytes);
        // Only white space at the end of a line, before its line ending, may differ.
        prop_assert_eq!(changed.len() < 3 || !faults.is_empty(), true, "{}", place);
    }
}

#[test]
fn only_members_with_digests_get_those_of_another_object_format() {
    let mut first = State::default();
    let note = Digest::of_blob(b"note").to_string();
    first.extra.insert("actorsNote".to_owned(), json!(note));
    let (text, _) = steps(&first, 1, 100);
    let (started, _) = steps(&State::default(), 1, 100);
    assert!(!started.contains(&note));
    let renewed = log_in_format(&text, ObjectFormat::Sha256, |_| None).expect("another format");
    assert_eq!(format_of_log(&renewed), Some(ObjectFormat::Sha256));
    assert_eq!(
        text.matches(&note).count(),
        renewed.matches(&note).count(),
        "{renewed}"
    );
    assert!(
        text.contains(&note) && !renewed.contains(&Digest::of_blob(b"1 100").to_string()),
        "{renewed}"
    );
}

#[test]
fn what_a_log_has_lost_is_told_by_its_events_and_not_by_its_lines() {
    let (text, state) = steps(&State::default(), 3, 100);
    let (more, _) = steps(&state, 1, 200);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let turned = [lines[1], lines[0], lines[2]].concat();
    for (held, now, has_lost) in [
        ("", "", false),
        ("", text.as_str(), false),
        (&text, "", true),
        (&text, &text, false),
        (&text, &format!("{text}{more}"), false),
        (&text, &turned, false),
        (&text, &text.replace('\n', "\r\n"), false),
        (&text, &lines[..2].concat(), true),
        (&text, &format!("{}{}{more}", lines[0], lines[1]), true),
        (&format!("{text}{more}"), &text, true),
        ("no event\n", "", false),
    ] {
        assert_eq!(
            has_lost_events(held.as_bytes(), now.as_bytes()),
            has_lost,
            "{held}\n{now}"
        );
    }
}

#[test]
fn whole_lines_are_those_of_events_that_have_a_state() {
    let (text, state) = steps(&State::default(), 3, 100);
    let (one, _) = steps(&state, 1, 200);
    let (another, _) = steps(&state, 1, 300);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let damaged = lines[1].replacen("reason", "raeson", 1);
    for (texts, whole) in [
        (vec![""], String::new()),
        (vec![text.as_str()], text.clone()),
        (vec![&text, &text], text.clone()),
        (vec![&lines[0], &lines[1]], lines[..2].concat()),
        // What follows a lost or a damaged event has no state.
        (vec![&lines[0], &lines[2]], lines[0].to_owned()),
        (
            vec![&lines[0], &damaged, &lines[2], &one],
            lines[0].to_owned(),
        ),
        (vec![&damaged, &text], text.clone()),
        // Both, of two branches.
        (vec![&text, &one, &another], format!("{text}{one}{another}")),
        (
            vec!["<<<<<<< HEAD\n", &text, "=======\n", &one, ">>>>>>> x\n"],
            format!("{text}{one}"),
        ),
        (vec![&text.replace('\n', "\r\n")], text.clone()),
    ] {
        let bytes: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
        assert_eq!(
            String::from_utf8(whole_lines(&bytes)),
            Ok(whole),
            "{texts:?}"
        );
    }
}

#[test]
fn an_event_that_is_recorded_stands_on_the_line_after_the_last() {
    let (text, state) = steps(&State::default(), 2, 100);
    let (more, _) = steps(&state, 1, 200);
    let mut log = log(&format!("\n{text}"));
    assert!(!log.is_empty() && EventLog::default().is_empty());
    let mut event = LogEvent::read(more.trim_end()).expect("an event");
    event.changes = PatchText::of(&[JsonPatchOp::Remove {
        path: "/nothing".to_owned(),
    }]);
    let id = event.id;
    log.append(event.clone());
    let fault = log
        .state_at(&id, &mut FoldCache::default())
        .expect_err("it does not apply");
    assert_eq!((log.len(), fault.line), (3, 4));
    let mut empty = EventLog::default();
    empty.append(event);
    assert_eq!(
        empty
            .state_at(&id, &mut FoldCache::default())
            .expect_err("it follows none")
            .line,
        1
    );
}

/// A log of events by their names, each after those that it names first, and the ids of the events.
fn graph(events: &[(&str, &[&str])]) -> (EventLog, std::collections::HashMap<String, Digest>) {
    let mut log = EventLog::default();
    let mut ids = std::collections::HashMap::new();
    for (index, (name, before)) in (0..).zip(events) {
        let after: Vec<Digest> = before.iter().map(|name| ids[*name]).collect();
        let seq = after
            .iter()
            .filter_map(|id| log.get(id))
            .map(|event| event.entry.seq)
            .max()
            .unwrap_or(0);
        let state = step(
            &State {
                rev: seq,
                ..State::default()
            },
            100 + index,
        );
        let event = LogEvent::new(after, None, &state).expect("a step");
        ids.insert((*name).to_owned(), event.id);
        log.append(event);
    }
    (log, ids)
}

#[test]
fn merge_bases_are_the_common_ancestors_that_no_other_one_follows() {
    let events: &[(&str, &[&str])] = &[
        ("a", &[]),
        ("b", &["a"]),
        ("c", &["a"]),
        ("d", &["b"]),
        // Both follow `b`, and what came before it also in another way.
        ("e", &["b", "c"]),
        ("x", &["a"]),
        ("f", &["b", "x"]),
        // Two that were joined crosswise.
        ("p", &["d", "e"]),
        ("q", &["e", "d"]),
        ("z", &[]),
    ];
    let (log, ids) = graph(events);
    let id = |name: &&str| ids[*name];
    for (these, that, bases) in [
        (&["b"][..], "c", &["a"][..]),
        (&["d"], "b", &["b"]),
        (&["b"], "b", &["b"]),
        (&["e"], "f", &["b"]),
        (&["p"], "q", &["d", "e"]),
        (&["p"], "f", &["b"]),
        (&["c", "x"], "b", &["a"]),
        (&["c", "d"], "f", &["b"]),
        (&["p"], "z", &[]),
    ] {
        let found = log.merge_bases(&these.iter().map(id).collect::<Vec<_>>(), &ids[that]);
        assert_eq!(found, log.sorted(bases.iter().map(id)), "{these:?} {that}");
        if let [this] = these {
            assert_eq!(
                log.merge_bases(&[ids[that]], &ids[*this]),
                found,
                "whoever asks"
            );
        }
    }
    for (these, tips) in [
        (&["a", "b"][..], &["b"][..]),
        (&["b", "c", "a"], &["b", "c"]),
        (&["p", "q", "d", "f", "x"], &["p", "q", "f"]),
        (&["a", "a", "z"], &["a", "z"]),
    ] {
        assert_eq!(
            log.tips(&these.iter().map(id).collect::<Vec<_>>()),
            log.sorted(tips.iter().map(id))
        );
    }
}

#[test]
fn a_digest_that_has_the_format_already_stays_as_it_is() {
    let there = ObjectFormat::Sha256.blob(b"there");
    let mut first = State::default();
    let actor = first.actors.entry("a".to_owned()).or_default();
    actor
        .spent
        .insert(ArtifactName::new("plan").expect("valid"), vec![there]);
    let (text, _) = steps(&State::default(), 1, 100);
    let known = log(&text);
    let event = known.events().next().expect("an event");
    let state = step(&first, 100);
    let own = LogEvent::new(event.after.clone(), None, &state)
        .expect("a step")
        .line();
    assert!(own.contains(&there.to_string()));
    let renewed = log_in_format(&own, ObjectFormat::Sha256, |_| None).expect("another format");
    assert!(renewed.contains(&there.to_string()), "{renewed}");
}

#[test]
fn a_line_that_is_no_event_names_the_first_member_that_is_wrong() {
    let (text, _) = steps(&State::default(), 2, 100);
    let line = text.lines().next_back().expect("a line");
    for (from, to, named) in [
        ("\"seq\":2", "\"seq\":\"2\"", "seq"),
        ("\"at\":\"1970", "\"at\":\"x1970", "at"),
        ("\"kind\":\"advance\",", "", "kind"),
        ("\"to\":\"a\"", "\"to\":\"A A\"", "to"),
        (
            "\"actor\":{\"kind\":\"orch\"",
            "\"actor\":{\"kind\":7",
            "actor",
        ),
        ("\"from\":\"a\"", "\"from\":\"A A\"", "from"),
        ("w@", "w w@", "workflow"),
    ] {
        assert!(line.contains(from), "{from} in {line}");
        let body = format!("{{{}", &line.replacen(from, to, 1)[49..]);
        let id = Digest::of_blob(body.as_bytes());
        let found =
            LogEvent::read(&format!("{{\"id\":\"{id}\",{}", &body[1..])).expect_err("no event");
        assert_eq!(found, NotAnEvent::Member(named), "{to}");
    }
}

#[test]
fn a_performance_of_which_nothing_is_known_is_not_written() {
    let mut state = step(&State::default(), 100);
    let known = crate::decide::Performance {
        executor: Some("make".to_owned()),
        ..Default::default()
    };
    for (performance, is_written) in [
        (None, false),
        (Some(Default::default()), false),
        (Some(known), true),
    ] {
        let last = state.history.last_mut().expect("an entry");
        std::sync::Arc::make_mut(last).performance = performance.map(Box::new);
        let line = LogEvent::new(Vec::new(), None, &state)
            .expect("a step")
            .line();
        assert_eq!(line.contains("\"performance\":"), is_written, "{line}");
    }
}
