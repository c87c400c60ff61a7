//! What the prompt of `orch repl` shows, as golden texts.

use super::numbered;
use crate::{Paint, Suggestion, next_step, standing};
use snapbox::{assert_data_eq, str};

/// What a prompt shows of each kind of task: where it stands, and the answer to what comes next.
#[test]
fn a_prompt_and_its_answer_in_words() {
    let lines: Vec<String> = numbered()
        .iter()
        .map(|sample| {
            let suggestion = Suggestion::of(&sample.subject());
            format!(
                "{}\n{}",
                standing(&suggestion, Paint::PLAIN),
                next_step(&suggestion, Paint::PLAIN, 60)
            )
        })
        .collect();
    assert_data_eq!(
        lines.join("\n"),
        str![[r#"
t-01  planning  attempt 1  orch
current phase   planning
suggested next  plan_review
reason          the plan is final and holds no blocking
                question

t-02  codegen  attempt 2  agent
current phase   codegen
suggested next  codegen
reason          the outputs of codegen are not there yet

t-03  plan_review  attempt 1  agent
current phase   plan_review
suggested next  plan_review
reason          the plan review is not valid

t-04  plan_review  attempt 1  agent
current phase   plan_review
suggested next  plan_review
reason          the plan review judged a plan that has
                changed since

t-05  codegen  attempt 1  human
current phase   codegen
suggested next  planning
reason          codegen needs plan, which is missing
                (planning/plan.json)

t-06  (no phase)  attempt 1  human
current phase   (no phase)
suggested next  none
reason          state.json cannot be read

t-07  plan_review  attempt 1  human
current phase   plan_review
suggested next  planning
reason          planning has been attempted 3 times, which
                is all the workflow allows

t-08  done  attempt 1
current phase   done
suggested next  none
reason          done is a terminal phase

t-09  planning  attempt 1  human
current phase   planning
suggested next  none
reason          the rules go from planning to plan_review
                and back without using up any evidence

t-10  codegen  attempt 1  agent
current phase   codegen
suggested next  codegen
reason          the code has not been linted

"#]]
    );
}
