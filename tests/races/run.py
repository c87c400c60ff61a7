#!/usr/bin/env python3
"""Clones of one bare repository work on its tasks with `orch work --remote`, and workers are killed at random.

What has to hold afterwards: every task is done and on the base branch, each history is proven, no two executors have worked
on one task at the same time, and the repository is sound. Prints figures; exits with 1 if something does not hold.

Variables: ORCH (the program), CLONES, TASKS, SEED, LEASE (seconds), NAP (of an executor, in seconds), KILL (the mean time
between two kills, in seconds), KILLS (how many there are), LIMIT (of the whole, in seconds).
"""

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

EXECUTOR = """
cat > /dev/null
name=$ORCH_TASK
# The lock lasts as long as anything of this executor lives, however it is killed.
exec 9>> "$RACE/locks/$name"
flock -n 9 || echo "$name $PWD" >> "$RACE/overlaps"
echo "$name start $(date +%s.%N) $PWD" >> "$RACE/stamps"
sleep $NAP
if [ ! -e tasks/$name/note.md ]; then
    echo "$name" > tasks/$name/note.md
    echo "$name" > $name.txt
    git add $name.txt
    git commit -q -m "Code of $name"
else
    echo "$name $(git rev-parse HEAD)" > tasks/$name/check.md
fi
echo "$name end $(date +%s.%N) $PWD" >> "$RACE/stamps"
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
        (base / "locks").mkdir()
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
            self.run("git", "clone", "-q", str(self.bare), self.clone(number).name, at=base)

    def clone(self, number):
        return self.base / f"clone{number}"

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


class Worker:
    """The worker of a clone, started again after each kill."""

    def __init__(self, world, number):
        self.world = world
        self.place = world.clone(number)
        self.log = open(world.base / f"worker{number}.log", "a")
        self.process = None
        self.starts_at = 0.0

    def look(self, now):
        if self.process is not None and self.process.poll() is not None:
            if self.process.returncode not in (0, 130, -signal.SIGKILL):
                print(f"{self.place.name}: a worker ended with {self.process.returncode}", flush=True)
            self.process = None
            self.starts_at = now + RANDOM.uniform(0.1, 1.5 * LEASE)
        if self.process is None and now >= self.starts_at:
            self.process = subprocess.Popen(
                [ORCH, "work", "--remote", "origin"],
                cwd=self.place,
                env=self.world.environment,
                stdin=subprocess.DEVNULL,
                stdout=self.log,
                stderr=self.log,
                start_new_session=True,
            )

    def kill(self, how):
        if self.process is None or self.process.poll() is not None:
            return False
        if how == "term":
            self.process.send_signal(signal.SIGTERM)
        elif how == "worker":
            self.process.kill()
        else:
            # The runs first: they cannot end in an orderly way. Their executors are left behind.
            for child in children(self.process.pid):
                try:
                    os.kill(child, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.process.kill()
        return True


def children(process):
    try:
        text = Path(f"/proc/{process}/task/{process}/children").read_text()
    except OSError:
        return []
    return [int(word) for word in text.split()]


def race(world):
    workers = [Worker(world, number) for number in range(CLONES)]
    begun = time.monotonic()
    kills = {"term": 0, "worker": 0, "all": 0}
    next_kill = begun + KILL
    told = -1
    while True:
        now = time.monotonic()
        for worker in workers:
            worker.look(now)
        if sum(kills.values()) < KILLS and now >= next_kill:
            next_kill = now + RANDOM.expovariate(1 / KILL)
            how = RANDOM.choice(list(kills))
            kills[how] += RANDOM.choice(workers).kill(how)
        done = world.done()
        if done != told:
            told = done
            print(f"{now - begun:7.1f} s: {done} of {TASKS} done, killed {kills}", flush=True)
        if done == TASKS or now - begun > LIMIT:
            break
        time.sleep(0.5)
    took = time.monotonic() - begun
    for worker in workers:
        worker.kill("term")
    for worker in workers:
        if worker.process is not None:
            worker.process.wait()
    return took, kills


def check(world):
    """What does not hold."""
    wrong = []
    if world.done() != TASKS:
        wrong.append(f"{world.done()} of {TASKS} tasks are done")
    overlaps = world.base / "overlaps"
    if overlaps.exists():
        wrong.append("executors overlapped: " + " ".join(overlaps.read_text().split("\n")))
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
    base = Path(os.environ.get("PLACE") or tempfile.mkdtemp(prefix="orch-races-"))
    base.mkdir(exist_ok=True)
    print(f"{CLONES} clones, {TASKS} tasks, seed {SEED}, leases of {LEASE} s, in {base}", flush=True)
    world = World(base)
    took, kills = race(world)
    wrong = check(world)
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
