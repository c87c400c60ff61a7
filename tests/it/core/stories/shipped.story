# The lifecycle that ships

## a reviewer who says blocked refuses under an ok aggregate
//- shipped global-state-machine
//- at plan_review
//- review/plan/verdict.json
{"reviewers": [{"id": "r1", "ok": true, "decision": "accept"}, {"id": "r2", "ok": true, "decision": "blocked"}], "aggregate": {"ok": true, "decision": "accepted"}}
//- settle
plan_review -> planning (plan-refused) on plan_review
planning#2 waits for agent: planning/plan.json is stale: unchanged since attempt 1 was sent back
  issue review/plan/verdict.json: {"decision":"blocked","id":"r2","ok":true}
  remark: the plan states no requirement
  remark: the plan names no file that it changes
  remark: the plan has no acceptance criterion
  remark: the plan does not say how the work is tested
  expects planning/plan.json stale
  option orch prompt t-1
  option orch confirm t-1 plan --reason WHY
  option orch next t-1 --override WHY

## a reviewer who says no and decides nothing else refuses
//- shipped global-state-machine
//- at plan_review
//- review/plan/verdict.json
{"reviewers": [{"id": "r1", "ok": false}], "aggregate": {"ok": true}}
//- settle
plan_review -> planning (plan-refused) on plan_review
planning#2 waits for agent: planning/plan.json is stale: unchanged since attempt 1 was sent back
  issue review/plan/verdict.json: {"id":"r1","ok":false}
  remark: the plan states no requirement
  remark: the plan names no file that it changes
  remark: the plan has no acceptance criterion
  remark: the plan does not say how the work is tested
  expects planning/plan.json stale
  option orch prompt t-1
  option orch confirm t-1 plan --reason WHY
  option orch next t-1 --override WHY

## a reviewer who says no and accepts refuses
//- shipped global-state-machine
//- at plan_review
//- review/plan/verdict.json
{"reviewers": [{"id": "r1", "ok": false, "decision": "accept"}], "aggregate": {"ok": true}}
//- settle
plan_review -> planning (plan-refused) on plan_review
planning#2 waits for agent: planning/plan.json is stale: unchanged since attempt 1 was sent back
  issue review/plan/verdict.json: {"decision":"accept","id":"r1","ok":false}
  remark: the plan states no requirement
  remark: the plan names no file that it changes
  remark: the plan has no acceptance criterion
  remark: the plan does not say how the work is tested
  expects planning/plan.json stale
  option orch prompt t-1
  option orch confirm t-1 plan --reason WHY
  option orch next t-1 --override WHY

## a code reviewer who says no and accepts refuses
//- shipped global-state-machine
//- at review
//- review/code/verdict.json
{"reviewers": [{"id": "r1", "ok": false, "decision": "accept"}], "aggregate": {"ok": true}}
//- settle
review -> codegen (code-refused) on plan, plan_review, code_review
codegen#2 waits for agent: code/diff.patch is stale: unchanged since attempt 1 was sent back
  issue review/code/verdict.json: {"decision":"accept","id":"r1","ok":false}
  expects code/diff.patch stale
  option orch prompt t-1
  option orch confirm t-1 patch --reason WHY
  option orch next t-1 --override WHY

## a reviewer who says no and defers leaves the verdict to the others
//- shipped global-state-machine
//- at plan_review
//- review/plan/verdict.json
{"reviewers": [{"id": "r1", "ok": false, "decision": "defer"}, {"id": "r2", "ok": true}], "aggregate": {"ok": true}}
//- settle
plan_review -> codegen (plan-accepted) on plan, plan_review
codegen#1 waits for agent: code/diff.patch is missing
  expects code/diff.patch missing
  option orch prompt t-1
  option orch next t-1 --override WHY

## a code reviewer who says blocked refuses under an ok aggregate
//- shipped global-state-machine
//- at review
//- review/code/verdict.json
{"reviewers": [{"id": "r2", "ok": true, "decision": "blocked"}], "aggregate": {"ok": true}}
//- settle
review -> codegen (code-refused) on plan, plan_review, code_review
codegen#2 waits for agent: code/diff.patch is stale: unchanged since attempt 1 was sent back
  issue review/code/verdict.json: {"decision":"blocked","id":"r2","ok":true}
  expects code/diff.patch stale
  option orch prompt t-1
  option orch confirm t-1 patch --reason WHY
  option orch next t-1 --override WHY

## an aggregate that needs changes refuses the code although it says ok
//- shipped global-state-machine
//- at review
//- review/code/verdict.json
{"aggregate": {"ok": true, "decision": "needs_changes"}}
//- settle
review -> codegen (code-refused) on plan, plan_review, code_review
codegen#2 waits for agent: code/diff.patch is stale: unchanged since attempt 1 was sent back
  expects code/diff.patch stale
  option orch prompt t-1
  option orch confirm t-1 patch --reason WHY
  option orch next t-1 --override WHY

## a report that passes with failed cases follows its word, and says so
//- shipped global-state-machine
//- at test
//- eval/eval-report.json
{"status": "completed", "overall_pass": true, "summary": {"passed": 12, "failed": 1}, "suites": [{"id": "u", "status": "completed", "overall_pass": true, "cases": [{"id": "c", "status": "failed"}]}]}
//- settle
test -> accept (tests-passed-with-failures) on plan, patch, eval_report
accept#1 waits for human: accept/decision.json is missing
  remark: the test report passes and lists failures, which it allows
  expects accept/decision.json missing, of patch, plan
  option orch approve t-1
  option orch reject t-1 --reason WHY

## a report that fails without a failed case follows its word
//- shipped global-state-machine
//- at test
//- eval/eval-report.json
{"status": "completed", "overall_pass": false, "summary": {"passed": 12, "failed": 0}, "suites": []}
//- settle
test -> codegen (tests-failed) on plan, plan_review, eval_report
codegen#2 waits for agent: code/diff.patch is stale: unchanged since attempt 1 was sent back
  issue eval/eval-report.json: "the report says `overall_pass: false`"
  expects code/diff.patch stale
  option orch prompt t-1
  option orch confirm t-1 patch --reason WHY
  option orch next t-1 --override WHY

## a suite that failed as a whole fails a report that passes
//- shipped global-state-machine
//- at test
//- eval/eval-report.json
{"overall_pass": true, "suites": [{"id": "u", "overall_pass": false}]}
//- settle
test -> codegen (tests-failed) on plan, plan_review, eval_report
codegen#2 waits for agent: code/diff.patch is stale: unchanged since attempt 1 was sent back
  issue eval/eval-report.json: {"id":"u","overall_pass":false}
  expects code/diff.patch stale
  option orch prompt t-1
  option orch confirm t-1 patch --reason WHY
  option orch next t-1 --override WHY

## an evaluation that failed itself fails a report that passes
//- shipped global-state-machine
//- at test
//- eval/eval-report.json
{"overall_pass": true, "status": "failed"}
//- settle
test -> codegen (tests-failed) on plan, plan_review, eval_report
codegen#2 waits for agent: code/diff.patch is stale: unchanged since attempt 1 was sent back
  expects code/diff.patch stale
  option orch prompt t-1
  option orch confirm t-1 patch --reason WHY
  option orch next t-1 --override WHY

## totals count where the report has no word of its own
//- shipped global-state-machine
//- at test
//- eval/eval-report.json
{"results": [{"step": "test", "status": "ok"}], "summary": {"failed": 1}}
//- settle
test -> codegen (tests-failed) on plan, plan_review, eval_report
codegen#2 waits for agent: code/diff.patch is stale: unchanged since attempt 1 was sent back
  expects code/diff.patch stale
  option orch prompt t-1
  option orch confirm t-1 patch --reason WHY
  option orch next t-1 --override WHY

## the review is told what a plan leaves out
//- shipped global-state-machine
//- planning/plan.json
{"title": "x", "what": "y", "work": {"tasks": [{"id": "a"}, {"id": "a"}], "milestones": [{"tasks": ["b"]}]}}
//- settle
planning -> plan_review (plan-ready) on plan
plan_review#1 waits for agent: review/plan/verdict.json is missing
  remark: the plan states no requirement
  remark: the plan names no file that it changes
  remark: the plan has no acceptance criterion
  remark: the plan does not say how the work is tested
  remark: two work items have the same id
  remark: a milestone names a work item that does not exist
  expects review/plan/verdict.json missing, of plan
  option orch prompt t-1
  option orch approve t-1
  option orch reject t-1 --reason WHY
  option orch next t-1 --override WHY

## the review is told of criteria that cannot be tested and of files named twice
//- shipped global-state-machine
//- planning/plan.json
{"title": "x", "what": "y", "requirements": ["r"], "file_plan": [{"path": "src/a.rs"}, {"path": "src/a.rs"}], "acceptance_criteria": [{"id": "A1"}, "it works"], "test_plan": "unit tests"}
//- settle
planning -> plan_review (plan-ready) on plan
plan_review#1 waits for agent: review/plan/verdict.json is missing
  remark: the plan names a file twice
  remark: an acceptance criterion says nothing that can be tested
  expects review/plan/verdict.json missing, of plan
  option orch prompt t-1
  option orch approve t-1
  option orch reject t-1 --reason WHY
  option orch next t-1 --override WHY

## a whole plan has no remarks
//- shipped global-state-machine
//- planning/plan.json
{"meta": {"title": "x"}, "why": "w", "what": "y", "requirements": ["r"], "draft_files": ["src/a.rs"], "acceptance": ["it works"], "test_plan": {"cases": ["one"]}, "work": {"tasks": [{"id": "a"}], "milestones": [{"tasks": ["a"]}]}}
//- settle
planning -> plan_review (plan-ready) on plan
plan_review#1 waits for agent: review/plan/verdict.json is missing
  expects review/plan/verdict.json missing, of plan
  option orch prompt t-1
  option orch approve t-1
  option orch reject t-1 --reason WHY
  option orch next t-1 --override WHY

## the review is told of code outside of the plan
//- shipped global-state-machine
//- planning/plan.json
{"title": "x", "what": "y", "requirements": ["r"], "file_plan": [{"path": "src/a.rs"}, {"path": "docs/"}], "acceptance_criteria": ["it works"], "test_plan": "unit tests"}
//- at codegen
//- code/diff.patch
--- a/src/a.rs
+++ b/src/a.rs
+++ b/src/b.rs
+++ b/docs/a/b.md
//- settle
codegen -> review (code-ready) on plan, patch
review#1 waits for agent: review/code/verdict.json is missing
  remark: the code changes `src/b.rs`, which the plan does not name
  expects review/code/verdict.json missing, of patch, plan
  option orch prompt t-1
  option orch approve t-1
  option orch reject t-1 --reason WHY
  option orch next t-1 --override WHY

## a plan with a wildcard is not compared
//- shipped global-state-machine
//- planning/plan.json
{"title": "x", "what": "y", "requirements": ["r"], "file_plan": [{"path": "src/**"}], "acceptance_criteria": ["it works"], "test_plan": "unit tests"}
//- at codegen
//- code/diff.patch
+++ b/src/b.rs
//- settle
codegen -> review (code-ready) on plan, patch
review#1 waits for agent: review/code/verdict.json is missing
  expects review/code/verdict.json missing, of patch, plan
  option orch prompt t-1
  option orch approve t-1
  option orch reject t-1 --reason WHY
  option orch next t-1 --override WHY

## a plan that was used up is stale, not ready for review
//- shipped global-state-machine
//- planning/plan.json
{"title": "x"}
//- substate
"review_ready"
//- at plan_review
//- review/plan/verdict.json
{"ok": false}
//- settle
plan_review -> planning (plan-refused) on plan_review
planning#2 waits for agent: planning/plan.json is stale: unchanged since attempt 1 was sent back
  remark: the plan states no requirement
  remark: the plan names no file that it changes
  remark: the plan has no acceptance criterion
  remark: the plan does not say how the work is tested
  expects planning/plan.json stale
  option orch prompt t-1
  option orch confirm t-1 plan --reason WHY
  option orch next t-1 --override WHY
//- substate
"stale"

## the texts of older tools are judged and committed, and hold nothing but a broken plan
//- shipped global-state-machine
//- planning/plan.json
{"title": "x", "what": "y", "requirements": ["r"], "file_plan": [{"path": "src/a.rs"}], "acceptance_criteria": ["it works"], "test_plan": "unit tests"}
//- planning/brief.md
# What is wanted
//- meta.json
{"id": "1", "status": "draft"}
//- eval/summary.md
//- planning/plan.md
//- settle
planning#1 waits for agent: a part of the plan that lies apart cannot be read
  option orch prompt t-1
  option orch next t-1 --override WHY
  unreadable: the file is empty
  unreadable: the file is empty
//- substate
"malformed"
//- planning/plan.md
# The plan
//- settle
planning -> plan_review (plan-ready) on plan, plan_text
plan_review#1 waits for agent: review/plan/verdict.json is missing
  expects review/plan/verdict.json missing, of plan
  option orch prompt t-1
  option orch approve t-1
  option orch reject t-1 --reason WHY
  option orch next t-1 --override WHY
  unreadable: the file is empty

## the record never shows a substate that rests on used-up evidence
//- shipped global-state-machine
//- at plan_review
//- review/plan/verdict.json
{"ok": false}
//- settle
plan_review -> planning (plan-refused) on plan_review
planning#2 waits for agent: planning/plan.json is stale: unchanged since attempt 1 was sent back
  remark: the plan states no requirement
  remark: the plan names no file that it changes
  remark: the plan has no acceptance criterion
  remark: the plan does not say how the work is tested
  expects planning/plan.json stale
  option orch prompt t-1
  option orch confirm t-1 plan --reason WHY
  option orch next t-1 --override WHY
//- records
planning: active #2, spent 1 plan, substate "stale"
plan_review: sent_back #1, spent 1 plan_review
rev 2 
//- planning/plan.json
{"title": "t", "what": "w, again"}
//- settle
planning -> plan_review (plan-ready) on plan
plan_review#2 waits for agent: review/plan/verdict.json is stale: unchanged since attempt 1 was sent back
  remark: the plan states no requirement
  remark: the plan names no file that it changes
  remark: the plan has no acceptance criterion
  remark: the plan does not say how the work is tested
  expects review/plan/verdict.json stale, of plan
  option orch prompt t-1
  option orch approve t-1
  option orch reject t-1 --reason WHY
  option orch confirm t-1 plan_review --reason WHY
  option orch next t-1 --override WHY
//- order: rollback --to planning once more
plan_review -> planning (rollback) on plan, plan_review
planning#3 waits for agent: planning/plan.json is stale: unchanged since attempt 2 was sent back
  remark: the plan states no requirement
  remark: the plan names no file that it changes
  remark: the plan has no acceptance criterion
  remark: the plan does not say how the work is tested
  expects planning/plan.json stale
  option orch prompt t-1
  option orch confirm t-1 plan --reason WHY
  option orch next t-1 --override WHY
//- records
planning: active #3, spent 2 plan, substate "stale"
plan_review: sent_back #2, spent 1 plan_review
rev 4 

## a plan review whose verdicts differ refuses
//- shipped global-state-machine
//- at plan_review
//- review/plan/verdict.json
{"ok": true, "aggregate": {"ok": false}}
//- settle
plan_review -> planning (plan-refused) on plan_review
planning#2 waits for agent: planning/plan.json is stale: unchanged since attempt 1 was sent back
  remark: the plan states no requirement
  remark: the plan names no file that it changes
  remark: the plan has no acceptance criterion
  remark: the plan does not say how the work is tested
  expects planning/plan.json stale
  option orch prompt t-1
  option orch confirm t-1 plan --reason WHY
  option orch next t-1 --override WHY

## a plan review whose word is no approval refuses
//- shipped global-state-machine
//- at plan_review
//- review/plan/verdict.json
{"ok": true, "decision": "rejected"}
//- settle
plan_review -> planning (plan-refused) on plan_review
planning#2 waits for agent: planning/plan.json is stale: unchanged since attempt 1 was sent back
  remark: the plan states no requirement
  remark: the plan names no file that it changes
  remark: the plan has no acceptance criterion
  remark: the plan does not say how the work is tested
  expects planning/plan.json stale
  option orch prompt t-1
  option orch confirm t-1 plan --reason WHY
  option orch next t-1 --override WHY

## a plan review is read without regard to case
//- shipped global-state-machine
//- at plan_review
//- review/plan/verdict.json
{"reviewers": [{"id": "a", "decision": "Accept"}, {"id": "b", "decision": "Blocked"}], "aggregate": {"ok": true}}
//- settle
plan_review -> planning (plan-refused) on plan_review
planning#2 waits for agent: planning/plan.json is stale: unchanged since attempt 1 was sent back
  issue review/plan/verdict.json: {"decision":"Blocked","id":"b"}
  remark: the plan states no requirement
  remark: the plan names no file that it changes
  remark: the plan has no acceptance criterion
  remark: the plan does not say how the work is tested
  expects planning/plan.json stale
  option orch prompt t-1
  option orch confirm t-1 plan --reason WHY
  option orch next t-1 --override WHY

## a plan review with an issue in capitals refuses
//- shipped global-state-machine
//- at plan_review
//- review/plan/verdict.json
{"ok": true, "issues": [{"severity": "BLOCKING", "message": "q"}]}
//- settle
plan_review -> planning (plan-refused) on plan_review
planning#2 waits for agent: planning/plan.json is stale: unchanged since attempt 1 was sent back
  issue review/plan/verdict.json: {"message":"q","severity":"BLOCKING"}
  remark: the plan states no requirement
  remark: the plan names no file that it changes
  remark: the plan has no acceptance criterion
  remark: the plan does not say how the work is tested
  expects planning/plan.json stale
  option orch prompt t-1
  option orch confirm t-1 plan --reason WHY
  option orch next t-1 --override WHY

## a plan review with an issue of unknown severity refuses
//- shipped global-state-machine
//- at plan_review
//- review/plan/verdict.json
{"ok": true, "issues": [{"severity": "fatal", "message": "q"}]}
//- settle
plan_review -> planning (plan-refused) on plan_review
planning#2 waits for agent: planning/plan.json is stale: unchanged since attempt 1 was sent back
  issue review/plan/verdict.json: {"message":"q","severity":"fatal"}
  remark: the plan states no requirement
  remark: the plan names no file that it changes
  remark: the plan has no acceptance criterion
  remark: the plan does not say how the work is tested
  expects planning/plan.json stale
  option orch prompt t-1
  option orch confirm t-1 plan --reason WHY
  option orch next t-1 --override WHY

## a plan review that approves with mild issues passes
//- shipped global-state-machine
//- at plan_review
//- review/plan/verdict.json
{"ok": true, "decision": "Approved", "issues": [{"severity": "Warning", "message": "q"}], "reviewers": [{"id": "a", "ok": false, "decision": "Defer"}]}
//- settle
plan_review -> codegen (plan-accepted) on plan, plan_review
codegen#1 waits for agent: code/diff.patch is missing
  expects code/diff.patch missing
  option orch prompt t-1
  option orch next t-1 --override WHY

## a code review whose verdicts differ refuses
//- shipped global-state-machine
//- at review
//- review/code/verdict.json
{"ok": true, "aggregate": {"ok": false}}
//- settle
review -> codegen (code-refused) on plan, plan_review, code_review
codegen#2 waits for agent: code/diff.patch is stale: unchanged since attempt 1 was sent back
  expects code/diff.patch stale
  option orch prompt t-1
  option orch confirm t-1 patch --reason WHY
  option orch next t-1 --override WHY

## a code review whose word is no approval refuses
//- shipped global-state-machine
//- at review
//- review/code/verdict.json
{"ok": true, "decision": "rejected"}
//- settle
review -> codegen (code-refused) on plan, plan_review, code_review
codegen#2 waits for agent: code/diff.patch is stale: unchanged since attempt 1 was sent back
  expects code/diff.patch stale
  option orch prompt t-1
  option orch confirm t-1 patch --reason WHY
  option orch next t-1 --override WHY

## a code review is read without regard to case
//- shipped global-state-machine
//- at review
//- review/code/verdict.json
{"reviewers": [{"id": "a", "decision": "Accept"}, {"id": "b", "decision": "Blocked"}], "aggregate": {"ok": true}}
//- settle
review -> codegen (code-refused) on plan, plan_review, code_review
codegen#2 waits for agent: code/diff.patch is stale: unchanged since attempt 1 was sent back
  issue review/code/verdict.json: {"decision":"Blocked","id":"b"}
  expects code/diff.patch stale
  option orch prompt t-1
  option orch confirm t-1 patch --reason WHY
  option orch next t-1 --override WHY

## a code review with an issue in capitals refuses
//- shipped global-state-machine
//- at review
//- review/code/verdict.json
{"ok": true, "issues": [{"severity": "BLOCKING", "message": "q"}]}
//- settle
review -> codegen (code-refused) on plan, plan_review, code_review
codegen#2 waits for agent: code/diff.patch is stale: unchanged since attempt 1 was sent back
  issue review/code/verdict.json: {"message":"q","severity":"BLOCKING"}
  expects code/diff.patch stale
  option orch prompt t-1
  option orch confirm t-1 patch --reason WHY
  option orch next t-1 --override WHY

## a code review with an issue of unknown severity refuses
//- shipped global-state-machine
//- at review
//- review/code/verdict.json
{"ok": true, "issues": [{"severity": "fatal", "message": "q"}]}
//- settle
review -> codegen (code-refused) on plan, plan_review, code_review
codegen#2 waits for agent: code/diff.patch is stale: unchanged since attempt 1 was sent back
  issue review/code/verdict.json: {"message":"q","severity":"fatal"}
  expects code/diff.patch stale
  option orch prompt t-1
  option orch confirm t-1 patch --reason WHY
  option orch next t-1 --override WHY

## a code review that approves with mild issues passes
//- shipped global-state-machine
//- at review
//- review/code/verdict.json
{"ok": true, "decision": "Approved", "issues": [{"severity": "Warning", "message": "q"}], "reviewers": [{"id": "a", "ok": false, "decision": "Defer"}]}
//- settle
review -> test (code-accepted) on plan, patch, code_review
test#1 waits for agent: eval/eval-report.json is missing
  expects eval/eval-report.json missing, of patch, plan
  option orch prompt t-1
  option orch next t-1 --override WHY

## remarks that cannot be computed are said
//- shipped global-state-machine
//- planning/plan.json
{"title": "x", "what": "y", "work": {"milestones": [{"tasks": "x"}]}}
//- settle
planning -> plan_review (plan-ready) on plan
plan_review#1 waits for agent: review/plan/verdict.json is missing
  remark: the remarks of `plan_review` cannot be computed: plan_remarks: a macro iterates over a list or a map, not over text: `m.tasks` is "x"
  expects review/plan/verdict.json missing, of plan
  option orch prompt t-1
  option orch approve t-1
  option orch reject t-1 --reason WHY
  option orch next t-1 --override WHY
  guard-error: the remarks of `plan_review` cannot be computed: plan_remarks: a macro iterates over a list or a map, not over text: `m.tasks` is "x"

## a report that was there before the code does not count, unless it says that it judged this code
//- shipped global-state-machine
//- at codegen
//- eval/unit.xml
<testsuite name="s" tests="1"><testcase name="a"/></testsuite>
//- code/diff.patch
--- a/src/a.rs
+++ b/src/a.rs
@@ -1 +1 @@
-a
+b
//- settle
codegen -> review (code-ready) on plan, patch
review#1 waits for agent: review/code/verdict.json is missing
  expects review/code/verdict.json missing, of patch, plan
  option orch prompt t-1
  option orch approve t-1
  option orch reject t-1 --reason WHY
  option orch next t-1 --override WHY
//- review/code/verdict.json
{"ok": true, "finished_at": "2026-01-02T03:04:05Z"}
//- settle
review -> test (code-accepted) on plan, patch, code_review
test#1 waits for agent: eval/eval-report.json is missing
  expects eval/eval-report.json missing, of patch, plan
  option orch prompt t-1
  option orch next t-1 --override WHY
  not-counted: the file does not count: it was there before `patch` was recorded, and does not say what it judged (write it again, or name what it judged in `of`)
//- eval/later.xml
<testsuite name="s" tests="1"><testcase name="b"/></testsuite>
//- settle
test -> accept (tests-passed) on plan, patch, junit
accept#1 waits for human: accept/decision.json is missing
  expects accept/decision.json missing, of patch, plan
  option orch approve t-1
  option orch reject t-1 --reason WHY

## an example that was saved as it is counts for nothing
//- shipped global-state-machine
//- at plan_review
//- review/plan/verdict.json
{"ok": true, "reasons": ["Every requirement can be checked, and the file plan covers them."], "issues": [{"id": "I1", "severity": "warning", "message": "Say what happens to an upload that is cancelled."}], "of": {"plan": "1c0a7d1b3d4f5e6a7b8c9d0e1f2a3b4c5d6e7f80"}, "finished_at": "2026-11-21T04:50:00Z"}
//- settle
plan_review#1 waits for agent: review/plan/verdict.json is stale: it says the same as the example of its schema
  remark: the plan states no requirement
  remark: the plan names no file that it changes
  remark: the plan has no acceptance criterion
  remark: the plan does not say how the work is tested
  expects review/plan/verdict.json stale, of plan
  option orch prompt t-1
  option orch approve t-1
  option orch reject t-1 --reason WHY
  option orch next t-1 --override WHY
  unfilled: the file does not count: it says the same as the example of its schema (write real content; the example only shows the form)

## a block beside a patch comes first
//- shipped global-state-machine
//- at codegen
//- code/diff.patch
--- a/x
+++ b/x
@@ -1 +1 @@
-a
+b
//- code/blocked.json
{"verdict": "scope_mismatch", "reason": "It needs src/clock.rs.", "of": {}}
//- settle
codegen -> planning (scope-mismatch) on patch, codegen_blocked
planning#2 waits for agent: planning/plan.json is stale: unchanged since attempt 1 was sent back
  issue code/blocked.json: "It needs src/clock.rs."
  remark: the plan states no requirement
  remark: the plan names no file that it changes
  remark: the plan has no acceptance criterion
  remark: the plan does not say how the work is tested
  expects planning/plan.json stale
  option orch prompt t-1
  option orch confirm t-1 plan --reason WHY
  option orch next t-1 --override WHY

## a block that cannot be read holds a patch
//- shipped global-state-machine
//- at codegen
//- code/diff.patch
--- a/x
+++ b/x
@@ -1 +1 @@
-a
+b
//- code/blocked.json
{"verdict"
//- settle
codegen#1 waits for agent: code/blocked.json is invalid
  expects code/blocked.json invalid, of plan, plan_review
  option orch prompt t-1
  option orch next t-1 --override WHY
  unreadable: EOF while parsing an object at line 2 column 0

## a finished report without results waits for a run
//- shipped global-state-machine
//- at test
//- eval/eval-report.json
{"results": []}
//- settle
test#1 waits for agent: the test run executed nothing, or skipped everything
  remark: nobody but the writer vouches for eval/eval-report.json: orch.toml has no `[verify.tests]`
  expects eval/eval-report.json unmet, of patch, plan
  option orch prompt t-1
  option orch next t-1 --override WHY

## a report that skipped everything waits for a run
//- shipped global-state-machine
//- at test
//- eval/eval-report.json
{"results": [{"step": "unit", "status": "skipped"}]}
//- settle
test#1 waits for agent: the test run executed nothing, or skipped everything
  remark: nobody but the writer vouches for eval/eval-report.json: orch.toml has no `[verify.tests]`
  expects eval/eval-report.json unmet, of patch, plan
  option orch prompt t-1
  option orch next t-1 --override WHY

## a test run of nothing waits for a run
//- shipped global-state-machine
//- at test
//- eval/junit.xml
<testsuite tests="0"/>
//- settle
test#1 waits for agent: the test run executed nothing, or skipped everything
  remark: nobody but the writer vouches for eval/junit.xml: orch.toml has no `[verify.tests]`
  expects eval/eval-report.json missing, of patch, plan
  option orch prompt t-1
  option orch next t-1 --override WHY
