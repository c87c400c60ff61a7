Code that is committed is evidence, told on a machine of its own.

## a commit is the change, and its absence is told

//- machine
```toml orch
[artifact.plan]
path = "plan.json"
[artifact.change]
tree = ["src/**"]
[artifact.report]
path = "report.json"
[artifact.report.facts]
passed = "data.passed"
[phase.planning]
produces = ["plan"]
[phase.code]
needs = ["plan"]
produces = ["change"]
[phase.test]
needs = ["change"]
produces = ["report"]
[phase.done]
terminal = true
[[rule]]
id = "replan"
from = "test"
when = "plan.changed"
to = "planning"
because = "the plan changed"
[[rule]]
id = "planned"
from = "planning"
when = "plan.ready"
to = "code"
because = "there is a plan"
[[rule]]
id = "built"
from = "code"
when = "change.ready && change.data.commits.exists(commit, task in commit.tasks)"
to = "test"
because = "there is code"
[[rule]]
id = "unnamed"
from = "code"
when = "change.ready"
wait = "a commit that names the task"
because = "no commit names this task"
[[rule]]
id = "passed"
from = "test"
when = "report.ready && report.passed"
to = "done"
because = "it works"
[[rule]]
id = "failed"
from = "test"
when = "report.ready && !report.passed"
to = "code"
because = "it does not work"
```
//- commit t-9: as it was
//- show
planning#1 waits for agent: plan.json is missing
  expects plan.json missing
  option orch prompt t-1
  option orch next t-1 --override WHY
//- plan.json
{"n": 1}
//- settle
planning -> code (planned) on plan
code#1 waits for agent: change (tree) is missing
  expects change (tree) missing
  option orch prompt t-1
  option orch next t-1 --override WHY
//- show
code#1 waits for agent: change (tree) is missing
  expects change (tree) missing
  option orch prompt t-1
  option orch next t-1 --override WHY
//- records
planning: done #1, left with plan
code: active #1, entered with change
rev 1 
//- commit t-9: somebody else's
//- settle
code#1 waits for agent: no commit names this task
  expects change (tree) unmet
  option orch prompt t-1
  option orch next t-1 --override WHY
//- commit t-1 t-9: ours as well
//- settle
code -> test (built) on change
test#1 waits for agent: report.json is missing
  expects report.json missing, of change
  option orch prompt t-1
  option orch next t-1 --override WHY
//- records
planning: done #1, left with plan
code: done #1, left with change, entered with change
test: active #1
rev 2 
//- report.json
{"passed": true, "of": {"change": "@change"}}
//- show
test#1 due -> done: it works
  option orch next t-1
//- commit t-9: later
//- show
test#1 waits for agent: report.json is stale: it judged an earlier version of `change`: src/** changed since
  expects report.json stale, of change
  option orch prompt t-1
  option orch next t-1 --override WHY
  others-changed: others changed since the code was judged: 1 file (src/other.rs)
//- report.json
{"passed": true, "of": {"change": "@change"}}
//- settle
test -> done (passed) on change, report
done#1 done: the task is in `done`, which is terminal
  option orch reopen t-1 --reason WHY
//- commit t-9: and on it goes
//- show
done#1 done: the task is in `done`, which is terminal
  option orch reopen t-1 --reason WHY

## a failing test uses the code up, a commit renews it, and so does a person

//- machine
```toml orch
[artifact.plan]
path = "plan.json"
[artifact.change]
tree = ["src/**"]
[artifact.report]
path = "report.json"
[artifact.report.facts]
passed = "data.passed"
[phase.planning]
produces = ["plan"]
[phase.code]
needs = ["plan"]
produces = ["change"]
[phase.test]
needs = ["change"]
produces = ["report"]
[phase.done]
terminal = true
[[rule]]
id = "replan"
from = "test"
when = "plan.changed"
to = "planning"
because = "the plan changed"
[[rule]]
id = "planned"
from = "planning"
when = "plan.ready"
to = "code"
because = "there is a plan"
[[rule]]
id = "built"
from = "code"
when = "change.ready && change.data.commits.exists(commit, task in commit.tasks)"
to = "test"
because = "there is code"
[[rule]]
id = "unnamed"
from = "code"
when = "change.ready"
wait = "a commit that names the task"
because = "no commit names this task"
[[rule]]
id = "passed"
from = "test"
when = "report.ready && report.passed"
to = "done"
because = "it works"
[[rule]]
id = "failed"
from = "test"
when = "report.ready && !report.passed"
to = "code"
because = "it does not work"
```
//- plan.json
{"n": 1}
//- settle
planning -> code (planned) on plan
code#1 waits for agent: change (tree) is missing
  expects change (tree) missing
  option orch prompt t-1
  option orch next t-1 --override WHY
//- commit t-1: first
//- settle
code -> test (built) on change
test#1 waits for agent: report.json is missing
  expects report.json missing, of change
  option orch prompt t-1
  option orch next t-1 --override WHY
//- report.json
{"passed": false}
//- settle
test -> code (failed) on plan, change, report
code#2 waits for agent: change (tree) is stale: unchanged since attempt 1 was sent back
  expects change (tree) stale
  option orch prompt t-1
  option orch confirm t-1 change --reason WHY
  option orch next t-1 --override WHY
//- show
code#2 waits for agent: change (tree) is stale: unchanged since attempt 1 was sent back
  expects change (tree) stale
  option orch prompt t-1
  option orch confirm t-1 change --reason WHY
  option orch next t-1 --override WHY
//- explain
built (to test): does not hold
  change.ready: change.ready=false
  change.data.commits.exists(commit, task in commit.tasks): change.data.commits=[] task="t-1"
unnamed (wait for a commit that names the task): does not hold
  change.ready: change.ready=false
move -> test by built: change.ready (change.ready is false); change.data.commits.exists(commit, task in commit.tasks) (change.data.commits is [], task is "t-1")
//- order: confirm change the test was at fault
code -> code (confirm) on change
code#2 waits for agent: no commit names this task
  expects change (tree) unmet
  option orch prompt t-1
  option orch next t-1 --override WHY
//- records
planning: done #1, left with plan
code: active #2, entered with no change, plan
test: sent_back #1, spent 1 report
rev 4 
//- show
code#2 waits for agent: no commit names this task
  expects change (tree) unmet
  option orch prompt t-1
  option orch next t-1 --override WHY
//- commit t-1: second
//- settle
code -> test (built) on change
test#2 waits for agent: report.json is stale: unchanged since attempt 1 was sent back
  expects report.json stale, of change
  option orch prompt t-1
  option orch confirm t-1 report --reason WHY
  option orch next t-1 --override WHY
//- delete report.json
//- commit t-9: first
//- show
test#2 waits for agent: report.json is missing
  expects report.json missing, of change
  option orch prompt t-1
  option orch next t-1 --override WHY
  others-changed: others changed since the code was judged: 1 file (src/other.rs)

## code that goes back to what it was is no change any more

//- machine
```toml orch
[artifact.plan]
path = "plan.json"
[artifact.change]
tree = ["src/**"]
[artifact.report]
path = "report.json"
[artifact.report.facts]
passed = "data.passed"
[phase.planning]
produces = ["plan"]
[phase.code]
needs = ["plan"]
produces = ["change"]
[phase.test]
needs = ["change"]
produces = ["report"]
[phase.done]
terminal = true
[[rule]]
id = "replan"
from = "test"
when = "plan.changed"
to = "planning"
because = "the plan changed"
[[rule]]
id = "planned"
from = "planning"
when = "plan.ready"
to = "code"
because = "there is a plan"
[[rule]]
id = "built"
from = "code"
when = "change.ready && change.data.commits.exists(commit, task in commit.tasks)"
to = "test"
because = "there is code"
[[rule]]
id = "unnamed"
from = "code"
when = "change.ready"
wait = "a commit that names the task"
because = "no commit names this task"
[[rule]]
id = "passed"
from = "test"
when = "report.ready && report.passed"
to = "done"
because = "it works"
[[rule]]
id = "failed"
from = "test"
when = "report.ready && !report.passed"
to = "code"
because = "it does not work"
```
//- commit t-9: before
//- plan.json
{"n": 1}
//- settle
planning -> code (planned) on plan
code#1 waits for agent: change (tree) is missing
  expects change (tree) missing
  option orch prompt t-1
  option orch next t-1 --override WHY
//- commit t-1: after
//- commit t-1: before
//- settle
code#1 waits for agent: change (tree) is missing
  expects change (tree) missing
  option orch prompt t-1
  option orch next t-1 --override WHY
//- commit t-1: after
//- settle
code -> test (built) on change
test#1 waits for agent: report.json is missing
  expects report.json missing, of change
  option orch prompt t-1
  option orch next t-1 --override WHY
//- commit t-1: before
//- show
test#1 inconsistent, last was code: the needs of `test` are not met: change (tree) is missing
  expects change (tree) missing
  option orch rollback t-1 --to code --reason WHY

## code that was committed before its phase was entered again is none of the new attempt

//- machine
```toml orch
[artifact.plan]
path = "plan.json"
[artifact.change]
tree = ["src/**"]
[artifact.report]
path = "report.json"
[artifact.report.facts]
passed = "data.passed"
[phase.planning]
produces = ["plan"]
[phase.code]
needs = ["plan"]
produces = ["change"]
[phase.test]
needs = ["change"]
produces = ["report"]
[phase.done]
terminal = true
[[rule]]
id = "replan"
from = "test"
when = "plan.changed"
to = "planning"
because = "the plan changed"
[[rule]]
id = "planned"
from = "planning"
when = "plan.ready"
to = "code"
because = "there is a plan"
[[rule]]
id = "built"
from = "code"
when = "change.ready && change.data.commits.exists(commit, task in commit.tasks)"
to = "test"
because = "there is code"
[[rule]]
id = "unnamed"
from = "code"
when = "change.ready"
wait = "a commit that names the task"
because = "no commit names this task"
[[rule]]
id = "passed"
from = "test"
when = "report.ready && report.passed"
to = "done"
because = "it works"
[[rule]]
id = "failed"
from = "test"
when = "report.ready && !report.passed"
to = "code"
because = "it does not work"
```
//- plan.json
{"n": 1}
//- settle
planning -> code (planned) on plan
code#1 waits for agent: change (tree) is missing
  expects change (tree) missing
  option orch prompt t-1
  option orch next t-1 --override WHY
//- commit t-1: first
//- settle
code -> test (built) on change
test#1 waits for agent: report.json is missing
  expects report.json missing, of change
  option orch prompt t-1
  option orch next t-1 --override WHY
//- commit t-1: too early
//- plan.json
{"n": 2}
//- settle
test -> planning (replan) on plan, change
planning -> code (planned) on plan
code#2 waits for agent: change (tree) is stale: unchanged since attempt 1 was sent back
  expects change (tree) stale
  option orch prompt t-1
  option orch confirm t-1 change --reason WHY
  option orch next t-1 --override WHY
//- show
code#2 waits for agent: change (tree) is stale: unchanged since attempt 1 was sent back
  expects change (tree) stale
  option orch prompt t-1
  option orch confirm t-1 change --reason WHY
  option orch next t-1 --override WHY
//- commit t-1: second
//- settle
code -> test (built) on change
test#2 waits for agent: report.json is missing
  expects report.json missing, of change
  option orch prompt t-1
  option orch next t-1 --override WHY
