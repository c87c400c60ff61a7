//! Records the results of verifications: for each an event and a file, all in one commit.

use super::advance::{Advance, Applied};
use super::authority::Authority;
use super::new_result::{NewResult, with_results};
use super::orders::{first_applied, usable_state};
use crate::survey::{Error, Reader, Sight, TaskRef};
use orch_core::decide::{self, Detail, DetailStep, Step};

/// Records the results of verifications.
#[derive(Clone, Copy)]
pub struct Results<'w> {
    pub(super) reader: &'w Reader,
    pub(super) authority: Authority<'w>,
    pub(super) advance: Advance<'w>,
}

impl Results<'_> {
    /// Records what verifications of a task gave. `stands` says whether a task is still what they are about, when it is
    /// looked at under the lock. Returns an error if it is not, if the record of the task cannot be used, or if nothing can
    /// be committed now.
    pub fn record(
        &self,
        task: &TaskRef,
        results: &[NewResult],
        stands: &dyn Fn(&Sight) -> Result<(), Error>,
    ) -> Result<Applied, Error> {
        let stamp = self.authority.caller.own_stamp();
        let advance = Advance {
            results,
            ..self.advance
        };
        let outcomes = advance.apply(std::slice::from_ref(task), false, &|sight| {
            stands(sight)?;
            let mut state = usable_state(sight)?.into_owned();
            let mut steps = Vec::new();
            for result in results {
                let step = DetailStep {
                    detail: Detail::Verify(result.fresh.after(&state)),
                    at: stamp.at,
                    to: None,
                    former: None,
                    why: None,
                };
                let workflow = sight.workflow();
                let transition = decide::detailed(workflow, &state, &task.id, step)
                    .map_err(|why| Error::new(orch_base::Code::StateInvalid, why))?;
                let facts = &sight.observed.facts;
                state = decide::apply(workflow, &state, facts, &transition, &stamp);
                steps.push(Step {
                    transition,
                    state: state.clone(),
                });
            }
            Ok(self.reader.settled(&with_results(sight, results), steps))
        });
        outcomes.and_then(first_applied)
    }
}
