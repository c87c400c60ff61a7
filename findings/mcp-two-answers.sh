#!/bin/sh
# Of one answer of an MCP tool, Claude Code 2.1.332 shows its model the structured content, opencode 1.18.33 the text.
#
# Guess:  `content` is for the model and `structuredContent` for the program, so a server may put a remark for the model
#         into the one, and the data into the other.
# Seen:   of a result with both, the model behind Claude Code gets the structured content alone, and that behind opencode
#         the text alone. (Copilot CLI 1.0.102 sends both, so what is in both is paid for twice. Gemini CLI 0.61 sends
#         the text alone, and of a result without text an empty object.)
# Why:    only what is a text, in a result without structured content, reaches the model in all of them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
model=
trap 'if [ -n "$model" ]; then kill "$model"; fi; rm -rf "$work"' EXIT
cd "$work"

npm install --silent --no-audit --no-fund @anthropic-ai/claude-code@2.1.332 opencode-ai@1.18.33 >&2 || exit 2

cat > server.mjs << 'END'
import { createInterface } from "node:readline";
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const results = {
    initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "orch", version: "1" } },
    "tools/list": { tools: [{ name: "suggest", description: "Suggests", inputSchema: { type: "object", properties: {} } }] },
    "tools/call": { content: [{ type: "text", text: "THE-TEXT" }], structuredContent: { is: "THE-STRUCTURE" } },
  };
  const answer = results[method] ? { result: results[method] } : { error: { code: -32601, message: "no such method" } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
});
END
echo '[{"mcp": "suggest"}, {"text": "Done."}]' > script.json
node "$here/../tests/agents/model.mjs" script.json requests.jsonl > port &
model=$!
tries=0
until [ -s port ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || exit 2
    sleep 0.1
done
url=http://127.0.0.1:$(cat port)
echo '{"mcpServers": {"orch": {"command": "node", "args": ["server.mjs"]}}}' > .mcp.json
cat > opencode.json << END
{"mcp": {"orch": {"type": "local", "command": ["node", "server.mjs"], "enabled": true}}, "autoupdate": false,
 "model": "scripted/scripted", "provider": {"scripted": {"npm": "@ai-sdk/openai-compatible", "name": "scripted",
   "options": {"baseURL": "$url/v1", "apiKey": "scripted"}, "models": {"scripted": {"name": "scripted"}}}}}
END
mkdir home

got() {
    text=no
    structure=no
    if grep -q THE-TEXT requests.jsonl; then text=yes; fi
    if grep -q THE-STRUCTURE requests.jsonl; then structure=yes; fi
    echo "$1: the text: $text; the structured content: $structure"
    : > requests.jsonl
}
HOME=$work/home ANTHROPIC_BASE_URL=$url ANTHROPIC_API_KEY=scripted ENABLE_TOOL_SEARCH=false \
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 \
    timeout 120 node_modules/.bin/claude -p --allowedTools mcp__orch --mcp-config .mcp.json "Ask." > claude.log 2>&1 || exit 2
got "Claude Code" | tee seen
HOME=$work/home timeout 120 node_modules/.bin/opencode run "Ask." > opencode.log 2>&1 < .mcp.json || exit 2
got opencode | tee -a seen
if grep -q "Claude Code: the text: no; the structured content: yes" seen &&
    grep -q "opencode: the text: yes; the structured content: no" seen; then
    echo "seen: each shows its model another half of one answer"
else
    echo "no longer seen"
    exit 1
fi
