# The way forward

## a new task asks for its plan
//- show
planning#1 waits for agent: planning/plan.json is missing
  expects planning/plan.json missing
  option orch prompt t-1
  option orch next t-1 --override WHY

## the happy path
//- planning/plan.json
{"title": "export"}
//- settle
planning -> plan_review (planned) on plan
plan_review#1 waits for agent: review/plan/verdict.json is missing
  expects review/plan/verdict.json missing, of plan
  option orch prompt t-1
  option orch next t-1 --override WHY
//- review/plan/verdict.json
{"ok": true, "of": {"plan": "@plan"}}
//- settle
plan_review -> codegen (plan-accepted) on plan, plan_review
codegen#1 waits for agent: code/diff.patch, code/tasks.md are missing
  expects code/diff.patch missing
  expects code/tasks.md missing, of plan
  option orch prompt t-1
  option orch next t-1 --override WHY
//- code/diff.patch
+export
//- code/tasks.md
- [x] write it
//- settle
codegen -> review (coded) on plan, patch, tasks
review#1 waits for agent: review/code/code_review.json is missing
  expects review/code/code_review.json missing, of patch, plan
  option orch prompt t-1
  option orch next t-1 --override WHY
//- review/code/ann.json
{"ok": true, "of": {"plan": "@plan", "patch": "@patch"}}
//- settle
review -> test (reviewed) on patch, code_review
test#1 waits for agent: eval/report.json is missing
  expects eval/report.json missing, of patch
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
//- accept/decision.json
{"verdict": "accepted"}
//- settle
accept -> done (accepted) on plan, plan_review, patch, code_review, test_report, decision
done#1 done: the task is in `done`, which is terminal
  option orch reopen t-1 --reason WHY
//- records
planning: done #1, left with no notes, plan, substate "formalizing"
plan_review: done #1, left with plan_review
codegen: done #1, left with patch, tasks
review: done #1, left with code_review
test: done #1, left with test_report
accept: done #1, left with decision
revert: skipped #0, left with no revert_record
done: active #1
rev 6 rounds=0

## everything there at once settles in one go
//- planning/plan.json
{}
//- review/plan/verdict.json
{"ok": true}
//- code/diff.patch
+1
//- code/tasks.md
- [x] one
//- review/code/a.json
{"ok": true}
//- eval/report.json
{"passed": true}
//- accept/decision.json
{"verdict": "accepted"}
//- settle
planning -> plan_review (planned) on plan
plan_review -> codegen (plan-accepted) on plan, plan_review
codegen -> review (coded) on plan, patch, tasks
review -> test (reviewed) on patch, code_review
test -> accept (tested) on patch, test_report
accept -> done (accepted) on decision
done#1 done: the task is in `done`, which is terminal
  option orch reopen t-1 --reason WHY

## an open question keeps the plan where it is
//- planning/plan.json
{"questions": ["which format?"]}
//- settle
planning#1 waits for agent: the plan leaves questions open
  expects planning/plan.json unmet
  option orch prompt t-1
  option orch next t-1 --override WHY
//- explain
planned (to plan_review): does not hold
  plan.questions == 0: plan.questions=1
plan-open (wait for answers to the questions of the plan): holds
move -> plan_review by planned: plan.questions == 0 (plan.questions is 1)

## an open check box keeps the code where it is
//- at codegen
//- code/diff.patch
+1
//- code/tasks.md
- [x] one
- [ ] two
//- settle
codegen#1 waits for agent: a task is not done
  expects code/tasks.md unmet, of plan
  option orch prompt t-1
  option orch next t-1 --override WHY

## an empty file is never valid
//- planning/plan.json
//- settle
planning#1 waits for agent: planning/plan.json is invalid
  expects planning/plan.json invalid
  option orch prompt t-1
  option orch next t-1 --override WHY
  unreadable: the file is empty

## a file that its schema refuses
//- planning/plan.json !invalid
{"title": 3}
//- settle
planning#1 waits for agent: planning/plan.json is invalid
  expects planning/plan.json invalid
  option orch prompt t-1
  option orch next t-1 --override WHY
  unreadable: the schema refuses it

## a file that does not parse
//- planning/plan.json
{"title":
//- settle
planning#1 waits for agent: planning/plan.json is invalid
  expects planning/plan.json invalid
  option orch prompt t-1
  option orch next t-1 --override WHY
  unreadable: EOF while parsing a value at line 2 column 0

## an optional output is never asked for, but mended
//- planning/notes.md !invalid
a note
//- show
planning#1 waits for agent: planning/notes.md is invalid; planning/plan.json is missing
  expects planning/plan.json missing
  expects planning/notes.md invalid
  option orch prompt t-1
  option orch next t-1 --override WHY
  unreadable: the schema refuses it

## a phase accepts by one of several verdicts, and says which words it knows
//- at accept
//- accept/decision.json
{"verdict": "perhaps"}
//- settle
accept#1 waits for human: nobody has decided
  expects accept/decision.json unmet, of patch, test_report
  option orch prompt t-1
  option orch next t-1 --override WHY

## a substate says where within a phase the task stands
//- planning/plan.json
{}
//- settle
planning -> plan_review (planned) on plan
plan_review#1 waits for agent: review/plan/verdict.json is missing
  expects review/plan/verdict.json missing, of plan
  option orch prompt t-1
  option orch next t-1 --override WHY
//- records
planning: done #1, left with no notes, plan, substate "formalizing"
plan_review: active #1
rev 1 rounds=0

## two reviewers must both agree
//- at review
//- review/code/ann.json
{"ok": true, "of": {"patch": "@patch"}}
//- review/code/bob.json
{"ok": false, "of": {"patch": "@patch"}}
//- show
review#1 due -> codegen: a code review refuses the patch
  option orch next t-1

## of two reviews that judged different patches, the outdated one does not count
//- at review
//- review/code/ann.json
{"ok": true, "of": {"patch": "0000000000000000000000000000000000000000"}}
//- review/code/bob.json
{"ok": true, "of": {"patch": "@patch"}}
//- show
review#1 due -> test: every code review is ok
  option orch next t-1
  not-counted: the file does not count: it judged another version of `patch` (write it again, or remove it)

## the first path with an unspent file wins
//- planning/plan.json
{"n": 1}
//- plan.json
{"n": 2}
//- show
planning#1 due -> plan_review: the plan is there and leaves no question open
  option orch next t-1
  artifact-elsewhere: `plan` is read from planning/plan.json, so this file does not count (remove one of the two)

## a misplaced report is read where it lies
//- at plan_review
//- planning/plan-review.json
{"ok": true, "of": {"plan": "@plan"}}
//- settle
plan_review -> codegen (plan-accepted) on plan, plan_review
codegen#1 waits for agent: code/diff.patch, code/tasks.md are missing
  expects code/diff.patch missing
  expects code/tasks.md missing, of plan
  option orch prompt t-1
  option orch next t-1 --override WHY

## once the preferred file is used up, another path counts
//- at plan_review
//- review/plan/verdict.json
{"ok": false, "n": 1}
//- settle
plan_review -> planning (plan-refused) on plan_review
planning#2 waits for agent: planning/plan.json is stale: unchanged since attempt 1 was sent back
  expects planning/plan.json stale
  option orch prompt t-1
  option orch confirm t-1 plan --reason WHY
  option orch next t-1 --override WHY
//- planning/plan.json
{"n": 2}
//- settle
planning -> plan_review (planned) on plan
plan_review#2 waits for agent: review/plan/verdict.json is stale: unchanged since attempt 1 was sent back
  expects review/plan/verdict.json stale, of plan
  option orch prompt t-1
  option orch confirm t-1 plan_review --reason WHY
  option orch next t-1 --override WHY
//- planning/plan-review.json
{"ok": true, "n": 2}
//- settle
plan_review -> codegen (plan-accepted) on plan, plan_review
codegen#1 waits for agent: code/diff.patch, code/tasks.md are missing
  expects code/diff.patch missing
  expects code/tasks.md missing, of plan
  option orch prompt t-1
  option orch next t-1 --override WHY

## of two reviews the invalid one is asked for
//- at review
//- review/code/ann.json
{"ok": true}
//- review/code/bob.json !invalid
{"ok": "perhaps"}
//- show
review#1 waits for agent: review/code/bob.json is invalid
  expects review/code/bob.json invalid, of patch, plan
  option orch prompt t-1
  option orch next t-1 --override WHY
  unreadable: the schema refuses it

## of two reviews the one that judged another patch does not count
//- at review
//- review/code/ann.json
{"ok": true, "of": {"patch": "@patch"}}
//- review/code/bob.json
{"ok": true, "of": {"patch": "0000000000000000000000000000000000000000"}}
//- show
review#1 due -> test: every code review is ok
  option orch next t-1
  not-counted: the file does not count: it judged another version of `patch` (write it again, or remove it)
//- review/code/bob.json
{"ok": true, "of": {"patch": "@patch"}}
//- settle
review -> test (reviewed) on patch, code_review
test#1 waits for agent: eval/report.json is missing
  expects eval/report.json missing, of patch
  option orch prompt t-1
  option orch next t-1 --override WHY

## a set of reviews that was used up is asked for file by file
//- at review
//- review/code/ann.json
{"ok": true}
//- review/code/bob.json
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
+better
//- code/tasks.md
- [x] better
//- settle
codegen -> review (coded) on plan, patch, tasks
review#2 waits for agent: review/code/ann.json, review/code/bob.json are stale: unchanged since attempt 1 was sent back
  expects review/code/ann.json stale, of patch, plan
  expects review/code/bob.json stale, of patch, plan
  option orch prompt t-1
  option orch confirm t-1 code_review --reason WHY
  option orch next t-1 --override WHY
  not-counted: the file does not count: unchanged since attempt 1 was sent back (write it again, or remove it)
  not-counted: the file does not count: unchanged since attempt 1 was sent back (write it again, or remove it)

## a report may say that an artifact was absent when it judged
//- at review
//- review/code/ann.json
{"ok": true, "of": {"patch": "@patch", "test_report": null}}
//- settle
review -> test (reviewed) on patch, code_review
test#1 waits for agent: eval/report.json is missing
  expects eval/report.json missing, of patch
  option orch prompt t-1
  option orch next t-1 --override WHY
//- eval/report.json
{"passed": true, "of": {"patch": "nonsense"}}
//- settle
test#1 waits for agent: eval/report.json is stale: `of` does not name one version of `patch`
  expects eval/report.json stale, of patch
  option orch prompt t-1
  option orch next t-1 --override WHY
//- eval/report.json
{"passed": true, "of": {"decision": null}}
//- accept/decision.json
{"verdict": "accepted"}
//- show
test#1 waits for agent: eval/report.json is stale: there was no `decision` when it judged, and now there is one
  expects eval/report.json stale, of patch
  option orch prompt t-1
  option orch next t-1 --override WHY
