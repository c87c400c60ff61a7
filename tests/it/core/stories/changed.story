# What changes after it was used

## a plan edited mid-way is reviewed anew, once
//- at codegen
//- planning/plan.json
{"n": "edited"}
//- settle
codegen -> plan_review (plan-edited) on plan
plan_review#2 waits for agent: review/plan/verdict.json is stale: unchanged since attempt 1 was sent back
  expects review/plan/verdict.json stale, of plan
  option orch prompt t-1
  option orch next t-1 --override WHY
//- records
planning: done #1, left with no notes, plan, substate "formalizing"
plan_review: active #2, entered with plan, spent 1 plan_review
codegen: sent_back #1
rev 3 rounds=0
//- review/plan/verdict.json
{"ok": true, "of": {"plan": "@plan"}}
//- settle
plan_review -> codegen (plan-accepted) on plan, plan_review
codegen#2 waits for agent: code/diff.patch, code/tasks.md are missing
  expects code/diff.patch missing
  expects code/tasks.md missing, of plan
  option orch prompt t-1
  option orch next t-1 --override WHY
//- records
planning: done #1, left with no notes, plan, substate "formalizing"
plan_review: done #2, left with plan_review, entered with plan, spent 1 plan_review
codegen: active #2
rev 4 rounds=0

## a plan edited while its review is written goes round once more, no longer
//- at codegen
//- planning/plan.json
{"n": "edited"}
//- settle
codegen -> plan_review (plan-edited) on plan
plan_review#2 waits for agent: review/plan/verdict.json is stale: unchanged since attempt 1 was sent back
  expects review/plan/verdict.json stale, of plan
  option orch prompt t-1
  option orch next t-1 --override WHY
//- planning/plan.json
{"n": "edited again"}
//- review/plan/verdict.json
{"ok": true}
//- settle
plan_review -> codegen (plan-accepted) on plan, plan_review
codegen -> plan_review (plan-edited) on plan
plan_review#3 waits for agent: review/plan/verdict.json is stale: unchanged since attempt 2 was sent back
  expects review/plan/verdict.json stale, of plan
  option orch prompt t-1
  option orch confirm t-1 plan_review --reason WHY
  option orch next t-1 --override WHY
//- review/plan/verdict.json
{"ok": true, "n": 2}
//- settle
plan_review -> codegen (plan-accepted) on plan, plan_review
codegen#3 waits for agent: code/diff.patch, code/tasks.md are missing
  expects code/diff.patch missing
  expects code/tasks.md missing, of plan
  option orch prompt t-1
  option orch next t-1 --override WHY

## a patch swapped after its review is reviewed anew
//- at test
//- code/diff.patch
+other
//- settle
test -> review (patch-swapped) on plan, patch
review#2 waits for agent: review/code/code_review.json is stale: unchanged since attempt 1 was sent back
  expects review/code/code_review.json stale, of patch, plan
  option orch prompt t-1
  option orch next t-1 --override WHY

## a patch edited under review spends the review
//- at review
//- code/diff.patch
+edited
//- review/code/ann.json
{"ok": true}
//- settle
review -> review (patch-edited) on plan, patch, code_review
review#2 waits for agent: review/code/ann.json is stale: unchanged since attempt 1 was sent back
  expects review/code/ann.json stale, of patch, plan
  option orch prompt t-1
  option orch confirm t-1 code_review --reason WHY
  option orch next t-1 --override WHY
//- review/code/ann.json
{"ok": true, "n": 2}
//- settle
review -> test (reviewed) on patch, code_review
test#1 waits for agent: eval/report.json is missing
  expects eval/report.json missing, of patch
  option orch prompt t-1
  option orch next t-1 --override WHY

## a review replaced after use by a blocking one sends back
//- at codegen
//- review/plan/verdict.json
{"ok": false, "of": {"plan": "@plan"}}
//- settle
codegen -> planning (late-block) on plan_review
planning#2 waits for agent: planning/plan.json is stale: unchanged since attempt 1 was sent back
  expects planning/plan.json stale
  option orch prompt t-1
  option orch confirm t-1 plan --reason WHY
  option orch next t-1 --override WHY
//- planning/plan.json
{"n": "better"}
//- settle
planning -> plan_review (planned) on plan
plan_review#2 waits for agent: review/plan/verdict.json is stale: it judged another version of `plan`
  expects review/plan/verdict.json stale, of plan
  option orch prompt t-1
  option orch next t-1 --override WHY

## a review replaced after use by another good one changes nothing
//- at codegen
//- review/plan/verdict.json
{"ok": true, "n": "again", "of": {"plan": "@plan"}}
//- settle
codegen#1 waits for agent: code/diff.patch, code/tasks.md are missing
  expects code/diff.patch missing
  expects code/tasks.md missing, of plan
  option orch prompt t-1
  option orch next t-1 --override WHY

## a late blocking review after an override
//- at plan_review
//- order: override the reviewer is ill
plan_review -> codegen (override) on plan, waiving plan_review
codegen#1 waits for agent: code/diff.patch, code/tasks.md are missing
  expects code/diff.patch missing
  expects code/tasks.md missing, of plan
  option orch prompt t-1
  option orch next t-1 --override WHY
  waived plan_review
//- records
planning: done #1, left with no notes, plan, substate "formalizing"
plan_review: done #1, left with no plan_review
codegen: active #1
rev 2 rounds=0
//- review/plan/verdict.json
{"ok": false}
//- settle
codegen -> planning (late-block) on plan_review
planning#2 waits for agent: planning/plan.json is stale: unchanged since attempt 1 was sent back
  expects planning/plan.json stale
  option orch prompt t-1
  option orch confirm t-1 plan --reason WHY
  option orch next t-1 --override WHY

## evidence that judged another patch is stale
//- at test
//- eval/report.json
{"passed": true, "of": {"patch": "0000000000000000000000000000000000000000"}}
//- settle
test#1 waits for agent: eval/report.json is stale: it judged another version of `patch`
  expects eval/report.json stale, of patch
  option orch prompt t-1
  option orch next t-1 --override WHY
//- eval/report.json
{"passed": true, "of": {"patch": "@patch"}}
//- settle
test -> accept (tested) on patch, test_report
accept#1 waits for human: accept/decision.json is missing
  expects accept/decision.json missing, of patch, test_report
  option orch prompt t-1
  option orch next t-1 --override WHY

## evidence that judged something nobody knows is stale
//- at plan_review
//- review/plan/verdict.json
{"ok": true, "of": {"plam": "0000000000000000000000000000000000000000"}}
//- show
plan_review#1 waits for agent: review/plan/verdict.json is stale: `of` names `plam`, which is not in the workflow
  expects review/plan/verdict.json stale, of plan
  option orch prompt t-1
  option orch next t-1 --override WHY

## evidence whose digest is no digest is stale
//- at plan_review
//- review/plan/verdict.json
{"ok": true, "of": {"plan": "latest"}}
//- show
plan_review#1 waits for agent: review/plan/verdict.json is stale: `of` does not name one version of `plan`
  expects review/plan/verdict.json stale, of plan
  option orch prompt t-1
  option orch next t-1 --override WHY

## evidence made early for a later phase does not survive a send-back
//- at review
//- eval/report.json
{"passed": true, "n": "early"}
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
//- code/diff.patch
+new
//- code/tasks.md
- [x] new
//- review/code/ann.json
{"ok": true, "n": 2}
//- settle
codegen -> review (coded) on plan, patch, tasks
review -> test (reviewed) on patch, code_review
test#1 waits for agent: eval/report.json is stale: unchanged since it was used up
  expects eval/report.json stale, of patch
  option orch prompt t-1
  option orch confirm t-1 test_report --reason WHY
  option orch next t-1 --override WHY

## a finished task lists what changed since
//- at done
//- planning/plan.json
{"n": "later"}
//- code/diff.patch
+later
//- revert/record.json
{}
//- settle
done#1 done: the task is in `done`, which is terminal; changed since: plan, patch, revert_record
  option orch reopen t-1 --reason WHY

## a waived need may stay away, a broken one that nobody waived may not
//- at codegen
//- order: override --to test hotfix
codegen -> test (override) on plan, waiving patch, tasks, code_review
test#1 waits for agent: eval/report.json is missing
  expects eval/report.json missing
  option orch prompt t-1
  option orch next t-1 --override WHY
  waived code_review, patch, tasks
//- delete planning/plan.json
//- show
test#1 inconsistent, last was planning: the plan was edited after its review, but the needs of `plan_review` are not met: plan (planning/plan.json) is missing
  expects planning/plan.json missing
  option orch rollback t-1 --to planning --reason WHY
  option orch next t-1 --override WHY
  waived code_review, patch, tasks
  evidence-gone: planning/plan.json is missing, although the task left `planning` with it (restore it from git, or write it again; the task cannot be finished without it)
//- order: rollback --to review look again
refused: unmet-needs: the needs of `review` are not met: plan (planning/plan.json)
  hint: the last phase whose needs hold is `planning`
