#!/bin/sh
# The real agent programs, from npm's registry, against a scripted model on loopback: what orch writes for them is read,
# their hooks and servers run, and an executor takes a task as far as it goes without a person.
#
#   tests/agents/run.sh [PROGRAM...]
#
# With WITHOUT_SANDBOX=1 Codex has no sandbox of its own, and ORCH_FENCE says whether the runs have a fence of orch.
# Without names: all six. Exits with 0 and says so where the registry is not reached.

set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
orch=${ORCH:-$root/target/debug/orch}
place=${ORCH_AGENTS:-$root/target/agents}
mkdir -p "$place"
cp "$here/package.json" "$place"

for tool in node npm git; do
    command -v "$tool" > "$place/which" || { echo "skipped: there is no $tool"; exit 0; }
done
if ! (cd "$place" && timeout 300 npm install --no-audit --no-fund --loglevel=error > install.log 2>&1); then
    if timeout 30 npm ping > "$place/ping.log" 2>&1; then
        cat "$place/install.log"
        exit 1
    fi
    echo "skipped: npm's registry is not reached"
    exit 0
fi

home=
port=
model=
stop_model() {
    if [ -n "$model" ]; then
        kill "$model" 2> "$place/kill" || true
        wait "$model" 2> "$place/kill" || true
        model=
    fi
}
trap stop_model EXIT

# Starts the model for one conversation after the other: its script is `script.json`, its log `model.jsonl`.
start_model() {
    : > model.jsonl
    : > port
    node "$here/model.mjs" script.json model.jsonl > port &
    model=$!
    tries=0
    until [ -s port ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 200 ] || { echo "the model does not start"; exit 1; }
        sleep 0.05
    done
    port=$(cat port)
}

# The environment in which a program knows nothing but the model. Root is told that this is a sandbox.
clean() {
    env -i PATH="$place/node_modules/.bin:$(dirname "$orch"):$(dirname "$(command -v node)"):/usr/local/bin:/usr/bin:/bin" \
        HOME="$home" TERM=xterm-256color LANG=C.UTF-8 IS_SANDBOX=1 GIT_CONFIG_NOSYSTEM=1 \
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1 ENABLE_TOOL_SEARCH=false \
        ANTHROPIC_BASE_URL="http://127.0.0.1:$port" ANTHROPIC_API_KEY=scripted \
        GOOGLE_GEMINI_BASE_URL="http://127.0.0.1:$port" GEMINI_API_KEY=scripted GEMINI_CLI_NO_RELAUNCH=true \
        OPENAI_BASE_URL="http://127.0.0.1:$port/v1" OPENAI_API_KEY=scripted OPENAI_MODEL=scripted \
        COPILOT_PROVIDER_BASE_URL="http://127.0.0.1:$port/v1" COPILOT_PROVIDER_TYPE=openai COPILOT_PROVIDER_API_KEY=scripted \
        COPILOT_MODEL=gpt-4.1 COPILOT_OFFLINE=true COPILOT_AUTO_UPDATE=false \
        XDG_STATE_HOME="$home/state" ORCH_FENCE="${ORCH_FENCE:-auto}" "$@"
}

# The settings of the user: only where the model is.
settle() {
    mkdir -p home/.codex home/.gemini home/.config/opencode
    git config --file home/.gitconfig user.name Ann
    git config --file home/.gitconfig user.email ann@example.org
    git config --file home/.gitconfig init.defaultBranch main
    cat > home/.codex/config.toml <<TOML
model = "gpt-5"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:$port/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
[projects."$PWD/repository"]
trust_level = "trusted"
TOML
    # With a model of its own choice, it would ask another model first which one to take.
    echo '{"security": {"auth": {"selectedType": "gemini-api-key"}}, "model": {"name": "gemini-2.5-pro"}}' > home/.gemini/settings.json
    cat > home/.config/opencode/opencode.json <<JSON
{"\$schema": "https://opencode.ai/config.json", "autoupdate": false, "share": "disabled", "model": "scripted/scripted",
 "provider": {"scripted": {"npm": "@ai-sdk/openai-compatible", "name": "scripted",
   "options": {"baseURL": "http://127.0.0.1:$port/v1", "apiKey": "scripted"}, "models": {"scripted": {"name": "scripted"}}}}}
JSON
}

# The command line of a program as docs/run.md has it, as a list in TOML.
command_of() {
    sed -n "s/^| \`\(\[.*\"$1\".*\]\)\` .*/\1/p" "$root/docs/run.md" | head -n 1 \
        | if [ -n "${WITHOUT_SANDBOX:-}" ]; then sed s/workspace-write/danger-full-access/; else cat; fi
}

# What the program is called in records.
recorded() {
    case $1 in
        claude) echo "Claude Code" ;;
        codex) echo "Codex" ;;
        gemini) echo "Gemini CLI" ;;
        opencode) echo "opencode" ;;
        copilot) echo "Copilot CLI" ;;
        qwen) echo "Qwen Code" ;;
    esac
}

failed=0
fail() {
    echo "  FAILED: $1"
    failed=1
}
says() {
    if ! grep -q -e "$2" "$1"; then
        fail "$3"
    fi
}

play() {
    program=$1
    echo "$program"
    rm -rf "$place/play-$program"
    mkdir -p "$place/play-$program"
    cd "$place/play-$program"
    home=$PWD/home
    echo '[]' > script.json
    start_model
    settle
    command=$(command_of "$program")
    [ -n "$command" ] || { fail "docs/run.md has no command line"; stop_model; return; }
    {
        git init -q -b main repository
        cd repository
        echo "Remember: SENTINEL-OF-THE-PROJECT" > AGENTS.md
        clean "$orch" init -q
        clean "$orch" init -q --agent "$program"
        clean git add -A
        clean git commit -q -m "Set up"
        clean "$orch" new t --title Login
        clean git switch -q -c task/t
        cd ..
    } > setup.log 2>&1 || { fail "cannot set up; see $PWD/setup.log"; stop_model; return; }
    printf '[executor.default]\ncommand = %s\ntimeout = "2m"\n' "$command" >> repository/orch.toml

    # In a run, the program writes each file that the rules ask for.
    printf '[{"shell": "sh %s/work.sh %s t"}, {"text": "Done."}]' "$here" "$orch" > script.json
    clean timeout 300 "$orch" -C repository run t --trust-once > run.log 2>&1 || true
    phase=$(clean "$orch" -C repository status t --json 2>&1 | sed -n 's/.*"currentPhase":"\([a-z_]*\)".*/\1/p')
    [ "$phase" = accept ] || fail "the run ended in ${phase:-no phase}; see $PWD/run.log"
    clean "$orch" -C repository audit > audit.log 2>&1 || fail "the audit; see $PWD/audit.log"
    case $program in
        gemini) says model.jsonl "Tasks are run by orch" "GEMINI.md is not read" ;;
        *) says model.jsonl "SENTINEL-OF-THE-PROJECT" "AGENTS.md is not read" ;;
    esac
    cp model.jsonl run.jsonl

    # Its hooks guard the record, where it has hooks: Codex runs them after a person has trusted them.
    if [ "$program" != opencode ]; then
        : > model.jsonl
        state=$PWD/repository/tasks/t/state.json
        before=$(cat "$state")
        printf '[{"write": "%s", "content": "{}"}, {"text": "Done."}]' "$state" > script.json
        converse "$program" "Write the record." > guard.log 2>&1 || true
        [ "$(cat "$state")" = "$before" ] || fail "the record was written; see $PWD/guard.log"
        if grep -q '"results":1' model.jsonl; then
            says model.jsonl "which only orch writes" "no hook has refused it; see $PWD/guard.log"
        else
            echo "  not shown: no tool that writes was offered"
        fi
    fi

    # Its client of the protocol calls the tools, and the record names the program.
    : > model.jsonl
    (cd repository && clean "$orch" new u --title Other) > new.log 2>&1
    mkdir -p repository/tasks/u/planning
    echo '{"title": "Other", "what": "More."}' > repository/tasks/u/planning/plan.json
    printf '[{"mcp": "suggest", "arguments": {"task": "u"}}, {"mcp": "next", "arguments": {"task": "u"}}, {"text": "Done."}]' > script.json
    converse "$program" "Go on with u." > tools.log 2>&1 || true
    says model.jsonl "Next for u (plan_review)" "the tools were not called; see $PWD/tools.log"
    says repository/tasks/u/transcript.jsonl "\"name\":\"$(recorded "$program")\"" "the record names somebody else"
    stop_model
}

# Starts the program once, outside of a run, with the command line of the executor.
converse() {
    (cd repository && clean node -e '
        const { spawnSync } = require("node:child_process");
        const argv = JSON.parse(process.argv[1]);
        const ended = spawnSync(argv[0], argv.slice(1), { input: process.argv[2], stdio: ["pipe", "inherit", "inherit"], timeout: 120000 });
        process.exit(ended.status ?? 1);
    ' "$(command_of "$1")" "$2")
}

if [ $# -eq 0 ]; then
    set -- claude codex gemini opencode copilot qwen
fi
for name in "$@"; do
    play "$name"
done
exit "$failed"
