# What is broken, and the ways out

## a need deleted is inconsistent, and names the last consistent phase
//- at test
//- delete code/diff.patch
//- settle
test#1 inconsistent, last was codegen: the needs of `test` are not met: patch (code/diff.patch) is missing
  expects code/diff.patch missing
  option orch rollback t-1 --to codegen --reason WHY
//- order: rollback the patch is lost
test -> codegen (rollback) on plan
codegen#2 waits for agent: code/tasks.md is stale: unchanged since attempt 1 was sent back; code/diff.patch is missing
  expects code/diff.patch missing
  expects code/tasks.md stale, of plan
  option orch prompt t-1
  option orch confirm t-1 tasks --reason WHY
  option orch next t-1 --override WHY
//- records
planning: done #1, left with no notes, plan, substate "formalizing"
plan_review: done #1, left with plan_review
codegen: active #2, entered with plan, spent 1 patch, spent 1 tasks
review: sent_back #1, spent 1 code_review
test: sent_back #1
rev 5 rounds=0

## a need made invalid is inconsistent
//- at codegen
//- planning/plan.json !invalid
{"title": 3}
//- settle
codegen#1 inconsistent, last was planning: the needs of `codegen` are not met: plan (planning/plan.json) is invalid
  expects planning/plan.json invalid
  option orch rollback t-1 --to planning --reason WHY
  unreadable: the schema refuses it
  evidence-outdated: `plan_review` judged another version of `plan` (orch rollback t-1 --to plan_review --reason WHY)

## no phase before it has a record
//- state
{"phase": "codegen"}
//- show
codegen#1 inconsistent, last was planning: the needs of `codegen` are not met: plan (planning/plan.json) is missing
  expects planning/plan.json missing
  option orch rollback t-1 --to planning --reason WHY

## nothing is before it
//- state
{"phase": "planning"}
//- order: rollback no phase is earlier
refused: no-earlier-phase: `planning` is the first phase
  hint: orch next t-1 --override WHY --to planning

## an unknown phase is an error
//- state
{"phase": "codgen"}
//- settle
-#0 error unknown-phase: workflow `lifecycle` has no phase `codgen`
  unknown-phase: workflow `lifecycle` has no phase `codgen` (did you mean `codegen`? the phases are planning, plan_review, codegen, review, test, accept, revert, done; or add `codgen` to the `aliases` of one of them, or to `phases` under `[migrate]`, and see where that leads: orch migrate --plan)

## an alias is read as the phase it means
//- state
{"phase": "planning_done", "actors": {"planning": {"round": 3}}}
//- planning/plan.json
{}
//- settle
planning -> plan_review (planned) on plan
plan_review#1 waits for agent: review/plan/verdict.json is missing
  expects review/plan/verdict.json missing, of plan
  option orch prompt t-1
  option orch next t-1 --override WHY
//- records
planning: done #3, left with no notes, plan, substate "formalizing"
plan_review: active #1
rev 1 rounds=0

## a foreign state without actors counts the attempt it is in
//- state
{"phase": "test", "ticket": "A-1"}
//- planning/plan.json
{}
//- code/diff.patch
+1
//- eval/report.json
{"passed": false}
//- settle
test -> codegen (failed) on plan, test_report
codegen#1 waits for agent: code/diff.patch is stale: unchanged since it was used up; code/tasks.md is missing
  expects code/diff.patch stale
  expects code/tasks.md missing, of plan
  option orch prompt t-1
  option orch confirm t-1 patch --reason WHY
  option orch next t-1 --override WHY
//- records
codegen: active #1, entered with plan, spent 1 patch
test: sent_back #1, spent 1 test_report
rev 1 ticket="A-1" rounds=1

## a state that is no JSON
//- state
{"phase":
//- settle
-#0 error json-syntax: state.json is no JSON
  option orch recover t-1
  option git restore -- tasks/t-1/transcript.jsonl
  json-syntax: state.json is no JSON

## a lost state is folded from the log
//- at codegen
//- lose state
//- settle
codegen#1 waits for agent: code/diff.patch, code/tasks.md are missing
  expects code/diff.patch missing
  expects code/tasks.md missing, of plan
  option orch prompt t-1
  option orch next t-1 --override WHY

## a lost log is an error
//- at codegen
//- lose log
//- settle
-#0 error record-lost: transcript.jsonl, the record of this task, is missing
  option orch recover t-1
  option git restore -- tasks/t-1/transcript.jsonl
  record-lost: transcript.jsonl, the record of this task, is missing (orch recover t-1)

## a guard that fails is an error, not false
//- machine
```toml orch
[artifact.a]
path = "a.json"
[phase.one]
produces = ["a"]
[phase.two]
terminal = true
[[rule]]
id = "compares"
from = "one"
when = "a.ready && a.data.size > 3"
to = "two"
because = "it is large"
```
//- a.json
{"size": "large"}
//- settle
one#1 error guard-error: rule `compares` cannot be evaluated: in `a.data.size > 3`, `>` does not work with text and a number: `a.data.size` is "large", in a.json at /size (a.data.size is "large")
  option orch next t-1 --override WHY
//- explain
compares (to two): fails: `>` does not work with text and a number: `a.data.size` is "large", in a.json at /size
  a.data.size > 3: a.data.size="large"
move -> two by compares: a.data.size > 3: `>` does not work with text and a number: `a.data.size` is "large", in a.json at /size

## a value that cannot be set is an error
//- machine
```toml orch
[artifact.a]
path = "a.json"
[phase.one]
produces = ["a"]
[phase.two]
terminal = true
[[rule]]
id = "counts"
from = "one"
when = "a.ready"
to = "two"
because = "it is there"
set = { "/count" = "state.count + 1" }
```
//- a.json
{}
//- settle
one#1 error guard-error: rule `counts` cannot set `/count`: in `state.count + 1`, there is no key `count`
  option orch next t-1 --override WHY

## rules that go round are a livelock, and nothing is applied
//- machine
```toml orch
[artifact.a]
path = "a.json"
[phase.one]
produces = ["a"]
[phase.two]
[phase.three]
[[rule]]
id = "on"
from = "one"
when = "a.present"
to = "two"
because = "it is there"
[[rule]]
id = "further"
from = "two"
to = "three"
because = "always"
[[rule]]
id = "back"
from = "three"
when = "a.present"
to = "two"
because = "it is still there"
```
//- a.json
{}
//- settle
one#1 livelock: the rules go round in circles on the same files: one -> two -> three -> two
//- records
one: active #1
rev 0 

## a rule into a phase without its needs is not taken
//- machine
```toml orch
[artifact.a]
path = "a.json"
[artifact.b]
path = "b/*.json"
[phase.one]
produces = ["a", "b"]
[phase.two]
needs = ["b"]
[[rule]]
id = "on"
from = "one"
when = "a.ready"
to = "two"
because = "it is there"
```
//- a.json
{}
//- settle
one#1 inconsistent, last was none: it is there, but the needs of `two` are not met: b (b/b.json) is missing
  expects b/b.json missing
  option orch next t-1 --override WHY
//- b/x.json
{}
//- settle
one -> two (on) on a, b
two#1 waits for agent: no rule of `two` fires: the phase has no rules
  option orch prompt t-1

## a rule waits, a rule lets a person choose, a rule runs
//- machine
```toml orch
[artifact.a]
path = "a.json"
[action.left]
[action.right]
[phase.one]
produces = ["a"]
[[rule]]
id = "nothing-yet"
from = "one"
when = "!a.present"
wait = "somebody to write it"
because = "it is not there"
[[rule]]
id = "broken"
from = "one"
when = "a.data == null && size(a.problems) > 0"
run = "right"
because = "it cannot be read"
[[rule]]
id = "which"
from = "one"
when = "a.valid"
choose = ["left", "right"]
because = "it is there"
```
//- show
one#1 waits for agent: it is not there
  expects a.json missing
  option orch prompt t-1
//- a.json
{}
//- show
one#1 choose of left, right: it is there
  option orch answer t-1 action=left
  option orch answer t-1 action=right
//- a.json
{
//- show
one#1 run right: it cannot be read
  option orch prompt t-1
  unreadable: EOF while parsing an object at line 2 column 0

## where nothing can be expected, every rule says what it saw
//- machine
```toml orch
[artifact.a]
path = "a.json"
[phase.one]
produces = ["a"]
[phase.two]
terminal = true
[[rule]]
id = "on"
from = "one"
when = "state.approved == true"
to = "two"
because = "it is approved"
[[rule]]
id = "over"
from = "one"
when = "a.ready && attempt > 2"
to = "two"
because = "enough"
[state.defaults]
approved = false
```
//- a.json
{}
//- settle
one#1 waits for agent: no rule of `one` fires: on: `state.approved == true` (state.approved is false); over: `attempt > 2` (attempt is 1)
  option orch prompt t-1
  option orch next t-1 --override WHY

## a workflow edited since decides, says so, and is recorded with the next transition
//- machine
```toml orch
[artifact.a]
path = "a.json"
[phase.one]
produces = ["a"]
[phase.two]
produces = ["a"]
[phase.three]
terminal = true
[[rule]]
id = "on"
from = "one"
when = "a.ready"
to = "two"
because = "it is there"
[[rule]]
id = "end"
from = "two"
when = "a.ready && a.data.over"
to = "three"
because = "it is over"
```
//- a.json
{"over": false, "now": true}
//- settle
one -> two (on) on a
two#1 waits for agent: no rule of `two` fires: end: `a.data.over` (a.data.over is false)
  expects a.json unmet
  option orch prompt t-1
  option orch next t-1 --override WHY
//- amend
```toml orch
[artifact.a]
path = "a.json"
[phase.one]
produces = ["a"]
[phase.two]
produces = ["a"]
[phase.three]
terminal = true
[[rule]]
id = "on"
from = "one"
when = "a.ready"
to = "two"
because = "it is there"
[[rule]]
id = "end"
from = "two"
when = "a.ready && a.data.now"
to = "three"
because = "it is over"
```
//- show
two#1 due -> three: it is over
  option orch next t-1
  workflow-changed: workflow `machine` has changed since the last transition; the current version decides
//- settle
two -> three (end) on a
three#1 done: the task is in `three`, which is terminal
  option orch reopen t-1 --reason WHY

## a workflow edited since may know the phase no more
//- machine
```toml orch
[artifact.a]
path = "a.json"
[phase.one]
produces = ["a"]
[phase.two]
produces = ["a"]
[phase.three]
terminal = true
[[rule]]
id = "on"
from = "one"
when = "a.ready"
to = "two"
because = "it is there"
[[rule]]
id = "end"
from = "two"
when = "a.ready && a.data.over"
to = "three"
because = "it is over"
```
//- a.json
{"over": false}
//- settle
one -> two (on) on a
two#1 waits for agent: no rule of `two` fires: end: `a.data.over` (a.data.over is false)
  expects a.json unmet
  option orch prompt t-1
  option orch next t-1 --override WHY
//- amend
```toml orch
[artifact.a]
path = "a.json"
[phase.one]
produces = ["a"]
[phase.second]
produces = ["a"]
[phase.three]
terminal = true
[[rule]]
id = "on"
from = "one"
when = "a.ready"
to = "second"
because = "it is there"
[[rule]]
id = "end"
from = "second"
when = "a.ready && a.data.over"
to = "three"
because = "it is over"
```
//- show
-#0 error unknown-phase: workflow `machine` has no phase `two`
  unknown-phase: workflow `machine` has no phase `two` (the phases are one, second, three; or add `two` to the `aliases` of one of them, or to `phases` under `[migrate]`, and see where that leads: orch migrate --plan)
//- amend
```toml orch
[artifact.a]
path = "a.json"
[phase.one]
produces = ["a"]
[phase.second]
aliases = ["two"]
produces = ["a"]
[phase.three]
terminal = true
[[rule]]
id = "on"
from = "one"
when = "a.ready"
to = "second"
because = "it is there"
[[rule]]
id = "end"
from = "second"
when = "a.ready && a.data.over"
to = "three"
because = "it is over"
```
//- show
second#1 waits for agent: no rule of `second` fires: end: `a.data.over` (a.data.over is false)
  expects a.json unmet
  option orch prompt t-1
  option orch next t-1 --override WHY
  phase-alias: phase `two` is read as `second`
  workflow-changed: workflow `machine` has changed since the last transition; the current version decides

## what was recorded under an alias counts under the phase's own name
//- state
{"phase": "test_run", "actors": {"test_run": {"attempt": 2, "spent": {"test_report": ["037e18c81874fb50d24bf2cf6e77622f3b811740"]}}}}
//- code/diff.patch
+1
//- eval/report.json
{"passed": true}
//- show
test#2 waits for agent: eval/report.json is stale: unchanged since attempt 1 was sent back
  expects eval/report.json stale, of patch
  option orch prompt t-1
  option orch confirm t-1 test_report --reason WHY
  option orch next t-1 --override WHY
  phase-alias: phase `test_run` is read as `test`
//- eval/report.json
{"passed": true, "n": 2}
//- settle
test -> accept (tested) on patch, test_report
accept#1 waits for human: accept/decision.json is missing
  expects accept/decision.json missing, of patch, test_report
  option orch prompt t-1
  option orch next t-1 --override WHY
//- records
test: done #2, left with test_report, spent 1 test_report
accept: active #1
rev 1 rounds=0
