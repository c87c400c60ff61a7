#!/usr/bin/env python3
"""Two agents in two work trees take ten tasks with dependencies to done; a person only approves.

Each agent is a loop, as a program would be told to do it: `orch take`, write what `orch suggest` asks for, `orch next`, and
`orch release` when a person has to act. It brings its branch up to date when nothing is free. The person accepts what is
ready, in the work tree where it is, and merges. Nobody says to anybody what to do.

    two-agents.py ORCH [--tasks N] [--seconds N]
"""

import argparse
import json
import os
import pty
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

# What a task waits for: two chains that meet, and two that stand alone.
AFTER = {1: [0], 2: [0], 3: [1, 2], 4: [3], 6: [5], 7: [6], 8: [4, 7]}
CONTENTS = {
    "plan.json": '{"title": "A task", "what": "Do it."}',
    "diff.patch": "--- a/one\n+++ b/one\n@@ -1 +1 @@\n-a\n+b\n",
    "eval-report.json": '{"overall_pass": true}',
}
OTHER = '{"ok": true, "issues": []}'


class World:
    def __init__(self, options):
        self.orch_program = str(Path(options.orch).resolve())
        self.tasks = [f"t{number}" for number in range(options.tasks)]
        self.base = Path(tempfile.mkdtemp(prefix="orch-agents-"))
        self.main = self.base / "main"
        self.main.mkdir()
        self.until = time.monotonic() + options.seconds
        self.problems = []
        # Which agent has held which task.
        self.worked = {task: set() for task in self.tasks}
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.base),
            "LC_ALL": "C",
            "TERM": "dumb",
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        for who in ["AUTHOR", "COMMITTER"]:
            self.environment[f"GIT_{who}_NAME"] = "Ann"
            self.environment[f"GIT_{who}_EMAIL"] = "ann@example.com"

    def run(self, *words, at, fine=True, mark=None):
        environment = {**self.environment, **({"AI_AGENT": mark} if mark else {})}
        ended = subprocess.run(
            words, cwd=at, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        if fine and ended.returncode != 0:
            raise RuntimeError(f"{words} in {at}: {ended.returncode}\n{ended.stdout}{ended.stderr}")
        return ended

    def orch(self, *words, at, fine=True, mark=None):
        return self.run(self.orch_program, *words, at=at, fine=fine, mark=mark)

    def git(self, *words, at, fine=True):
        return self.run("git", *words, at=at, fine=fine)

    def set_up(self):
        self.git("init", "-q", "-b", "main", at=self.main)
        self.orch("init", "-q", at=self.main)
        self.git("add", "-A", at=self.main)
        self.git("commit", "-q", "-m", "Set up orch", at=self.main)
        for number, task in enumerate(self.tasks):
            after = [f"t{other}" for other in AFTER.get(number, [])]
            words = ["--after", ",".join(after)] if after else []
            self.orch("new", task, *words, at=self.main)
        for name in ["one", "two"]:
            self.git("worktree", "add", "-q", "-b", name, str(self.base / name), at=self.main)

    def is_over(self):
        return self.problems or time.monotonic() > self.until

    def phases(self, at):
        rows = json.loads(self.orch("status", "--json", at=at, fine=False).stdout)["tasks"]
        return {row["task"]: row["currentPhase"] for row in rows}


class Agent(threading.Thread):
    """Works in one work tree, with nothing but what orch says there."""

    def __init__(self, world, name):
        super().__init__()
        self.world = world
        self.name = name
        self.at = world.base / name

    def orch(self, *words, fine=True):
        return self.world.orch(*words, at=self.at, fine=fine, mark=self.name)

    def run(self):
        try:
            while not self.world.is_over():
                if not self.work():
                    return
        except Exception as error:
            self.world.problems.append(f"{self.name}: {error}")

    def work(self):
        """Takes a task as far as it goes. Returns whether there is more to do, now or later."""
        taken = self.orch("take", "--json", "--as", self.name, fine=False)
        if taken.returncode != 0:
            self.world.git("merge", "-q", "--no-edit", "main", at=self.at)
            time.sleep(0.2)
            return any(phase != "done" for phase in self.world.phases(self.at).values())
        task = json.loads(taken.stdout)["task"]["task"]
        self.world.worked[task].add(self.name)
        for _ in range(20):
            said = self.orch("suggest", task, "--brief", "--json", fine=False).stdout
            asked = json.loads(said)["tasks"][0]
            if asked["owner"] != "agent" or not asked["write"]:
                break
            path = self.at / asked["write"][0]["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(CONTENTS.get(path.name, OTHER))
            self.orch("next", task)
        self.orch("release", task)
        return True


def at_a_terminal(world, words, at):
    """Runs a command as a person does: at a terminal. Returns its exit code and what it printed."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        words, cwd=at, env=world.environment, stdin=follower, stdout=follower, stderr=follower, start_new_session=True
    )
    os.close(follower)
    said = b""
    while True:
        try:
            chunk = os.read(leader, 4096)
        except OSError:
            break
        if not chunk:
            break
        said += chunk
    os.close(leader)
    return process.wait(), said.decode(errors="replace")


def person(world):
    """Accepts what is ready, where it is, and merges it. Returns how many approvals that took."""
    approved = set()
    while not world.is_over():
        ready = {}
        for name in ["one", "two"]:
            at = world.base / name
            ready.update({task: at for task, phase in world.phases(at).items() if phase == "accept"})
        for task, at in ready.items():
            if task in approved:
                continue
            code, said = at_a_terminal(world, [world.orch_program, "approve", task], at)
            if code == 0:
                approved.add(task)
            elif "holds" not in said:
                world.problems.append(f"approve {task} in {at}: {code}\n{said}")
        for name in ["one", "two"]:
            # A conflict is a problem: each task has files of its own.
            world.git("merge", "-q", "--no-edit", name, at=world.main)
        phases = world.phases(world.main)
        if len(phases) == len(world.tasks) and all(phase == "done" for phase in phases.values()):
            break
        time.sleep(0.3)
    return len(approved)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("orch")
    parser.add_argument("--tasks", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=180)
    world = World(parser.parse_args())
    world.set_up()
    begun = time.monotonic()
    agents = [Agent(world, "one"), Agent(world, "two")]
    for agent in agents:
        agent.start()
    approvals = 0
    try:
        approvals = person(world)
    except Exception as error:
        world.problems.append(f"person: {error}")
    for agent in agents:
        agent.join()
    took = time.monotonic() - begun
    phases = world.phases(world.main)
    left = {task: phase for task, phase in phases.items() if phase != "done"}
    if left:
        world.problems.append(f"not done after {took:.0f} s: {left}")
    counts = json.loads(world.orch("audit", "--json", at=world.main, fine=False).stdout).get("counts", {})
    shares = {agent.name: sum(agent.name in worked for worked in world.worked.values()) for agent in agents}
    both = [task for task, worked in world.worked.items() if len(worked) > 1]
    print(f"{len(phases)} tasks in {took:.0f} s, {approvals} approvals, tasks of each agent {shares}, of both {both}")
    print(f"audit: {counts}")
    if not counts or set(counts) - {"proven", "claimed", "folded"}:
        world.problems.append("a history is not proven")
    world.git("fsck", "--strict", at=world.main)
    for problem in world.problems:
        print(f"WRONG: {problem}")
    if world.problems:
        print(f"see {world.base}")
        sys.exit(1)
    print("everything holds")
    shutil.rmtree(world.base)


main()
