# What people order

## an override skips a review, and its waiver falls when the review comes
//- at plan_review
//- order: override the reviewer is ill
plan_review -> codegen (override) on plan, waiving plan_review
codegen#1 waits for agent: code/diff.patch, code/tasks.md are missing
  expects code/diff.patch missing
  expects code/tasks.md missing, of plan
  option orch prompt t-1
  option orch next t-1 --override WHY
  waived plan_review
//- review/plan/verdict.json
{"ok": true, "of": {"plan": "@plan"}}
//- code/diff.patch
+1
//- code/tasks.md
- [x] 1
//- settle
codegen -> review (coded) on plan, patch, tasks
review#1 waits for agent: review/code/code_review.json is missing
  expects review/code/code_review.json missing, of patch, plan
  option orch prompt t-1
  option orch next t-1 --override WHY

## an override over several phases waives what they did not make
//- at plan_review
//- order: override --to test hotfix
plan_review -> test (override) on plan, waiving plan_review, patch, tasks, code_review
test#1 waits for agent: eval/report.json is missing
  expects eval/report.json missing
  option orch prompt t-1
  option orch next t-1 --override WHY
  waived code_review, patch, plan_review, tasks
//- records
planning: done #1, left with no notes, plan, substate "formalizing"
plan_review: done #1, left with no plan_review
codegen: skipped #0, left with no patch, no tasks
review: skipped #0, left with no code_review
test: active #1
rev 2 rounds=0
//- eval/report.json
{"passed": true}
//- settle
test -> accept (tested) on test_report
accept#1 waits for human: accept/decision.json is missing
  expects accept/decision.json missing, of test_report
  option orch prompt t-1
  option orch next t-1 --override WHY
  waived code_review, patch, plan_review, tasks

## going back drops the waivers of what is made again
//- at plan_review
//- order: override --to test hotfix
plan_review -> test (override) on plan, waiving plan_review, patch, tasks, code_review
test#1 waits for agent: eval/report.json is missing
  expects eval/report.json missing
  option orch prompt t-1
  option orch next t-1 --override WHY
  waived code_review, patch, plan_review, tasks
//- order: rollback --to codegen do it properly
test -> codegen (rollback) on plan
codegen#1 waits for agent: code/diff.patch, code/tasks.md are missing
  expects code/diff.patch missing
  expects code/tasks.md missing, of plan
  option orch prompt t-1
  option orch next t-1 --override WHY
  waived plan_review
//- records
planning: done #1, left with no notes, plan, substate "formalizing"
plan_review: done #1, left with no plan_review
codegen: active #1, entered with plan
review: sent_back #0
test: sent_back #1
rev 3 rounds=0

## an override back uses up what it returns to
//- at review
//- order: override --to codegen start over
review -> codegen (override) on plan, patch
codegen#2 waits for agent: code/diff.patch, code/tasks.md are stale: unchanged since attempt 1 was sent back
  expects code/diff.patch stale
  expects code/tasks.md stale, of plan
  option orch prompt t-1
  option orch confirm t-1 patch --reason WHY
  option orch confirm t-1 tasks --reason WHY
  option orch next t-1 --override WHY
//- records
planning: done #1, left with no notes, plan, substate "formalizing"
plan_review: done #1, left with plan_review
codegen: active #2, entered with plan, spent 1 patch, spent 1 tasks
review: sent_back #1
rev 4 rounds=0

## an override into an unknown or unreachable phase is refused
//- at plan_review
//- order: override --to reveiw why not
refused: unknown-phase: workflow `lifecycle` has no phase `reveiw`
  hint: did you mean `review`? the phases reachable from here are planning, plan_review, codegen, review, test, accept, revert, done
//- order: override --to elephant why not
refused: unknown-phase: workflow `lifecycle` has no phase `elephant`
  hint: the phases reachable from here are planning, plan_review, codegen, review, test, accept, revert, done

## an unreachable phase is refused with the reachable ones
//- machine
```toml orch
[artifact.a]
path = "a.json"
[phase.one]
produces = ["a"]
[phase.two]
[phase.three]
terminal = true
[phase.island]
[[rule]]
id = "on"
from = "one"
when = "a.ready"
to = "two"
because = "it is there"
[[rule]]
id = "end"
from = "two"
to = "three"
because = "always"
```
//- order: override --to island why not
refused: unreachable: no rules lead from `one` to `island`
  hint: the phases reachable from here are two, three

## an order needs a reason
//- at plan_review
//- order: override
refused: no-reason: the reason is empty
  hint: give a reason; it is recorded with the transition
//- order: rollback --to planning
refused: no-reason: the reason is empty
  hint: give a reason; it is recorded with the transition
//- order: confirm plan
refused: no-reason: the reason is empty
  hint: give a reason; it is recorded with the transition

## a rollback goes to an earlier phase only
//- at review
//- order: rollback --to review again
refused: not-earlier: `review` is not earlier than `review`
  hint: orch next t-1 --override WHY --to review
//- order: rollback --to test on
refused: not-earlier: `test` is not earlier than `review`
  hint: orch next t-1 --override WHY --to test
//- order: rollback --to plam back
refused: unknown-phase: workflow `lifecycle` has no phase `plam`
  hint: the phases are planning, plan_review, codegen, review, test, accept, revert, done

## a rollback into a phase without its needs is refused
//- at test
//- delete planning/plan.json
//- order: rollback --to codegen again
refused: unmet-needs: the needs of `codegen` are not met: plan (planning/plan.json)
  hint: the last phase whose needs hold is `planning`

## a rollback uses up what was left and what is there
//- at test
//- code/diff.patch
+edited
//- order: rollback --to codegen start over
test -> codegen (rollback) on plan, patch
codegen#2 waits for agent: code/diff.patch, code/tasks.md are stale: unchanged since attempt 1 was sent back
  expects code/diff.patch stale
  expects code/tasks.md stale, of plan
  option orch prompt t-1
  option orch confirm t-1 patch --reason WHY
  option orch confirm t-1 tasks --reason WHY
  option orch next t-1 --override WHY
//- records
planning: done #1, left with no notes, plan, substate "formalizing"
plan_review: done #1, left with plan_review
codegen: active #2, entered with plan, spent 2 patch, spent 1 tasks
review: sent_back #1, spent 1 code_review
test: sent_back #1
rev 5 rounds=0

## a finished task is only re-opened
//- at done
//- order: override --to planning again
refused: terminal: `done` is terminal
  hint: orch reopen t-1 --reason WHY
//- order: rollback --to planning again
refused: terminal: `done` is terminal
  hint: orch reopen t-1 --reason WHY
//- order: reopen a user found a fault
done -> accept (reopen) on patch, test_report
accept#2 waits for human: accept/decision.json is stale: unchanged since attempt 1 was sent back
  expects accept/decision.json stale, of patch, test_report
  option orch prompt t-1
  option orch confirm t-1 decision --reason WHY
  option orch next t-1 --override WHY
//- records
planning: done #1, left with no notes, plan, substate "formalizing"
plan_review: done #1, left with plan_review
codegen: done #1, left with patch, tasks
review: done #1, left with code_review
test: done #1, left with test_report
accept: active #2, entered with patch, test_report, spent 1 decision
revert: sent_back #0
done: sent_back #1
rev 7 rounds=0

## an open task is not re-opened
//- at test
//- order: reopen again
refused: not-terminal: the task is in `test`, which is not terminal
  hint: orch rollback t-1 --reason WHY

## a re-opening may name its phase, but no terminal one
//- at done
//- order: reopen --to done again
refused: terminal: `done` is terminal; a task cannot be sent back to it
  hint: name another phase with --to
//- order: reopen --to codegen a user found a fault
done -> codegen (reopen) on plan
codegen#2 waits for agent: code/diff.patch, code/tasks.md are stale: unchanged since attempt 1 was sent back
  expects code/diff.patch stale
  expects code/tasks.md stale, of plan
  option orch prompt t-1
  option orch confirm t-1 patch --reason WHY
  option orch confirm t-1 tasks --reason WHY
  option orch next t-1 --override WHY

## a terminal phase in the middle of the document can be left, too
//- machine
```toml orch
[artifact.a]
path = "a.json"
[phase.given_up]
terminal = true
[phase.one]
produces = ["a"]
[workflow]
initial = "one"
[[rule]]
id = "give-up"
from = "one"
when = "a.ready"
to = "given_up"
because = "it is there"
```
//- a.json
{}
//- settle
one -> given_up (give-up) on a
given_up#1 done: the task is in `given_up`, which is terminal
  option orch reopen t-1 --reason WHY
//- order: reopen not yet
given_up -> one (reopen)
one#2 waits for agent: a.json is stale: unchanged since attempt 1 was sent back
  expects a.json stale
  option orch prompt t-1
  option orch confirm t-1 a --reason WHY
//- records
given_up: sent_back #1
one: active #2, spent 1 a
rev 2 

## a confirmation makes the same bytes fresh again
//- at review
//- review/code/ann.json
{"ok": false}
//- settle
review -> codegen (review-refused) on plan, code_review
codegen#2 waits for agent: code/diff.patch, code/tasks.md are stale: unchanged since attempt 1 was sent back
  expects code/diff.patch stale
  expects code/tasks.md stale, of plan
  option orch prompt t-1
  option orch confirm t-1 patch --reason WHY
  option orch confirm t-1 tasks --reason WHY
  option orch next t-1 --override WHY
//- order: confirm patch the review was mistaken
codegen -> codegen (confirm) on patch
codegen#2 waits for agent: code/tasks.md is stale: unchanged since attempt 1 was sent back
  expects code/tasks.md stale, of plan
  option orch prompt t-1
  option orch confirm t-1 tasks --reason WHY
  option orch next t-1 --override WHY
//- order: confirm tasks nothing to change
codegen -> codegen (confirm) on tasks
codegen#2 due -> review: the patch is written and every task is ticked
  option orch next t-1
//- settle
codegen -> review (coded) on plan, patch, tasks
review#2 waits for agent: review/code/ann.json is stale: unchanged since attempt 1 was sent back
  expects review/code/ann.json stale, of patch, plan
  option orch prompt t-1
  option orch confirm t-1 code_review --reason WHY
  option orch next t-1 --override WHY
//- records
planning: done #1, left with no notes, plan, substate "formalizing"
plan_review: done #1, left with plan_review
codegen: done #2, left with patch, tasks, entered with plan
review: active #2, spent 1 code_review
rev 7 rounds=0

## only what was used up can be confirmed
//- at review
//- order: confirm patch it is right
refused: not-spent: `patch` is fresh; there is nothing to confirm
  hint: if it should say something else, rewrite it
//- order: confirm code_review it is right
refused: not-present: `code_review` has no file
  hint: write it first; only an existing file can be confirmed
//- order: confirm pach it is right
refused: unknown-artifact: there is no artifact `pach`
  hint: did you mean `patch`?
//- review/code/code_review.json
{"ok": true, "of": {"patch": "0000000000000000000000000000000000000000"}}
//- order: confirm code_review it is right
refused: not-spent: `code_review` cannot be confirmed: it judged another version of `patch`
  hint: if it should say something else, rewrite it
//- show
review#1 waits for agent: review/code/code_review.json is stale: it judged another version of `patch`
  expects review/code/code_review.json stale, of patch, plan
  option orch prompt t-1
  option orch next t-1 --override WHY

## a task is created on purpose
//- order: create a new idea
nothing -> planning (create)
planning#1 waits for agent: planning/plan.json is missing
  expects planning/plan.json missing
  option orch prompt t-1
  option orch next t-1 --override WHY
//- records
planning: active #1
rev 1 rounds=0

## an override waives no optional output
//- order: override the plan is in my head
planning -> plan_review (override), waiving plan
plan_review#1 waits for agent: review/plan/verdict.json is missing
  expects review/plan/verdict.json missing
  option orch prompt t-1
  option orch next t-1 --override WHY
  waived plan
//- planning/notes.md
a late note
//- settle
plan_review#1 waits for agent: review/plan/verdict.json is missing
  expects review/plan/verdict.json missing
  option orch prompt t-1
  option orch next t-1 --override WHY
  waived plan
