#!/bin/sh
# What the scripted model does in a turn: writes the file that orch asks for. Started by the shell of an agent program.
#
#   work.sh ORCH TASK

set -eu
orch=$1
task=$2
path=$("$orch" suggest "$task" --brief --json | sed -n 's/.*"write":\[{"path":"\([^"]*\)".*/\1/p')
mkdir -p "$(dirname "$path")"
case $path in
    */plan.json) echo '{"title": "Login", "what": "Refuse an empty password."}' ;;
    */diff.patch) printf -- '--- a/login\n+++ b/login\n@@ -1 +1 @@\n-allow\n+refuse\n' ;;
    */eval-report.json) echo '{"overall_pass": true}' ;;
    *) echo '{"ok": true, "issues": []}' ;;
esac > "$path"
echo "wrote $path"
