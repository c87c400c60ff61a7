//! Random histories of a repository, replayed: every forged commit is found, and no other is accused.
//!
//! A history is made up in memory and written to a repository in one go. `ORCH_AUDIT_HISTORIES` says how
//! many are tried, `ORCH_AUDIT_SEED` which comes first.

mod events;
mod forgeries;
mod past;
mod stream;
mod verifications;

use crate::harness::World;
use crate::setting::number;
use orch_base::{Code, Digest};
use orch_core::decide::{Kind, Proof, ProvenStep, Standing};
use orch_core::record::LogEvent;
use orch_engine::history::{Audit, AuditScope, Audited, Checked, Checker, ProvenHistories, audit};
use orch_engine::survey::{Caller, Workspace};
use past::Past;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many histories share a repository.
const TOGETHER: u64 = 25;

/// What came of all histories: how many changes had which standing, how many forgeries were of which kind.
#[derive(Debug, Default)]
struct Tally {
    standings: BTreeMap<&'static str, usize>,
    forgeries: BTreeMap<String, usize>,
    /// How many audits went on from an earlier one.
    continued: usize,
    /// How many commits hold several steps that were due together, of one task or of several.
    batches: usize,
}

#[test]
fn every_forged_commit_is_found_and_no_other() {
    let first = number("ORCH_AUDIT_SEED").unwrap_or(1);
    let count = number("ORCH_AUDIT_HISTORIES").unwrap_or(40);
    let (next, end) = (AtomicU64::new(first), first + count);
    let tally = Mutex::new(Tally::default());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(seed) =
                    Some(next.fetch_add(TOGETHER, Ordering::Relaxed)).filter(|seed| *seed < end)
                {
                    live(seed..end.min(seed + TOGETHER), &tally);
                }
            });
        }
    });
    let tally = tally.into_inner().expect("nobody panicked");
    assert!(
        count < 100 || tally.batches > 0,
        "nothing was ever due together"
    );
    assert!(
        count < 100 || tally.continued > 0,
        "no audit ever went on from another"
    );
    if count >= 1000 {
        for name in forgeries::names() {
            assert!(
                tally.forgeries.contains_key(name),
                "nobody ever tried {name}: the histories are too tame"
            );
        }
        for standing in Standing::ALL {
            let standing = standing.as_str();
            assert!(
                tally.standings.contains_key(standing),
                "nothing is ever {standing}: {tally:#?}"
            );
        }
    }
}

/// Some histories, side by side in one repository.
fn live(seeds: std::ops::Range<u64>, tally: &Mutex<Tally>) {
    let pasts: Vec<(u64, Past)> = seeds
        .map(|seed| {
            let mut past = Past::new(seed);
            for _ in 0..10 + past.chance.below(24) {
                events::happen(&mut past);
            }
            past.commit_work("the end");
            (seed, past)
        })
        .collect();
    let world = World::new();
    let ids = stream::import(&world, pasts.iter().map(|(_, past)| past));
    let environment = Caller::from_environment(|_| None).environment;
    let workspace = Workspace::open_to_look(&world.root(), environment).expect("a repository");
    let mut alone = BTreeMap::new();
    let mut tips = Vec::new();
    for ((seed, past), ids) in pasts.iter().zip(&ids) {
        let told = || tell(*seed, past, ids);
        for tip in std::iter::once(past.head).chain(past.other) {
            alone.extend(verdicts(&replay(
                &workspace, *seed, past, ids, tip, tally, &told,
            )));
            tips.push(ids[tip].to_string());
        }
    }
    together(&world, &workspace, &tips, alone);
}

type Verdicts = BTreeMap<(Digest, String), (Standing, Option<String>)>;

fn verdicts(audit: &Audit) -> Verdicts {
    let changes = audit.changes.iter();
    changes
        .map(|change| {
            let proof = &change.proof;
            (
                (change.commit.id, change.task.id.to_string()),
                (proof.standing, proof.why.clone()),
            )
        })
        .collect()
}

/// A commit that joins all of these histories makes a long one, which is replayed from both ends: what
/// each comes to is what it came to alone.
fn together(world: &World, workspace: &Workspace, tips: &[String], alone: Verdicts) {
    let tree = format!("{}^{{tree}}", tips[0]);
    let mut arguments = vec!["commit-tree", &tree, "-m", "all"];
    tips.iter().for_each(|tip| arguments.extend(["-p", tip]));
    let all = world.git(&arguments);
    let mut found = verdicts(&audit(workspace, reachable(all.trim())).expect("an audit"));
    let end = Digest::parse(all.trim()).expect("an id");
    found.retain(|(commit, _), _| *commit != end);
    assert_eq!(found, alone, "{tips:?}");
}

/// Replays what one branch reaches, in every way there is.
fn replay(
    workspace: &Workspace,
    seed: u64,
    past: &Past,
    ids: &[Digest],
    tip: usize,
    tally: &Mutex<Tally>,
    told: &dyn Fn() -> String,
) -> Audit {
    let reached = past.ancestors(tip);
    let number = |id: Digest| {
        ids.iter()
            .position(|other| *other == id)
            .expect("one of ours")
    };
    let wrong = |what: &str, commit: usize| -> ! { panic!("{what}: commit {commit}\n{}", told()) };
    let mut forged: Vec<usize> = reached
        .iter()
        .copied()
        .filter(|one| past.commits[*one].is_forged)
        .collect();

    let audit = audit(workspace, reachable(&ids[tip].to_string())).expect("an audit");
    assert_eq!(audit.commits, reached.len(), "{}", told());
    let mut found = Vec::new();
    for change in &audit.changes {
        let (commit, proof) = (number(change.commit.id), &change.proof);
        let why = || {
            format!(
                "{} is {}: {proof:#?}",
                change.task.id,
                proof.standing.as_str()
            )
        };
        // What was due together is as provable as if each step had a commit of its own.
        if past.commits[commit].is_batch
            && proof.standing >= Standing::Unverifiable
            && !past.commits[commit].takes_over
        {
            wrong(&why(), commit);
        }
        match proof.standing {
            Standing::Forged if !forged.contains(&commit) => wrong(&why(), commit),
            Standing::Forged => found.push(commit),
            // An honest rewrite may look the same.
            Standing::Unverifiable if is_as_honest(past, commit) => {
                forged.retain(|one| *one != commit)
            }
            // Whoever takes over files takes over what a forger put among them.
            Standing::Unverifiable
                if verifications::has_unknown_result(
                    &past.commits[commit].tree,
                    change.task.id.as_str(),
                ) => {}
            // The base of a verification stays behind where a history begins anew.
            Standing::Unverifiable
                if why().contains("contain its base") && !past.ancestors(commit).contains(&0) => {}
            // A state without a record, and a record without its files, are told as what they are.
            Standing::Unverifiable if proof.steps.is_empty() => {
                let why = proof.why.as_deref().unwrap_or_default();
                if !why.contains("without a record") && !why.contains("the files are not") {
                    wrong(why, commit);
                }
            }
            Standing::Unverifiable if past.commits[commit].what == events::IMPORT => {}
            Standing::Unverifiable
                if !lacks_evidence(past, commit, change.task.id.as_str(), proof) =>
            {
                wrong(&why(), commit)
            }
            _ => {}
        }
        if past.commits[commit].is_batch && proof.steps.len() > 1 {
            tally.lock().expect("nobody panicked").batches += 1;
        }
        *tally
            .lock()
            .expect("nobody panicked")
            .standings
            .entry(proof.standing.as_str())
            .or_default() += 1;
    }
    for commit in &forged {
        let what = &past.commits[*commit].what;
        if !found.contains(commit) {
            let told = audit
                .changes
                .iter()
                .filter(|change| number(change.commit.id) == *commit);
            let told: Vec<_> = told
                .map(|change| (change.task.id.to_string(), &change.proof))
                .collect();
            wrong(
                &format!("it is forged, and nobody notices: {told:#?}"),
                *commit,
            );
        }
        *tally
            .lock()
            .expect("nobody panicked")
            .forgeries
            .entry(what.clone())
            .or_default() += 1;
    }

    // Every other way of asking costs as much again, so it is tried now and then.
    if seed.is_multiple_of(3) {
        ask_otherwise(workspace, past, ids, tip, (&audit, &forged), (tally, told));
    }
    audit
}

/// A range that begins somewhere says the same of what is in it, and so does a check, also of one commit.
fn ask_otherwise(
    workspace: &Workspace,
    past: &Past,
    ids: &[Digest],
    tip: usize,
    (audit, forged): (&Audit, &[usize]),
    (tally, told): (&Mutex<Tally>, &dyn Fn() -> String),
) {
    let number = |id: Digest| {
        ids.iter()
            .position(|other| *other == id)
            .expect("one of ours")
    };
    let reached = past.ancestors(tip);
    let begin = reached
        .iter()
        .copied()
        .nth(reached.len() / 2)
        .expect("a commit");
    let range = format!("{}..{}", ids[begin], ids[tip]);
    let before = past.ancestors(begin);
    let part = orch_engine::history::audit(workspace, reachable(&range)).expect("an audit");
    let validations = |audit: &Audit| -> Vec<(usize, String, Standing)> {
        let changes = audit.changes.iter();
        let mut validations: Vec<_> = changes
            .map(|change| {
                (
                    number(change.commit.id),
                    change.task.id.to_string(),
                    change.proof.standing,
                )
            })
            .filter(|(commit, ..)| !before.contains(commit))
            .collect();
        validations.sort();
        validations
    };
    assert_eq!(
        validations(&part),
        validations(audit),
        "{range}\n{}",
        told()
    );
    goes_on(workspace, (ids[begin], ids[tip]), audit, tally, told);
    let nobody = Caller::from_environment(|_| None);
    let checker = Checker::new(workspace, &nobody);
    agrees(
        &checker.range(&ids[tip].to_string()).expect("a check"),
        forged,
        ids,
        told,
    );
    for commit in forged.iter().copied().chain([tip]) {
        let alone: Vec<usize> = forged
            .iter()
            .copied()
            .filter(|forged| *forged == commit)
            .collect();
        agrees(
            &checker.revision(&ids[commit].to_string()).expect("a check"),
            &alone,
            ids,
            told,
        );
    }
}

/// An audit that continues from where an earlier one came to accepts the same, and says the same of what it lists.
fn goes_on(
    workspace: &Workspace,
    (begin, tip): (Digest, Digest),
    whole: &Audit,
    tally: &Mutex<Tally>,
    told: &dyn Fn() -> String,
) {
    let program = Digest::of_blob(b"a program");
    let go_on = |known: &ProvenHistories, to: Digest| {
        let to = to.to_string();
        let audit = audit(
            workspace,
            AuditScope {
                proven: Some(known),
                ..reachable(&to)
            },
        )
        .expect("an audit");
        let incremental = audit.incremental.expect("incremental");
        (audit.changes, incremental.from, incremental.to)
    };
    let none = ProvenHistories::none(program, "none");
    let (_, _, Ok(first)) = go_on(&none, begin) else {
        return;
    };
    let known = ProvenHistories::parse(program, none.with(&first, None).as_bytes());
    let (changes, from, to) = go_on(&known, tip);
    let is_forged = |changes: &[Audited]| {
        changes
            .iter()
            .any(|one| one.proof.standing == Standing::Forged)
    };
    assert_eq!(to.is_err(), is_forged(&whole.changes), "{}", told());
    let Ok(from) = from else { return };
    assert_eq!(from, first);
    tally.lock().expect("nobody panicked").continued += 1;
    let key = |change: &Audited| (change.commit.id, change.task.directory().clone());
    let listed: BTreeMap<_, _> = changes
        .iter()
        .map(|change| (key(change), &change.proof))
        .collect();
    for change in &whole.changes {
        match listed.get(&key(change)) {
            Some(proof) => assert_eq!(**proof, change.proof, "{}", told()),
            None => assert!(change.proof.standing < Standing::Unverifiable, "{}", told()),
        }
    }
    let to = to.ok().map(|to| (to.commits, to.changes));
    let is_listed_once = changes
        .iter()
        .all(|change| change.found_in == change.commit.id);
    if is_listed_once && !is_forged(&whole.changes) {
        assert_eq!(to, Some((whole.commits, whole.changes.len())), "{}", told());
    }
}

/// A check accuses exactly these commits.
fn agrees(checked: &Checked, forged: &[usize], ids: &[Digest], told: &dyn Fn() -> String) {
    let accused: HashSet<&str> = checked
        .findings
        .iter()
        .filter(|finding| finding.code == Code::Forged)
        .filter_map(|finding| finding.message.strip_prefix("commit ")?.split(':').next())
        .collect();
    let wanted: Vec<String> = forged
        .iter()
        .map(|commit| ids[*commit].short().to_string())
        .collect();
    assert_eq!(
        accused,
        wanted.iter().map(String::as_str).collect(),
        "{}",
        told()
    );
}

/// Whether something that a change rests on was in no commit, or not in this one: what one of several
/// steps was taken on, or the state that a task took over.
fn lacks_evidence(past: &Past, commit: usize, task: &str, proof: &Proof) -> bool {
    let kept: HashSet<String> = past
        .commits
        .iter()
        .flat_map(|commit| commit.tree.iter())
        .filter(|(path, _)| path.starts_with("tasks/"))
        .map(|(_, text)| past::digest(text))
        .collect();
    // Every digest in the events of the steps: the evidence, and what was recorded beside it.
    let tree = &past.commits[commit].tree;
    let log = past::log(tree, task);
    let is_told = |event: &&LogEvent| proof.steps.iter().any(|step| step.entry == event.entry);
    let told: Vec<String> = log
        .events()
        .filter(is_told)
        .flat_map(|event| {
            event
                .changes
                .ops()
                .into_iter()
                .map(|change| serde_json::to_string(&change).expect("JSON"))
        })
        .collect();
    let mut words = told
        .iter()
        .flat_map(|line| line.split('"'))
        .filter(|word| Digest::parse(word).is_some());
    let took_over = |step: &ProvenStep| {
        step.entry.kind == Kind::Create
            && step.standing == Standing::Unverifiable
            && past.commits[commit].takes_over
    };
    let mut evidence: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, digest) in proof.steps.iter().flat_map(|step| &step.entry.evidence) {
        evidence.insert(name, digest);
    }
    let is_here = |(name, digest): (&&str, &&str)| {
        past::text(tree, task, name).is_some_and(|text| past::digest(&text) == **digest)
    };
    let lacks_some = words.any(|digest| !kept.contains(digest)) || !evidence.iter().all(is_here);
    let is_edited = || {
        let parents = &past.commits[commit].parents;
        parents
            .iter()
            .any(|parent| !past.is_provable(*parent, tree, task))
    };
    let is_single = proof.steps.len() == 1;
    (if is_single { is_edited() } else { lacks_some }) || proof.steps.iter().any(took_over)
}

/// Whether a commit was forged in a way that may not be told from an honest rewrite.
fn is_as_honest(past: &Past, commit: usize) -> bool {
    past.commits[commit].is_forged
        && forgeries::AS_HONEST.contains(&past.commits[commit].what.as_str())
}

/// The whole story, for whoever has to find out what went wrong.
fn tell(seed: u64, past: &Past, ids: &[Digest]) -> String {
    let mut text = format!("ORCH_AUDIT_SEED={seed} ORCH_AUDIT_HISTORIES=1\n");
    for (number, (commit, id)) in past.commits.iter().zip(ids).enumerate() {
        let forged = if commit.is_forged { "FORGED: " } else { "" };
        let parents = &commit.parents;
        let _ = writeln!(
            text,
            "{number:3} {} after {parents:?}: {forged}{}",
            id.short(),
            commit.what
        );
    }
    text
}

/// The commits of a range, or all that are reachable from a revision.
fn reachable(range: &str) -> AuditScope<'_> {
    AuditScope {
        range: Some(range),
        ..AuditScope::default()
    }
}
