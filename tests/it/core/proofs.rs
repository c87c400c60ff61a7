//! The verdict on a change of a record: that of its steps, and what doubts make of it.

use super::world::{LIFECYCLE, World};
use orch_core::decide::{HistoryEntry, Proof, ProvenStep, Standing};
use std::convert::Infallible;

/// A step of this number by this rule, with this verdict and its reason.
fn step(seq: u64, standing: Standing, why: Option<&str>) -> ProvenStep {
    let mut world = World::new(LIFECYCLE.clone());
    world.reach("plan_review");
    let entry = HistoryEntry::clone(world.known().history.last().expect("a step"));
    ProvenStep {
        entry: HistoryEntry {
            seq,
            rule: Some(format!("rule-{seq}")),
            ..entry
        }
        .into(),
        event: None,
        workflow: None,
        standing,
        approval: None,
        needs_signature: false,
        is_judged: true,
        why: why.map(str::to_owned),
        vouched: Vec::new(),
    }
}

#[test]
fn the_verdict_on_a_change_is_that_of_its_worst_step() {
    use Standing::{Claimed, Folded, Forged, Overridden, Proven, Unverifiable};
    // The verdicts of the steps 1, 2, …, that on the change, its reason, and the broken rule.
    for (standings, standing, why, rule) in [
        (
            &[][..],
            Forged,
            Some("the record changed without a recorded step"),
            None,
        ),
        (&[(Proven, None)][..], Proven, None, None),
        (&[(Claimed, Some("so"))], Claimed, Some("so"), None),
        (
            &[(Unverifiable, Some("lost"))],
            Unverifiable,
            Some("lost"),
            None,
        ),
        (&[(Forged, Some("no"))], Forged, Some("no"), Some("rule-1")),
        (
            &[(Proven, None), (Proven, None)],
            Folded,
            Some("2 steps in one commit"),
            None,
        ),
        (
            &[(Overridden, None), (Proven, None), (Claimed, None)],
            Folded,
            Some("3 steps in one commit"),
            None,
        ),
        (
            &[(Proven, None), (Claimed, Some("so"))],
            Folded,
            Some("step 2: so"),
            None,
        ),
        (
            &[(Unverifiable, Some("lost")), (Proven, None)],
            Unverifiable,
            Some("step 1: lost"),
            None,
        ),
        (
            &[
                (Unverifiable, Some("lost")),
                (Forged, Some("no")),
                (Proven, None),
            ],
            Forged,
            Some("step 2: no"),
            Some("rule-2"),
        ),
    ] {
        let numbered = (1..).zip(standings);
        let proof = Proof::of(
            numbered
                .map(|(seq, (standing, why))| step(seq, *standing, *why))
                .collect(),
        );
        let told = (proof.standing, proof.why.as_deref(), proof.rule.as_deref());
        assert_eq!(told, (standing, why, rule), "{standings:?}");
        assert_eq!(proof.steps.len(), standings.len());
    }
}

#[test]
fn a_doubt_makes_what_was_proven_unverifiable_and_nothing_that_was_worse() {
    use Standing::{Claimed, Folded, Forged, Proven, Unverifiable};
    // The verdicts of the steps, the number of the doubted one, those after the doubt, and that on the change.
    for (standings, doubted, after, standing, has_doubt) in [
        (&[Proven][..], 1, &[Unverifiable][..], Unverifiable, true),
        (&[Proven], 2, &[Proven], Proven, false),
        (
            &[Proven, Claimed],
            2,
            &[Proven, Unverifiable],
            Unverifiable,
            true,
        ),
        (&[Proven, Claimed], 3, &[Proven, Claimed], Folded, false),
        (&[Unverifiable], 1, &[Unverifiable], Unverifiable, false),
        (&[Forged], 1, &[Forged], Forged, false),
        (&[Proven, Forged], 1, &[Unverifiable, Forged], Forged, true),
        (
            &[Unverifiable, Proven],
            2,
            &[Unverifiable, Unverifiable],
            Unverifiable,
            true,
        ),
    ] {
        let steps = (1..)
            .zip(standings)
            .map(|(seq, standing)| step(seq, *standing, Some("before")));
        let mut proof = Proof::of(steps.collect());
        let before = proof.clone();
        let told = proof.doubt(|step| {
            Ok::<_, Infallible>((step.entry.seq == doubted).then(|| "unsigned".to_owned()))
        });
        assert_eq!(told, Ok(has_doubt), "{standings:?} {doubted}");
        let found: Vec<Standing> = proof.steps.iter().map(|step| step.standing).collect();
        assert_eq!(
            (found.as_slice(), proof.standing),
            (after, standing),
            "{standings:?} {doubted}"
        );
        // The reason of a change that was worse already stays.
        let is_told = before.standing < Unverifiable && has_doubt;
        assert_eq!(
            proof
                .why
                .as_ref()
                .is_some_and(|why| why.ends_with("unsigned")),
            is_told,
            "{proof:?}"
        );
        let failing = proof.clone().doubt(|_| Err("no signature can be read"));
        assert_eq!(
            failing.is_err(),
            found.iter().any(|standing| *standing < Unverifiable),
            "{found:?}"
        );
    }
    let (mut bare, before) = (Proof::bare(Proven, "so"), Proof::bare(Proven, "so"));
    assert_eq!(
        bare.doubt(|_| Ok::<_, Infallible>(Some("why".to_owned()))),
        Ok(false)
    );
    assert_eq!(bare, before);
}
