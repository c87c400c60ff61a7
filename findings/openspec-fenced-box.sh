#!/bin/sh
# OpenSpec 1.13.2 counts a check box inside a fenced code block as a task.
#
# Guess:  tasks.md is Markdown, so what stands in a fence is text: one task, done.
# Seen:   `openspec list` says 1 of 2 tasks; the example in the fence is an open task.
# Why:    a reader that parses the Markdown calls a change finished that OpenSpec calls unfinished, and the two
#         disagree about when it may be archived.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OPENSPEC_TELEMETRY=0

npm install --silent --no-audit --no-fund --prefix tool @fission-ai/openspec@1.13.2 >&2 || exit 2

mkdir -p openspec/specs openspec/changes/add-help
printf '%s\n' '## Why' 'Users ask for help.' > openspec/changes/add-help/proposal.md
cat > openspec/changes/add-help/tasks.md << 'END'
## 1. Work

- [x] 1.1 Describe how a list of tasks is written

```markdown
- [ ] an example
```
END

tool/node_modules/.bin/openspec list > counts
cat counts
if grep -q '1/2 tasks' counts; then
    echo "seen: the box in the fence is counted"
else
    echo "no longer seen"
    exit 1
fi
