#!/bin/sh
# task-master-ai 0.43.1: two of its commands read a number among the dependencies of a subtask differently.
#
# Guess:  a dependency that `validate-dependencies` accepts is one that `next` can find done.
# Seen:   subtask 4.2 has the dependency 3. The check takes it for task 3, which is there, and finds everything valid. `next`
#         takes it for subtask 4.3, which is not there: 4.2 is never offered, though task 3 is done. With the dependency 1
#         `next` takes 4.1, and 4.2 is offered although task 1 is not done.
# Why:    whoever imports the file has to choose, and a valid list can have tasks that nobody is ever offered.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME="$work" NO_COLOR=1
npm install --silent --no-audit --no-fund --prefix tool task-master-ai@0.43.1 >&2 || exit 2
mkdir -p .taskmaster/tasks
echo '{"models": {}, "global": {"logLevel": "info"}}' > .taskmaster/config.json
cat > list.js << 'END'
const text = { description: 'x', details: '', testStrategy: '', priority: 'medium' }
const task = (id, status, subtasks) => ({ ...text, id, title: `task ${id}`, status, dependencies: [], subtasks })
const part = (id, status, dependencies) => ({ ...text, id, title: `part ${id}`, status, dependencies })
const parts = [part(1, 'done', []), part(2, 'pending', [Number(process.argv[2])])]
const tasks = [task(1, 'blocked', []), task(3, 'done', []), task(4, 'in-progress', parts)]
const time = '2026-01-01T00:00:00.000Z'
console.log(JSON.stringify({ master: { tasks, metadata: { created: time, updated: time, description: '' } } }))
END
for dependency in 3 1; do
    node list.js "$dependency" > .taskmaster/tasks/tasks.json
    valid=no
    tool/node_modules/.bin/task-master validate-dependencies > said 2>&1 || true
    if grep -q 'all dependencies are valid' said; then valid=yes; fi
    next=$(tool/node_modules/.bin/task-master next 2>&1 | grep -o 'Next Task: #[0-9.]*' | head -n 1)
    echo "4.2 depends on $dependency: valid $valid; ${next:-nothing next}"
    echo "$valid ${next#*#}" >> seen
done
if [ "$(tr '\n' ' ' < seen)" = "yes 4 yes 4.2 " ]; then
    echo "seen: one command means the task, the other the sibling"
else
    echo "no longer seen"
    exit 1
fi
