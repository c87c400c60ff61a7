# The ways back

## a refused plan goes back and must be new
//- at plan_review
//- review/plan/verdict.json
{"ok": false}
//- settle
plan_review -> planning (plan-refused) on plan_review
planning#2 waits for agent: planning/plan.json is stale: unchanged since attempt 1 was sent back
  expects planning/plan.json stale
  option orch prompt t-1
  option orch confirm t-1 plan --reason WHY
  option orch next t-1 --override WHY
//- records
planning: active #2, spent 1 plan, substate "draft"
plan_review: sent_back #1, spent 1 plan_review
rev 2 rounds=0
//- planning/plan.json
{"n": "better"}
//- settle
planning -> plan_review (planned) on plan
plan_review#2 waits for agent: review/plan/verdict.json is stale: unchanged since attempt 1 was sent back
  expects review/plan/verdict.json stale, of plan
  option orch prompt t-1
  option orch confirm t-1 plan_review --reason WHY
  option orch next t-1 --override WHY

## a blocking issue refuses the plan although it is ok
//- at plan_review
//- review/plan/verdict.json
{"ok": true, "blocking": 1}
//- settle
plan_review -> planning (plan-refused) on plan_review
planning#2 waits for agent: planning/plan.json is stale: unchanged since attempt 1 was sent back
  expects planning/plan.json stale
  option orch prompt t-1
  option orch confirm t-1 plan --reason WHY
  option orch next t-1 --override WHY

## the fix that is already written counts
//- at plan_review
//- planning/plan.json
{"n": "edited while it was reviewed"}
//- review/plan/verdict.json
{"ok": false}
//- settle
plan_review -> planning (plan-refused) on plan_review
planning -> plan_review (planned) on plan
plan_review#2 waits for agent: review/plan/verdict.json is stale: unchanged since attempt 1 was sent back
  expects review/plan/verdict.json stale, of plan
  option orch prompt t-1
  option orch confirm t-1 plan_review --reason WHY
  option orch next t-1 --override WHY

## a refused patch goes back to the code
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
//- code/diff.patch
+better
//- settle
codegen#2 waits for agent: code/tasks.md is stale: unchanged since attempt 1 was sent back
  expects code/tasks.md stale, of plan
  option orch prompt t-1
  option orch confirm t-1 tasks --reason WHY
  option orch next t-1 --override WHY
//- code/tasks.md
- [x] better
//- settle
codegen -> review (coded) on plan, patch, tasks
review#2 waits for agent: review/code/ann.json is stale: unchanged since attempt 1 was sent back
  expects review/code/ann.json stale, of patch, plan
  option orch prompt t-1
  option orch confirm t-1 code_review --reason WHY
  option orch next t-1 --override WHY

## a code review may find the plan flawed
//- at review
//- review/code/ann.json
{"ok": true, "plan_flawed": true}
//- settle
review -> planning (plan-flawed) on code_review
planning#2 waits for agent: planning/plan.json is stale: unchanged since attempt 1 was sent back
  expects planning/plan.json stale
  option orch prompt t-1
  option orch confirm t-1 plan --reason WHY
  option orch next t-1 --override WHY
//- records
planning: active #2, spent 1 plan, substate "draft"
plan_review: sent_back #1, spent 1 plan_review
codegen: sent_back #1, spent 1 patch, spent 1 tasks
review: sent_back #1, spent 1 code_review
rev 4 rounds=0

## a failing test goes back to the code, and is counted
//- at test
//- eval/report.json
{"passed": false}
//- settle
test -> codegen (failed) on plan, test_report
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
review: sent_back #1, spent 1 code_review
test: sent_back #1, spent 1 test_report
rev 5 rounds=1
//- show
codegen#2 waits for agent: code/diff.patch, code/tasks.md are stale: unchanged since attempt 1 was sent back
  expects code/diff.patch stale
  expects code/tasks.md stale, of plan
  option orch prompt t-1
  option orch confirm t-1 patch --reason WHY
  option orch confirm t-1 tasks --reason WHY
  option orch next t-1 --override WHY

## a flaky test is run again, and a new report decides
//- at test
//- eval/report.json
{"passed": false, "flaky": true, "at": 1}
//- settle
test -> test (flaky) on patch, test_report
test#2 waits for agent: eval/report.json is stale: unchanged since attempt 1 was sent back
  expects eval/report.json stale, of patch
  option orch prompt t-1
  option orch confirm t-1 test_report --reason WHY
  option orch next t-1 --override WHY
//- eval/report.json
{"passed": true, "at": 2}
//- settle
test -> accept (tested) on patch, test_report
accept#1 waits for human: accept/decision.json is missing
  expects accept/decision.json missing, of patch, test_report
  option orch prompt t-1
  option orch next t-1 --override WHY

## the same failing report does not loop
//- at test
//- eval/report.json
{"passed": false, "flaky": true, "at": 1}
//- settle
test -> test (flaky) on patch, test_report
test#2 waits for agent: eval/report.json is stale: unchanged since attempt 1 was sent back
  expects eval/report.json stale, of patch
  option orch prompt t-1
  option orch confirm t-1 test_report --reason WHY
  option orch next t-1 --override WHY
//- settle
test#2 waits for agent: eval/report.json is stale: unchanged since attempt 1 was sent back
  expects eval/report.json stale, of patch
  option orch prompt t-1
  option orch confirm t-1 test_report --reason WHY
  option orch next t-1 --override WHY

## a phase tried often enough is handed to a person
//- at test
//- eval/report.json
{"passed": false, "flaky": true, "at": 1}
//- settle
test -> test (flaky) on patch, test_report
test#2 waits for agent: eval/report.json is stale: unchanged since attempt 1 was sent back
  expects eval/report.json stale, of patch
  option orch prompt t-1
  option orch confirm t-1 test_report --reason WHY
  option orch next t-1 --override WHY
//- eval/report.json
{"passed": false, "flaky": true, "at": 2}
//- settle
test -> test (flaky) on patch, test_report
test#3 waits for agent: eval/report.json is stale: unchanged since attempt 2 was sent back
  expects eval/report.json stale, of patch
  option orch prompt t-1
  option orch confirm t-1 test_report --reason WHY
  option orch next t-1 --override WHY
//- eval/report.json
{"passed": false, "flaky": true, "at": 3}
//- settle
test#3 handover, holding -> test: a flaky test failed; run it again, but `test` has been attempted 3 times: a person decides
  option orch next t-1 --to test --override WHY
  option orch next t-1 --override WHY
//- explain
plan-edited (to plan_review): does not hold
  plan.changed: plan.changed=false
late-block (to planning): does not hold
  plan_review.changed: plan_review.changed=false
  !plan_is_good: plan_is_good=true
patch-swapped (to review): does not hold
  patch.changed: patch.changed=false
tested (to accept): does not hold
  test_report.passed: test_report.passed=false
flaky (to test): holds
failed (to codegen): not tried
move -> plan_review by plan-edited: plan.changed (plan.changed is false)
move -> planning by late-block: plan_review.changed (plan_review.changed is false); !plan_is_good (plan_is_good is true)
move -> review by patch-swapped: patch.changed (patch.changed is false)
move -> accept by tested: test_report.passed (test_report.passed is false)
move -> test by flaky: `test` has been attempted 3 times: a person decides
move -> codegen by failed: rule `flaky` comes first
//- order: override --to test the network was down
test -> test (override) on patch, test_report
test#4 waits for agent: eval/report.json is stale: unchanged since attempt 3 was sent back
  expects eval/report.json stale, of patch
  option orch prompt t-1
  option orch confirm t-1 test_report --reason WHY
  option orch next t-1 --override WHY
//- eval/report.json
{"passed": true, "at": 4}
//- settle
test -> accept (tested) on patch, test_report
accept#1 waits for human: accept/decision.json is missing
  expects accept/decision.json missing, of patch, test_report
  option orch prompt t-1
  option orch next t-1 --override WHY

## five attempts at a phase, then a person decides
//- at review
//- review/code/ann.json
{"ok": false, "n": 1}
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
+2
//- code/tasks.md
- [x] 2
//- review/code/ann.json
{"ok": false, "n": 2}
//- settle
codegen -> review (coded) on plan, patch, tasks
review -> codegen (review-refused) on plan, code_review
codegen#3 waits for agent: code/diff.patch, code/tasks.md are stale: unchanged since attempt 2 was sent back
  expects code/diff.patch stale
  expects code/tasks.md stale, of plan
  option orch prompt t-1
  option orch confirm t-1 patch --reason WHY
  option orch confirm t-1 tasks --reason WHY
  option orch next t-1 --override WHY
//- code/diff.patch
+3
//- code/tasks.md
- [x] 3
//- review/code/ann.json
{"ok": false, "n": 3}
//- settle
codegen -> review (coded) on plan, patch, tasks
review -> codegen (review-refused) on plan, code_review
codegen#4 waits for agent: code/diff.patch, code/tasks.md are stale: unchanged since attempt 3 was sent back
  expects code/diff.patch stale
  expects code/tasks.md stale, of plan
  option orch prompt t-1
  option orch confirm t-1 patch --reason WHY
  option orch confirm t-1 tasks --reason WHY
  option orch next t-1 --override WHY
//- code/diff.patch
+4
//- code/tasks.md
- [x] 4
//- review/code/ann.json
{"ok": false, "n": 4}
//- settle
codegen -> review (coded) on plan, patch, tasks
review -> codegen (review-refused) on plan, code_review
codegen#5 waits for agent: code/diff.patch, code/tasks.md are stale: unchanged since attempt 4 was sent back
  expects code/diff.patch stale
  expects code/tasks.md stale, of plan
  option orch prompt t-1
  option orch confirm t-1 patch --reason WHY
  option orch confirm t-1 tasks --reason WHY
  option orch next t-1 --override WHY
//- code/diff.patch
+5
//- code/tasks.md
- [x] 5
//- review/code/ann.json
{"ok": false, "n": 5}
//- settle
codegen -> review (coded) on plan, patch, tasks
review#5 handover, holding -> codegen: a code review refuses the patch, but `codegen` has been attempted 5 times: a person decides
  option orch rollback t-1 --to codegen --reason WHY
  option orch next t-1 --override WHY
//- order: rollback --to codegen one more try
review -> codegen (rollback) on plan, patch, code_review
codegen#6 waits for agent: code/diff.patch, code/tasks.md are stale: unchanged since attempt 5 was sent back
  expects code/diff.patch stale
  expects code/tasks.md stale, of plan
  option orch prompt t-1
  option orch confirm t-1 patch --reason WHY
  option orch confirm t-1 tasks --reason WHY
  option orch next t-1 --override WHY
//- code/diff.patch
+6
//- code/tasks.md
- [x] 6
//- settle
codegen -> review (coded) on plan, patch, tasks
review#6 waits for agent: review/code/ann.json is stale: unchanged since attempt 5 was sent back
  expects review/code/ann.json stale, of patch, plan
  option orch prompt t-1
  option orch confirm t-1 code_review --reason WHY
  option orch next t-1 --override WHY

## acceptance asks for rework
//- at accept
//- accept/decision.json
{"verdict": "needs_work"}
//- settle
accept -> codegen (rework) on plan, decision
codegen#2 waits for agent: code/diff.patch, code/tasks.md are stale: unchanged since attempt 1 was sent back
  expects code/diff.patch stale
  expects code/tasks.md stale, of plan
  option orch prompt t-1
  option orch confirm t-1 patch --reason WHY
  option orch confirm t-1 tasks --reason WHY
  option orch next t-1 --override WHY

## acceptance asks for another test run
//- at accept
//- accept/decision.json
{"verdict": "retest"}
//- settle
accept -> test (retest) on patch, decision
test#2 waits for agent: eval/report.json is stale: unchanged since attempt 1 was sent back
  expects eval/report.json stale, of patch
  option orch prompt t-1
  option orch confirm t-1 test_report --reason WHY
  option orch next t-1 --override WHY

## acceptance sends back to the plan
//- at accept
//- accept/decision.json
{"verdict": "replan"}
//- settle
accept -> planning (replan) on decision
planning#2 waits for agent: planning/plan.json is stale: unchanged since attempt 1 was sent back
  expects planning/plan.json stale
  option orch prompt t-1
  option orch confirm t-1 plan --reason WHY
  option orch next t-1 --override WHY

## acceptance asks for a revert, and a person agrees to its end
//- at accept
//- accept/decision.json
{"verdict": "revert"}
//- settle
accept -> revert (revert-asked) on decision
revert#1 waits for agent: revert/record.json is missing
  expects revert/record.json missing, of decision
  option orch prompt t-1
  option orch next t-1 --override WHY
//- revert/record.json
{"reason": "regression"}
//- settle
revert#1 asks a person to agree: a person decides: the revert is recorded
  option orch approve t-1
//- approve
done#1 done: the task is in `done`, which is terminal
  option orch reopen t-1 --reason WHY

## old bytes stay used up even if they come back
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
{"n": "new"}
//- settle
planning -> plan_review (planned) on plan
plan_review#2 waits for agent: review/plan/verdict.json is stale: unchanged since attempt 1 was sent back
  expects review/plan/verdict.json stale, of plan
  option orch prompt t-1
  option orch confirm t-1 plan_review --reason WHY
  option orch next t-1 --override WHY
//- review/plan/verdict.json
{"ok": false, "n": 2}
//- settle
plan_review -> planning (plan-refused) on plan_review
planning#3 waits for agent: planning/plan.json is stale: unchanged since attempt 2 was sent back
  expects planning/plan.json stale
  option orch prompt t-1
  option orch confirm t-1 plan --reason WHY
  option orch next t-1 --override WHY
//- planning/plan.json
{"n":0,"of":{}}
//- show
planning#3 due -> plan_review: the plan is there and leaves no question open
  option orch next t-1

## a phase that is entered forward has its attempts, too
//- machine
```toml orch
[artifact.plan]
path = "plan.json"
[artifact.verdict]
path = "verdict.json"
[artifact.code]
path = "code.json"
[phase.planning]
produces = ["plan"]
[phase.review]
needs = ["plan"]
produces = ["verdict"]
attempts = 2
[phase.codegen]
needs = ["plan"]
produces = ["code"]
attempts = 1
[phase.done]
terminal = true
[[rule]]
id = "planned"
from = "planning"
when = "plan.ready"
to = "review"
because = "there is a plan"
[[rule]]
id = "refused"
from = "review"
when = "verdict.ready && !verdict.data.ok"
to = "planning"
because = "the plan is refused"
[[rule]]
id = "accepted"
from = "review"
when = "verdict.ready"
to = "codegen"
because = "the plan is accepted"
[[rule]]
id = "coded"
from = "codegen"
when = "code.ready"
to = "done"
because = "there is code"
```
//- plan.json
{"n": 1}
//- verdict.json
{"ok": false, "n": 1}
//- settle
planning -> review (planned) on plan
review -> planning (refused) on verdict
planning#2 waits for agent: plan.json is stale: unchanged since attempt 1 was sent back
  expects plan.json stale
  option orch prompt t-1
  option orch confirm t-1 plan --reason WHY
  option orch next t-1 --override WHY
//- plan.json
{"n": 2}
//- verdict.json
{"ok": false, "n": 2}
//- settle
planning -> review (planned) on plan
review -> planning (refused) on verdict
planning#3 waits for agent: plan.json is stale: unchanged since attempt 2 was sent back
  expects plan.json stale
  option orch prompt t-1
  option orch confirm t-1 plan --reason WHY
  option orch next t-1 --override WHY
//- plan.json
{"n": 3}
//- settle
planning#3 handover, holding -> review: there is a plan, but `review` has been attempted 2 times: a person decides
  option orch next t-1 --to review --override WHY
//- explain
planned (to review): holds
move -> review by planned: `review` has been attempted 2 times: a person decides
//- order: override --to review one more
planning -> review (override) on plan
review#3 waits for agent: verdict.json is stale: unchanged since attempt 2 was sent back
  expects verdict.json stale, of plan
  option orch prompt t-1
  option orch confirm t-1 verdict --reason WHY
  option orch next t-1 --override WHY
//- verdict.json
{"ok": false, "n": 3}
//- settle
review -> planning (refused) on verdict
planning#4 waits for agent: plan.json is stale: unchanged since attempt 3 was sent back
  expects plan.json stale
  option orch prompt t-1
  option orch confirm t-1 plan --reason WHY
  option orch next t-1 --override WHY
//- plan.json
{"n": 4}
//- settle
planning#4 handover, holding -> review: there is a plan, but `review` has been attempted 3 times: a person decides
  option orch next t-1 --to review --override WHY
//- order: override --to review the last one
planning -> review (override) on plan
review#4 waits for agent: verdict.json is stale: unchanged since attempt 3 was sent back
  expects verdict.json stale, of plan
  option orch prompt t-1
  option orch confirm t-1 verdict --reason WHY
  option orch next t-1 --override WHY
//- verdict.json
{"ok": true, "n": 4}
//- settle
review -> codegen (accepted) on plan, verdict
codegen#1 waits for agent: code.json is missing
  expects code.json missing, of plan
  option orch prompt t-1
  option orch next t-1 --override WHY

## where a person allowed one more attempt, the phases after it have one more, too
//- machine
```toml orch
[artifact.code]
path = "code.json"
[artifact.verdict]
path = "verdict.json"
[phase.codegen]
produces = ["code"]
[phase.accept]
owner = "human"
produces = ["verdict"]
[phase.done]
terminal = true
[[rule]]
id = "coded"
from = "codegen"
when = "code.ready"
to = "accept"
because = "there is code"
[[rule]]
id = "rework"
from = "accept"
when = "verdict.ready && !verdict.data.ok"
to = "codegen"
by = "human"
because = "it needs work"
[[rule]]
id = "accepted"
from = "accept"
when = "verdict.ready"
to = "done"
because = "it is accepted"
```
//- code.json
{"n": 1}
//- state
{"phase": "codegen", "actors": {"codegen": {"attempt": 5}, "accept": {"attempt": 5}}}
//- show
codegen#5 handover, holding -> accept: there is code, but `accept` has been attempted 5 times: a person decides
  option orch next t-1 --to accept --override WHY
//- state
{"phase": "codegen", "actors": {"codegen": {"attempt": 6}, "accept": {"attempt": 5}}}
//- show
codegen#6 due -> accept: there is code
  option orch next t-1

## neither what a person takes nor an end has a last attempt
//- machine
```toml orch
[artifact.code]
path = "code.json"
[artifact.verdict]
path = "verdict.json"
[phase.codegen]
produces = ["code"]
[phase.accept]
owner = "human"
produces = ["verdict"]
[phase.done]
terminal = true
[[rule]]
id = "coded"
from = "codegen"
when = "code.ready"
to = "accept"
because = "there is code"
[[rule]]
id = "rework"
from = "accept"
when = "verdict.ready && !verdict.data.ok"
to = "codegen"
by = "human"
because = "it needs work"
[[rule]]
id = "accepted"
from = "accept"
when = "verdict.ready"
to = "done"
because = "it is accepted"
```
//- code.json
{"n": 1}
//- verdict.json
{"ok": false}
//- state
{"phase": "accept", "actors": {"codegen": {"attempt": 5}, "accept": {"attempt": 5}}}
//- show
accept#5 asks a person to agree: a person decides: it needs work
  option orch reject t-1 --reason WHY
//- state
{"phase": "accept", "actors": {"codegen": {"attempt": 5}, "accept": {"attempt": 5}, "done": {"attempt": 5}}}
//- verdict.json
{"ok": true}
//- show
accept#5 due -> done: it is accepted
  option orch next t-1

## a task that lacks a need and has no attempts left is told both
//- machine
```toml orch
[artifact.plan]
path = "plan.json"
[artifact.verdict]
path = "verdict.json"
[phase.planning]
produces = ["plan"]
attempts = 1
[phase.review]
needs = ["plan"]
produces = ["verdict"]
[phase.done]
terminal = true
[[rule]]
id = "planned"
from = "planning"
when = "plan.ready"
to = "review"
because = "there is a plan"
[[rule]]
id = "refused"
from = "review"
when = "verdict.ready && !verdict.data.ok"
to = "planning"
because = "the plan is refused"
[[rule]]
id = "accepted"
from = "review"
when = "verdict.ready"
to = "done"
because = "the plan is accepted"
```
//- plan.json
{"n": 1}
//- settle
planning -> review (planned) on plan
review#1 waits for agent: verdict.json is missing
  expects verdict.json missing, of plan
  option orch prompt t-1
  option orch next t-1 --override WHY
//- verdict.json
{"ok": false}
//- delete plan.json
//- show
review#1 inconsistent, last was planning: the needs of `review` are not met: plan (plan.json) is missing; the plan is refused, but `planning` has been attempted once: a person decides
  expects plan.json missing
  option orch rollback t-1 --to planning --reason WHY
