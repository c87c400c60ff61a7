//! A whole verification: the base, the judged code, and the protected tests.

use super::base::{BaseNames, KnownTests, compared};
use super::checkout::{CheckoutMaker, CheckoutTarget, refused};
use super::claim::ClaimedCheckout;
use super::created::CreatedFiles;
use super::places::{BASE, CheckoutPlaces, CheckoutSlot, system};
use super::tried::{TreeRun, TreeTrial};
use super::{
    CouldNotRun, Judged, RanVerification, VerifyPlace, VerifyRequest, VerifySubject, VerifyWatch,
};
use orch_base::{Digest, VerificationName};
use orch_core::verification::{
    NotPassed, NotRun, RULES, TestCounts, TestNames, TestedCode, VerificationResult,
    VerifiedOutcome, VerifiedRun, unlisted,
};
use std::collections::BTreeMap;
use std::fs;

/// One request while it is carried out.
struct VerifySession<'s> {
    request: &'s VerifyRequest<'s>,
    place: &'s VerifyPlace,
    places: &'s CheckoutPlaces,
    maker: CheckoutMaker<'s>,
    slot: &'s CheckoutSlot,
}

/// What the judged code is.
struct JudgedTree {
    head: Digest,
    tree: Digest,
    tested: TestedCode,
    /// Why a patch cannot be applied.
    refusal: Option<String>,
}

pub(super) fn run(
    request: &VerifyRequest<'_>,
    place: &VerifyPlace,
    claim: &ClaimedCheckout,
    watch: &mut VerifyWatch<'_>,
) -> Result<RanVerification, CouldNotRun> {
    refuse_table(request)?;
    let ClaimedCheckout { places, slot, .. } = claim;
    places.make_room(place.most);
    let environment: BTreeMap<String, String> = place.environment.clone();
    let head = match request.judged {
        Judged::Commit(commit) | Judged::Patch { on: commit, .. } => commit,
    };
    let maker = CheckoutMaker::new(request, places, &environment, head, watch)?;
    let mut session = VerifySession {
        request,
        place,
        places,
        maker,
        slot,
    };
    session.run(head, watch)
}

/// Refuses a table that names what a checkout cannot have.
fn refuse_table(request: &VerifyRequest<'_>) -> Result<(), CouldNotRun> {
    let table = request.table;
    let refuse = |message: String| Err(CouldNotRun::new(NotRun::Table, message));
    if table.commands.is_empty() || table.commands.iter().any(Vec::is_empty) {
        return refuse("the table has no command".to_owned());
    }
    for kept in &table.keep {
        let parts: Vec<&str> = kept.split('/').collect();
        let is_plain = |part: &&str| !matches!(*part, "." | ".." | ".git") && !part.contains("**");
        let is_anchored = kept.starts_with('/') && parts.iter().any(|part| !part.is_empty());
        if !is_anchored || !parts.iter().all(is_plain) {
            return refuse(format!(
                "`keep` names {kept}: a kept directory begins with `/`, the root of the repository"
            ));
        }
    }
    Ok(())
}

impl VerifySession<'_> {
    fn run(
        &mut self,
        head: Digest,
        watch: &mut VerifyWatch<'_>,
    ) -> Result<RanVerification, CouldNotRun> {
        let judged = self.judged(head, watch)?;
        if let Some(message) = &judged.refusal {
            return self.refused_patch(&judged, message);
        }
        let brought = self.bring_base(watch)?;
        if let Some(tree) = self.request.only {
            return self.protected_alone(&judged, tree, brought, watch);
        }
        let names = self.base_names(&brought, watch)?;
        let target = CheckoutTarget {
            tree: judged.tree,
            head: judged.head,
            subject: VerifySubject::Code,
        };
        let run = self.trial(target, watch)?;
        let result = self.result(self.request.name.clone(), judged.tested, &run, &names);
        let protected = match &brought {
            Some(Ok(base)) if !self.request.table.protect.is_empty() => {
                let protected = self.protected(&judged, *base, &run, &names, watch);
                match protected {
                    // Nothing is said of what somebody stopped.
                    Err(why) if why.reason == NotRun::Stopped => return Err(why),
                    protected => Some(protected),
                }
            }
            Some(Err(why)) if !self.request.table.protect.is_empty() => Some(Err(why.clone())),
            _ => None,
        };
        Ok(RanVerification {
            result,
            protected,
            log: run.log_path,
        })
    }

    /// What is checked out for the judged code.
    fn judged(&self, head: Digest, watch: &mut VerifyWatch<'_>) -> Result<JudgedTree, CouldNotRun> {
        let _lock = self.places.lock_store(watch)?;
        let failed = |error| refused(NotRun::Checkout, &error);
        let clone = &self.maker.clone;
        let of_commit = self.maker.tree;
        let (blob, bytes) = match self.request.judged {
            Judged::Commit(commit) => {
                let tested = TestedCode::Commit {
                    commit,
                    tree: of_commit,
                };
                return Ok(JudgedTree {
                    head,
                    tree: of_commit,
                    tested,
                    refusal: None,
                });
            }
            Judged::Patch { blob, bytes, .. } => (blob, bytes),
        };
        let patched = clone.patched_tree(of_commit, bytes).map_err(failed)?;
        let (tree, refusal) = match patched {
            Ok(tree) => (tree, None),
            Err(message) => (of_commit, Some(message)),
        };
        Ok(JudgedTree {
            head,
            tree,
            tested: TestedCode::Patch { patch: blob, tree },
            refusal,
        })
    }

    /// Brings the base. Returns its tree, or why it cannot be had; `None` if there is none.
    fn bring_base(
        &mut self,
        watch: &mut VerifyWatch<'_>,
    ) -> Result<Option<Result<Digest, CouldNotRun>>, CouldNotRun> {
        let Some(base) = &self.request.base else {
            return Ok(None);
        };
        let commit = base.commit;
        if let Err(why) = self.maker.bring_also(commit, watch) {
            return match why.reason {
                NotRun::Stopped => Err(why),
                _ => Ok(Some(Err(why))),
            };
        }
        let tree = self.maker.clone.tree_of(commit);
        Ok(Some(
            tree.map_err(|error| refused(NotRun::Checkout, &error)),
        ))
    }

    /// The names of the base's tests, which are run unless they are known. `None` without a base.
    fn base_names(
        &self,
        brought: &Option<Result<Digest, CouldNotRun>>,
        watch: &mut VerifyWatch<'_>,
    ) -> Result<Option<BaseNames>, CouldNotRun> {
        let Some(base) = &self.request.base else {
            return Ok(None);
        };
        let tree = match brought {
            Some(Ok(tree)) => *tree,
            Some(Err(why)) => return Ok(Some(Err(why.message.clone()))),
            None => return Ok(None),
        };
        if self.request.table.report.is_empty() {
            let why = "the table has no report that names tests".to_owned();
            return Ok(Some(Err(why)));
        }
        let slot = self.places.take(BASE, self.request.name, watch)?;
        let table = self.table_digest();
        if !self.request.fresh
            && let Some(known) = KnownTests::kept(&slot, tree, table)
        {
            return Ok(Some(known.names()));
        }
        let trial = TreeTrial {
            maker: &self.maker,
            place: self.place,
            slot: &slot,
            target: CheckoutTarget {
                tree,
                head: base.commit,
                subject: VerifySubject::Base,
            },
            base: None,
        };
        match trial.run(watch) {
            Ok(run) => {
                let known = KnownTests::of(&run);
                known.keep(&slot, tree, table);
                Ok(Some(known.names()))
            }
            Err(why) => match why.reason {
                NotRun::Stopped => Err(why),
                NotRun::Limit => {
                    // It would take as long each time.
                    let known = KnownTests::too_slow(why.message);
                    known.keep(&slot, tree, table);
                    Ok(Some(known.names()))
                }
                _ => Ok(Some(Err(why.message))),
            },
        }
    }

    fn table_digest(&self) -> Digest {
        let format = self.request.store.objects().format();
        self.request.table.digest(format)
    }

    /// Runs a tree in the checkout of the task.
    fn trial(
        &self,
        target: CheckoutTarget,
        watch: &mut VerifyWatch<'_>,
    ) -> Result<TreeRun, CouldNotRun> {
        let is_new = !self.slot.root.exists() && !self.request.fresh;
        let has_caches =
            !self.request.table.keep.is_empty() && self.places.is_there(BASE, self.request.name);
        let base = if is_new && has_caches {
            Some(self.places.take(BASE, self.request.name, watch)?)
        } else {
            None
        };
        let trial = TreeTrial {
            maker: &self.maker,
            place: self.place,
            slot: self.slot,
            target,
            base,
        };
        trial.run(watch)
    }

    /// The result of the protected tests alone, if they still give the tree that is expected.
    fn protected_alone(
        &self,
        judged: &JudgedTree,
        expected: Digest,
        brought: Option<Result<Digest, CouldNotRun>>,
        watch: &mut VerifyWatch<'_>,
    ) -> Result<RanVerification, CouldNotRun> {
        let Some(base) = brought.transpose()? else {
            let message = "there is no base that protects tests".to_owned();
            return Err(CouldNotRun::new(NotRun::Checkout, message));
        };
        let tree = self.protected_tree(judged, base, watch)?;
        if tree != expected {
            let message = format!(
                "the protected tests of the base give the tree {}, and not {}",
                tree.short(),
                expected.short()
            );
            return Err(CouldNotRun::new(NotRun::Checkout, message));
        }
        let target = CheckoutTarget {
            tree,
            head: judged.head,
            subject: VerifySubject::Protected,
        };
        let run = self.trial(target, watch)?;
        let name = self.request.name.protected();
        Ok(RanVerification {
            result: self.result(name, TestedCode::Tree { tree }, &run, &None),
            protected: None,
            log: run.log_path,
        })
    }

    /// The tree of the judged code with the protected files of the base.
    fn protected_tree(
        &self,
        judged: &JudgedTree,
        base: Digest,
        watch: &mut VerifyWatch<'_>,
    ) -> Result<Digest, CouldNotRun> {
        let is_protected = |path: &str| {
            self.request.table.protect.matches(path) && !self.request.exempt.matches(path)
        };
        let _lock = self.places.lock_store(watch)?;
        self.maker
            .clone
            .tree_with(judged.tree, base, &is_protected)
            .map_err(|error| refused(NotRun::Checkout, &error))
    }

    /// The result for the judged code with the protected files of the base. What is the same tree is not run again.
    fn protected(
        &self,
        judged: &JudgedTree,
        base: Digest,
        run: &TreeRun,
        names: &Option<BaseNames>,
        watch: &mut VerifyWatch<'_>,
    ) -> Result<VerificationResult, CouldNotRun> {
        let tree = self.protected_tree(judged, base, watch)?;
        let name = self.request.name.protected();
        let tested = TestedCode::Tree { tree };
        if tree == judged.tree {
            return Ok(self.result(name, tested, run, names));
        }
        let target = CheckoutTarget {
            tree,
            head: judged.head,
            subject: VerifySubject::Protected,
        };
        let run = self.trial(target, watch)?;
        Ok(self.result(name, tested, &run, names))
    }

    fn result(
        &self,
        name: VerificationName,
        tested: TestedCode,
        run: &TreeRun,
        names: &Option<BaseNames>,
    ) -> VerificationResult {
        let base = self.request.base.as_ref().zip(names.as_ref());
        let base = base.map(|(at, names)| compared(at, names, run));
        let format = self.request.store.objects().format();
        let outcome = if run.because.is_empty() {
            VerifiedOutcome::Passed
        } else {
            VerifiedOutcome::Failed
        };
        VerificationResult {
            tests: run.tests.clone(),
            tested,
            run: VerifiedRun {
                task: self.request.task.clone(),
                name,
                code: self.request.code,
                table: self.table_digest(),
                rules: RULES,
                outcome,
                because: run.because.clone(),
                commands: run.commands.clone(),
                tries: run.tries.clone(),
                counts: run.counts,
                failures: run.failures.clone(),
                passed: unlisted(&run.tests.passed, |bytes| format.blob(bytes)),
                reports: run.reports.clone(),
                log: run.log,
                uncommitted: self.request.uncommitted,
                leftovers: run.leftovers.clone(),
                changed: run.changed.clone(),
                created: run.created.listed.clone(),
                created_more: run.created.more,
                given: run.given.clone(),
                milliseconds: run.milliseconds,
                base,
            },
        }
    }

    /// The result of a patch that cannot be applied: that is the failure.
    fn refused_patch(
        &self,
        judged: &JudgedTree,
        message: &str,
    ) -> Result<RanVerification, CouldNotRun> {
        let path = self.slot.file("log-code");
        let text = format!("git apply: {message}\n");
        fs::write(&path, &text).map_err(|error| system(&path, &error))?;
        let format = self.request.store.objects().format();
        let run = TreeRun {
            tests: TestNames::default(),
            because: vec![NotPassed::Patch],
            commands: Vec::new(),
            tries: Vec::new(),
            counts: TestCounts::default(),
            failures: Vec::new(),
            reports: Vec::new(),
            leftovers: Vec::new(),
            changed: Vec::new(),
            created: CreatedFiles::default(),
            given: None,
            milliseconds: 0,
            log: format.blob(text.as_bytes()),
            log_path: path.clone(),
        };
        Ok(RanVerification {
            result: self.result(self.request.name.clone(), judged.tested, &run, &None),
            protected: None,
            log: path,
        })
    }
}
