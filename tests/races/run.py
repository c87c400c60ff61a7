#!/usr/bin/env python3
"""Clones of one bare repository work on its tasks with `orch work --remote`, and workers are killed at random.

What has to hold afterwards: every task is done and on the base branch, each history is proven, no two executors have worked
on one task at once for longer than a lease, and the repository is sound. Prints figures; exits with 1 if something does not
hold.

With `--clocks`, the clock of each clone is wrong by up to an hour (needs libfaketime, in Debian the package `faketime`).

With `--offline`, clones go away in the middle of a task, with steps that they have not pushed, for longer than their lease:
one has no network, one is frozen as by a closed lid, and one is off and comes back a day later by its own clocks (as root, and
with libfaketime). Nothing that they made may be lost or counted twice, and they have to say where it is.

Variables: ORCH (the program), CLONES, TASKS, SEED, LEASE (seconds), NAP (of an executor, in seconds), KILL (the mean time
between two kills, in seconds), KILLS (how many there are), LIMIT (of the whole, in seconds).
"""

import argparse
import fcntl
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ORCH = os.environ.get("ORCH", str(HERE.parents[1] / "target/debug/orch"))


def number(name, default):
    return float(os.environ.get(name, default))


CLONES = int(number("CLONES", 8))
TASKS = int(number("TASKS", 40))
SEED = int(number("SEED", 1))
LEASE = int(number("LEASE", 10))
NAP = number("NAP", 0.3)
KILL = number("KILL", 3)
KILLS = int(number("KILLS", 3 * CLONES))
LIMIT = number("LIMIT", 3600)
RANDOM = random.Random(SEED)
HOUR = 3600
DAY = 24 * HOUR
LIBRARIES = ["/usr/lib/*/faketime/libfaketime.so.1", "/usr/lib/faketime/libfaketime.so.1", "/usr/lib64/faketime/libfaketime.so.1"]

EXECUTOR = """
cat > /dev/null
name=$ORCH_TASK
# The clock of the boot, which nothing here falsifies.
now() { read -r up _ < /proc/uptime; echo "$up"; }
# The lock lasts as long as anything of this executor lives, however it is killed.
exec 9>> "$RACE/locks/$name"
if flock -n 9; then
    echo "$PWD" > "$RACE/holders/$name"
else
    echo "$name $(now) $(cat "$RACE/holders/$name")" >> "$RACE/overlaps"
fi
echo "$name start $(now) $PWD" >> "$RACE/stamps"
sleep $NAP
if [ ! -e tasks/$name/note.md ]; then
    echo "$name" > tasks/$name/note.md
    echo "$name $PWD" > $name.txt
    git add $name.txt
    git commit -q -m "Code of $name"
    if [ -n "$AWAY" ] && [ ! -e "$RACE/away/$AWAY" ]; then
        echo "$name $(git rev-parse HEAD)" > "$RACE/away/$AWAY.new"
        mv "$RACE/away/$AWAY.new" "$RACE/away/$AWAY"
        # It goes away now, before the step is recorded.
        for moment in 1 2 3 4 5 6 7 8 9 10; do
            if [ -e "$RACE/away/$AWAY.gone" ]; then break; fi
            sleep 0.2
        done
    fi
else
    echo "$name $(git rev-parse HEAD)" > tasks/$name/check.md
fi
echo "$name end $(now) $PWD" >> "$RACE/stamps"
"""

SETTINGS = f"""
[[root]]
path = "tasks/*"
workflow = "pair"
[executor.default]
command = ["sh", "executor.sh"]
grace = "1s"
[worktrees]
merge = "merge"
[leases]
store = "git"
length = "{LEASE}s"
"""


class World:
    """A bare repository with tasks, and its clones."""

    def __init__(self, base):
        self.base = base
        self.bare = base / "bare.git"
        home = base / "home"
        home.mkdir()
        for name in ["locks", "holders", "away"]:
            (base / name).mkdir()
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "ORCH_TRUST_ONCE": "1",
            "RACE": str(base),
            "NAP": str(NAP),
        }
        self.run("git", "config", "--global", "user.name", "Ann", at=base)
        self.run("git", "config", "--global", "user.email", "ann@example.com", at=base)
        self.run("git", "config", "--global", "init.defaultBranch", "main", at=base)
        self.run("git", "init", "-q", "--bare", str(self.bare), at=base)
        self.seed()
        for number in range(CLONES):
            self.add(f"clone{number}")

    def add(self, name):
        """Makes a clone, whose way to the bare repository can be cut."""
        self.link(name).symlink_to(self.bare)
        self.run("git", "clone", "-q", str(self.link(name)), name, at=self.base)

    def link(self, name):
        return self.base / f"way-of-{name}.git"

    def seed(self):
        seed = self.base / "seed"
        self.run("git", "clone", "-q", str(self.bare), "seed", at=self.base)
        (seed / "system/workflows").mkdir(parents=True)
        (seed / "system/agents").mkdir()
        shutil.copy(HERE / "pair.md", seed / "system/workflows/pair.md")
        (seed / "system/agents/writer.md").write_text("Write.\n")
        (seed / "system/agents/checker.md").write_text("Check.\n")
        (seed / "executor.sh").write_text(EXECUTOR)
        (seed / "orch.toml").write_text(SETTINGS)
        self.run("git", "add", ".", at=seed)
        self.run("git", "commit", "-q", "-m", "Set up", at=seed)
        for number in range(TASKS):
            self.run(ORCH, "new", f"t{number:03}", at=seed)
        self.run("git", "push", "-q", "origin", "main", at=seed)

    def run(self, *words, at, fine=True):
        ended = subprocess.run(
            words, cwd=at, env=self.environment, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        if fine and ended.returncode != 0:
            sys.exit(f"{words}: {ended.returncode}\n{ended.stdout}{ended.stderr}")
        return ended

    def done(self):
        """How many tasks the base branch has as done."""
        said = self.run("git", "ls-tree", "-r", "--name-only", "main", "tasks/", at=self.bare).stdout
        return sum(1 for line in said.splitlines() if line.endswith("/check.md"))


def faketime():
    """Where libfaketime is; `None` if it is not there."""
    named = os.environ.get("FAKETIME_LIBRARY")
    found = [named] if named else [path for pattern in LIBRARIES for path in glob.glob(pattern)]
    return found[0] if found else None


def clock(offset):
    """The environment of a machine whose clock is wrong by so many seconds. Its clock of the boot is not."""
    return {"LD_PRELOAD": faketime(), "FAKETIME": f"{offset:+.0f}", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


class Worker:
    """The worker of a clone, started again after each kill."""

    def __init__(self, world, name, offset=None):
        self.world = world
        self.place = world.base / name
        self.log_path = world.base / f"{name}.log"
        self.log = open(self.log_path, "a")
        self.environment = dict(world.environment)
        if offset is not None:
            self.environment.update(clock(offset))
        # What its commands begin with.
        self.inside = []
        self.process = None
        self.starts_at = 0.0
        self.is_away = False

    def look(self, now):
        if self.process is not None and self.process.poll() is not None:
            if self.process.returncode not in (0, 130, -signal.SIGKILL):
                print(f"{self.place.name}: a worker ended with {self.process.returncode}", flush=True)
            self.process = None
            self.starts_at = now + RANDOM.uniform(0.1, 1.5 * LEASE)
        if self.process is None and now >= self.starts_at and not self.is_away:
            self.process = subprocess.Popen(
                [*self.inside, ORCH, "work", "--remote", "origin"],
                cwd=self.place,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=self.log,
                stderr=self.log,
                start_new_session=True,
            )

    def kill(self, how):
        if self.process is None or self.process.poll() is not None:
            return False
        if how == "term":
            # `unshare` passes no signals on.
            for process in children(self.process.pid) if self.inside else [self.process.pid]:
                send(process, signal.SIGTERM)
        elif how == "worker":
            self.process.kill()
        else:
            # The runs first: they cannot end in an orderly way. Their executors are left behind.
            for child in children(self.process.pid):
                send(child, signal.SIGKILL)
            self.process.kill()
        return True


class Away:
    """A worker that goes away in the middle of its first task, and comes back after its lease has ended."""

    def __init__(self, world, how):
        self.world = world
        self.how = how
        self.worker = Worker(world, how)
        self.worker.environment["AWAY"] = how
        self.told = world.base / "away" / how
        self.back_at = None
        self.is_back = False
        # When it came back, by the clock of the boot.
        self.back_up = None

    def look(self, now):
        if self.back_at is None and self.told.exists():
            self.go()
            self.back_at = now + 3.5 * LEASE
        elif self.back_at is not None and not self.is_back and now >= self.back_at:
            self.come_back()
            self.is_back = True
            self.back_up = uptime()
        self.worker.look(now)

    def go(self):
        processes = descendants(self.worker.process.pid)
        if self.how == "cut":
            self.world.link(self.how).unlink()
        else:
            self.worker.is_away = True
            for process in processes:
                send(process, signal.SIGSTOP if self.how == "frozen" else signal.SIGKILL)
        if self.how != "off":
            self.told.with_suffix(".gone").touch()
        print(f"{self.how}: away with {self.task()}", flush=True)

    def come_back(self):
        if self.how == "cut":
            self.world.link(self.how).symlink_to(self.world.bare)
        elif self.how == "frozen":
            for process in reversed(descendants(self.worker.process.pid)):
                send(process, signal.SIGCONT)
        else:
            self.worker.environment.update(clock(DAY))
            self.worker.inside = ["unshare", "--time", "--boottime", str(DAY), "--kill-child"]
        self.worker.is_away = False
        print(f"{self.how}: back", flush=True)

    def task(self):
        return self.told.read_text().split()[0]

    def said(self):
        """What it said of its task."""
        return [line for line in self.worker.log_path.read_text().splitlines() if self.task() in line]

    def has_told(self):
        """Whether it has said what became of its task: it was merged, or what is here is nowhere else."""
        said = [line for line in self.said() if "merged in done: main" in line or "nowhere else" in line]
        return self.is_back and bool(said)

    def check(self):
        """What does not hold of what it made."""
        if not self.is_back:
            return [f"{self.how}: it was never away"]
        task, commit = self.told.read_text().split()
        at = self.worker.place
        kept = ["git", "for-each-ref", "--format=%(refname)", "--contains", commit]
        here = self.world.run(*kept, at=at, fine=False).stdout.split()
        print(f"{self.how}: {task}, made {commit:.9}, kept in {here}")
        for line in self.said():
            print(f"    {line}")
        wrong = [] if here else [f"{self.how}: what it made of {task} is lost: {commit}"]
        if not self.has_told():
            wrong.append(f"{self.how}: it does not say what became of {task}")
        return wrong


def descendants(process):
    """A process and all below it, the last ones last."""
    found = [process]
    for one in found:
        found += children(one)
    return found


def send(process, number):
    try:
        os.kill(process, number)
    except ProcessLookupError:
        pass


def children(process):
    try:
        text = Path(f"/proc/{process}/task/{process}/children").read_text()
    except OSError:
        return []
    return [int(word) for word in text.split()]


def race(world, away, clocks):
    offsets = [RANDOM.uniform(-HOUR, HOUR) for _ in range(CLONES)]
    # The ends are always there.
    offsets[:2] = [-HOUR, HOUR][:CLONES]
    workers = [
        Worker(world, f"clone{number}", offset if clocks else None) for number, offset in enumerate(offsets)
    ]
    begun = time.monotonic()
    kills = {"term": 0, "worker": 0, "all": 0}
    next_kill = begun + KILL
    told = -1
    overlaps = Overlaps(world)
    while True:
        now = time.monotonic()
        # The others find tasks left for them.
        for one in away:
            one.look(now)
        for worker in workers:
            worker.look(now)
        if sum(kills.values()) < KILLS and now >= next_kill:
            next_kill = now + RANDOM.expovariate(1 / KILL)
            how = RANDOM.choice(list(kills))
            kills[how] += RANDOM.choice(workers).kill(how)
        overlaps.look(away)
        done = world.done()
        if done != told:
            told = done
            print(f"{now - begun:7.1f} s: {done} of {TASKS} done, killed {kills}", flush=True)
        is_over = done == TASKS and all(one.is_back for one in away)
        if is_over or now - begun > LIMIT:
            break
        time.sleep(0.5)
    took = time.monotonic() - begun
    # They look at what has become of their tasks.
    patience = time.monotonic() + 6 * LEASE
    while not all(one.has_told() for one in away) and time.monotonic() < patience:
        for one in away:
            one.worker.look(time.monotonic())
        overlaps.look(away)
        time.sleep(0.5)
    workers += [one.worker for one in away]
    for worker in workers:
        worker.kill("term")
    for worker in workers:
        if worker.process is not None:
            worker.process.wait()
    overlaps.look(away)
    return took, kills, overlaps


class Overlaps:
    """For how long two executors have worked on one task at once."""

    def __init__(self, world):
        self.world = world
        self.seen = 0
        # The tasks on which two work now: since when, and the work tree of the first.
        self.open = {}
        self.longest = 0.0

    def look(self, away):
        told = self.world.base / "overlaps"
        lines = told.read_text().splitlines() if told.exists() else []
        for line in lines[self.seen :]:
            task, begun, place = line.split()
            self.open[task] = (float(begun), place)
        self.seen = len(lines)
        for task, (begun, place) in list(self.open.items()):
            with open(self.world.base / "locks" / task) as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
            # One that is frozen does not work.
            woken = [one.back_up for one in away if one.back_up and place.startswith(str(one.worker.place))]
            lasted = uptime() - max([begun, *woken])
            print(f"{task}: two executors for {lasted:.1f} s, the first in {place}", flush=True)
            self.longest = max(self.longest, lasted)
            del self.open[task]


def uptime():
    return float(Path("/proc/uptime").read_text().split()[0])


def check(world, away, overlaps):
    """What does not hold."""
    wrong = [what for one in away for what in one.check()]
    if world.done() != TASKS:
        wrong.append(f"{world.done()} of {TASKS} tasks are done")
    print(f"two executors worked on one task for {overlaps.longest:.1f} s at most")
    if overlaps.longest > LEASE or overlaps.open:
        wrong.append("executors overlapped: " + (world.base / "overlaps").read_text())
    fsck = world.run("git", "fsck", "--strict", "--full", at=world.bare, fine=False)
    said = [line for line in (fsck.stdout + fsck.stderr).splitlines() if not line.startswith(("dangling", "notice"))]
    if fsck.returncode != 0 or said:
        wrong.append(f"git fsck: {said}")
    world.run("git", "clone", "-q", str(world.bare), "after", at=world.base)
    after = world.base / "after"
    audit = world.run(ORCH, "audit", "--json", at=after, fine=False)
    try:
        summary = json.loads(audit.stdout)
        (world.base / "audit.json").write_text(audit.stdout)
    except ValueError:
        wrong.append(f"orch audit: {audit.returncode} {audit.stderr}")
        summary = {}
    counts = summary.get("counts", {})
    print(f"steps: {counts}")
    # A taking is claimed: nothing in git says who had a lease.
    bad = [verdict for verdict in counts if verdict not in ("proven", "claimed", "folded")]
    if audit.returncode != 0 or bad or not counts:
        wrong.append(f"orch audit ended with {audit.returncode}; steps that are {bad}")
    status = json.loads(world.run(ORCH, "status", "--json", at=after, fine=False).stdout)
    open_tasks = [task["task"] for task in status["tasks"] if task["currentPhase"] != "done"]
    if open_tasks:
        wrong.append(f"not done: {open_tasks}")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--clocks", action="store_true")
    parser.add_argument("--offline", action="store_true")
    options = parser.parse_args()
    if options.clocks and not faketime():
        print("skipped: --clocks needs libfaketime, in Debian the package `faketime`; FAKETIME_LIBRARY may name it")
        return
    base = Path(os.environ.get("PLACE") or tempfile.mkdtemp(prefix="orch-races-"))
    base.mkdir(exist_ok=True)
    print(f"{CLONES} clones, {TASKS} tasks, seed {SEED}, leases of {LEASE} s, in {base}", flush=True)
    world = World(base)
    away = []
    if options.offline:
        hows = ["cut", "frozen"]
        if faketime() and subprocess.run(["unshare", "--time", "true"], stderr=subprocess.DEVNULL).returncode == 0:
            hows.append("off")
        else:
            print("skipped: a clone that is off for a day needs root and libfaketime")
        for how in hows:
            world.add(how)
        away = [Away(world, how) for how in hows]
    took, kills, overlaps = race(world, away, options.clocks)
    wrong = check(world, away, overlaps)
    starts = sum(1 for line in (base / "stamps").read_text().splitlines() if " start " in line)
    refs = world.run("git", "for-each-ref", "--format=%(refname)", at=world.bare).stdout.split()
    left = [name for name in refs if name != "refs/heads/main"]
    print(f"{took:.0f} s, {starts} turns for {2 * TASKS}, killed {kills}, references left {left}")
    for what in wrong:
        print(f"WRONG: {what}")
    if not wrong:
        print("everything holds")
        if "PLACE" not in os.environ:
            shutil.rmtree(base)
    sys.exit(1 if wrong else 0)


main()
