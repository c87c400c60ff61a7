Waits: which command ends them, which question is asked, and which rule is nearest.

## a wait for a signal names the command that gives it
//- machine
```toml orch
[phase.paused]
[phase.running]
[phase.done]
terminal = true
[[rule]]
id = "resumed"
on = "resume"
from = "paused"
to = "running"
because = "a person resumed it"
[[rule]]
id = "started"
on = "start"
from = ["paused", "running"]
to = "done"
because = "a person started it"
[[rule]]
id = "rest"
from = "paused"
wait = "orch resume"
by = "human"
because = "it is paused"
[[rule]]
id = "on"
from = "running"
wait = "orch run"
by = "human"
because = "it is not started"
```
//- show
paused#1 waits for human: it is paused
  option orch resume t-1
//- order: override --to running go on
paused -> running (override)
running#1 waits for human: it is not started
  option orch run t-1
//- show
running#1 waits for human: it is not started
  option orch run t-1

## a question names its fields, and its command has each of them
//- machine
```toml orch
[state.defaults]
asked = ""
deep = {}
[ask.which]
title = "Which?"
writes = ["/asked", "/deep/er"]
options = { "/asked" = "['a', 'b']" }
default = { "/asked" = "'a'" }
[ask.other]
title = "Other?"
writes = ["/other"]
[phase.open]
[phase.done]
terminal = true
[[rule]]
id = "done"
from = "open"
when = "state.asked != ''"
to = "done"
because = "it was answered"
[[rule]]
id = "later"
from = "open"
when = "false"
wait = "nothing"
ask = "other"
because = "never"
[[rule]]
id = "ask"
from = "open"
wait = "an answer"
by = "human"
ask = "which"
because = "nobody said which"
```
//- show
open#1 waits for human: nobody said which
  option orch answer t-1 asked=VALUE deep.er=VALUE
  option orch next t-1 --override WHY

## the rule that lacks least is nearest, and one thing counts once
//- machine
```toml orch
[state.defaults]
a = 0
b = 0
c = 0
[define]
both = "state.a > 1 && state.b > 1"
[artifact.one]
path = "one.json"
[artifact.two]
path = "two.json"
[phase.first]
[phase.open]
[phase.done]
terminal = true
[[rule]]
id = "start"
from = "first"
to = "open"
because = "it begins"
[[rule]]
id = "back"
from = "open"
when = "state.c > 0"
to = "first"
because = "c is set"
[[rule]]
id = "files"
from = "open"
when = "one.present && one.ready && two.ready"
to = "done"
because = "both files are there"
[[rule]]
id = "defined"
from = "open"
when = "both"
to = "done"
because = "both are set"
[[rule]]
id = "file"
from = "open"
when = "one.present && one.ready"
to = "done"
because = "a file is there"
```
//- settle
first -> open (start)
open#1 waits for agent: no rule of `open` fires: file: `one.present` (one.present is false); files: `one.present` (one.present is false); 2 more: orch explain t-1
  option orch prompt t-1
  option orch next t-1 --override WHY
//- explain
back (to first): does not hold
  state.c > 0: state.c=0
files (to done): does not hold
  one.present: one.present=false
  one.ready: one.ready=false
  two.ready: two.ready=false
defined (to done): does not hold
  both: both=false
  state.a > 1: state.a=0
  state.b > 1: state.b=0
file (to done): does not hold
  one.present: one.present=false
  one.ready: one.ready=false
move -> first by back: state.c > 0 (state.c is 0)
move -> done by files: one.present (one.present is false); one.ready (one.ready is false); two.ready (two.ready is false)
move -> done by defined: both (both is false)
move -> done by file: one.present (one.present is false); one.ready (one.ready is false)
//- one.json
{
//- settle
open#1 waits for agent: no rule of `open` fires: file: `one.ready` (one.ready is false); files: `one.ready` (one.ready is false); 2 more: orch explain t-1
  option orch prompt t-1
  option orch next t-1 --override WHY
  unreadable: EOF while parsing an object at line 2 column 0
//- explain
back (to first): does not hold
  state.c > 0: state.c=0
files (to done): does not hold
  one.ready: one.ready=false
  two.ready: two.ready=false
defined (to done): does not hold
  both: both=false
  state.a > 1: state.a=0
  state.b > 1: state.b=0
file (to done): does not hold
  one.ready: one.ready=false
move -> first by back: state.c > 0 (state.c is 0)
move -> done by files: one.ready (one.ready is false); two.ready (two.ready is false)
move -> done by defined: both (both is false)
move -> done by file: one.ready (one.ready is false)

## what keeps an action from being run is told with the rule that runs it
//- machine
```toml orch
[state.defaults]
found = 0
[define]
some = "state.found > 0"
much = "some && state.found > 9"
[action.find]
when = "!some"
writes = ["/found"]
[action.mend]
when = "much"
writes = ["/found"]
[phase.open]
[phase.done]
terminal = true
[[rule]]
id = "mend"
from = "open"
run = "mend"
because = "it is broken"
[[rule]]
id = "choose"
from = "open"
when = "attempt > 1"
choose = ["find", "mend"]
because = "a person picks"
[[rule]]
id = "done"
from = "open"
when = "much || attempt > 1"
to = "done"
because = "much is found"
[[rule]]
id = "pick"
from = "open"
choose = ["mend", "find"]
because = "a person picks"
```
//- show
open#1 choose of find: a person picks
  option orch answer t-1 action=find
  option orch next t-1 --override WHY
//- explain
mend (run mend): does not hold
  much: much=false
  some: some=false
  state.found > 0: state.found=0
  state.found > 9: state.found=0
choose (choose from find, mend): does not hold
  attempt > 1: attempt=1
done (to done): does not hold
  much || attempt > 1: much=false attempt=1
  some: some=false
  state.found > 0: state.found=0
  state.found > 9: state.found=0
pick (choose from mend, find): holds
  much: much=false
  some: some=false
  state.found > 0: state.found=0
  state.found > 9: state.found=0
move -> done by done: much || attempt > 1 (much is false, attempt is 1)

## a livelock between phases names itself and nothing is applied
//- machine
```toml orch
[phase.a]
[phase.b]
[phase.c]
terminal = true
[[rule]]
id = "on"
from = "a"
to = "b"
because = "always"
[[rule]]
id = "back"
from = "b"
to = "a"
because = "always"
[[rule]]
id = "never"
from = "b"
when = "attempt > 1000"
to = "c"
because = "never"
```
//- settle
a#1 livelock: the rules go round in circles on the same files: a -> b -> a
