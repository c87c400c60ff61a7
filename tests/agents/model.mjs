// A model that does what a script says, behind the four interfaces by which agent programs reach one. It listens on
// loopback only, and prints its port.
//
//   node model.mjs SCRIPT LOG
//
// SCRIPT is a JSON file, read at each request: a list of steps, of which each conversation takes the next one after
// each result of a tool. {"shell": COMMAND}, {"write": PATH, "content": TEXT} and {"mcp": NAME, "arguments": {}}
// call a tool of the program, {"text": TEXT} ends the turn, as does the end of the list. LOG gets a line for each
// request: the tools that were offered, the texts that were sent, and what the model answered.

import { appendFileSync, readFileSync } from "node:fs";
import { createServer } from "node:http";

const [, , script, log] = process.argv;

// The names that programs give to their tools.
const SHELL = ["Bash", "bash", "exec_command", "shell_command", "shell", "local_shell", "run_shell_command"];
const WRITE = ["Write", "write_file", "write", "create", "apply_patch"];

// The arguments of a tool by what its schema knows, and what it requires besides.
function filled(schema, wanted) {
  const properties = schema?.properties ?? {};
  const given = {};
  for (const [names, value] of wanted) {
    const name = names.find((name) => name in properties) ?? names[0];
    given[name] = properties[name]?.type === "array" ? ["sh", "-c", value] : value;
  }
  for (const name of schema?.required ?? []) {
    const type = properties[name]?.type;
    given[name] ??= type === "boolean" ? false : type === "integer" || type === "number" ? 0 : "scripted";
  }
  return given;
}

function patchOf(path, content) {
  const lines = content.split("\n").map((line) => `+${line}`).join("\n");
  return `*** Begin Patch\n*** Add File: ${path}\n${lines}\n*** End Patch\n`;
}

// The call of a tool that a step means: {name, arguments} or {name, input} of a free text; undefined if it is not offered.
function callOf(step, tools) {
  const named = (names) => names.map((name) => tools.find((tool) => tool.name === name)).find((tool) => tool);
  if (step.shell !== undefined) {
    const tool = named(SHELL);
    return tool && { ...tool, arguments: filled(tool.schema, [[["command", "cmd"], step.shell]]) };
  }
  if (step.write !== undefined) {
    const tool = named(WRITE);
    if (!tool) return undefined;
    if (tool.name === "apply_patch") {
      const patch = patchOf(step.write, step.content);
      return tool.isFree
        ? { ...tool, input: patch }
        : { ...tool, arguments: filled(tool.schema, [[["input", "patch", "patchText"], patch]]) };
    }
    const wanted = [[["file_path", "filePath", "path"], step.write], [["content", "file_text"], step.content]];
    return { ...tool, arguments: filled(tool.schema, wanted) };
  }
  if (step.mcp !== undefined) {
    const tool = tools.find((tool) => /orch/.test(`${tool.namespace ?? ""}${tool.name}`) && new RegExp(`(^|[^a-z])${step.mcp}$`).test(tool.name));
    if (tool) return { ...tool, arguments: step.arguments ?? {} };
    // Qwen Code offers the tools of servers behind one of its own.
    const bridge = tools.find((tool) => tool.name === "tool_call");
    return bridge && { ...bridge, arguments: { name: `mcp__orch__${step.mcp}`, arguments: step.arguments ?? {} } };
  }
  return undefined;
}

function answerFor(parsed) {
  if (parsed.tools.length === 0) return { text: "Scripted" };
  const steps = JSON.parse(readFileSync(script, "utf8"));
  const step = steps[parsed.results] ?? { text: "Done." };
  if (step.text !== undefined) return { text: step.text };
  const call = callOf(step, parsed.tools);
  return call ? { call } : { text: `NOT OFFERED: ${JSON.stringify(step)}` };
}

const usage = { input: 100, output: 10 };
let calls = 0;

const interfaces = [
  {
    // The Messages API: Claude Code.
    path: /^\/v1\/messages(\?|$)/,
    parse: (body) => ({
      tools: (body.tools ?? []).map((tool) => ({ name: tool.name, schema: tool.input_schema })),
      results: body.messages.flatMap((message) => (Array.isArray(message.content) ? message.content : []))
        .filter((block) => block.type === "tool_result").length,
      texts: body.messages.concat(body.system ?? []),
    }),
    events: (body, { text, call }) => {
      const id = `toolu_${++calls}`;
      const block = call ? { type: "tool_use", id, name: call.name, input: {} } : { type: "text", text: "" };
      const delta = call
        ? { type: "input_json_delta", partial_json: JSON.stringify(call.arguments) }
        : { type: "text_delta", text };
      const message = { id: `msg_${calls}`, type: "message", role: "assistant", model: body.model, content: [], stop_reason: null,
        stop_sequence: null, usage: { input_tokens: usage.input, output_tokens: 1 } };
      const reason = call ? "tool_use" : "end_turn";
      const whole = { ...message, content: [call ? { ...block, input: call.arguments } : { type: "text", text }], stop_reason: reason,
        usage: { input_tokens: usage.input, output_tokens: usage.output } };
      if (!body.stream) return { whole };
      return { events: [
        { type: "message_start", message },
        { type: "content_block_start", index: 0, content_block: block },
        { type: "content_block_delta", index: 0, delta },
        { type: "content_block_stop", index: 0 },
        { type: "message_delta", delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: usage.output } },
        { type: "message_stop" },
      ] };
    },
  },
  {
    // The Responses API: Codex.
    path: /\/responses$/,
    parse: (body) => ({
      tools: (body.tools ?? []).flatMap((tool) => tool.type === "namespace"
        ? tool.tools.map((inner) => ({ namespace: tool.name, name: inner.name, schema: inner.parameters }))
        : [{ name: tool.name ?? tool.type, schema: tool.parameters, isFree: tool.type === "custom" }]),
      results: body.input.filter((item) => /_call_output$/.test(item.type ?? "")).length,
      texts: [body.instructions, ...body.input],
    }),
    events: (body, { text, call }) => {
      const id = `resp_${++calls}`;
      const item = !call
        ? { type: "message", id: `m_${calls}`, role: "assistant", status: "completed", content: [{ type: "output_text", text, annotations: [] }] }
        : call.input !== undefined
          ? { type: "custom_tool_call", id: `c_${calls}`, call_id: `call_${calls}`, name: call.name, input: call.input }
          : { type: "function_call", id: `f_${calls}`, call_id: `call_${calls}`, name: call.name, arguments: JSON.stringify(call.arguments),
              ...(call.namespace ? { namespace: call.namespace } : {}) };
      const response = { id, object: "response", status: "completed", model: body.model, output: [item],
        usage: { input_tokens: usage.input, output_tokens: usage.output, total_tokens: usage.input + usage.output,
          input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } } };
      if (!body.stream) return { whole: response };
      return { events: [
        { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
        { type: "response.output_item.added", output_index: 0, item },
        { type: "response.output_item.done", output_index: 0, item },
        { type: "response.completed", response },
      ] };
    },
  },
  {
    // Chat completions: opencode, Copilot CLI, Qwen Code.
    path: /\/chat\/completions$/,
    parse: (body) => ({
      tools: (body.tools ?? []).map((tool) => ({ name: tool.function.name, schema: tool.function.parameters })),
      results: body.messages.filter((message) => message.role === "tool").length,
      texts: body.messages,
    }),
    events: (body, { text, call }) => {
      const id = `chatcmpl_${++calls}`;
      const message = call
        ? { role: "assistant", content: null, tool_calls: [{ index: 0, id: `call_${calls}`, type: "function",
            function: { name: call.name, arguments: JSON.stringify(call.arguments) } }] }
        : { role: "assistant", content: text };
      const counted = { prompt_tokens: usage.input, completion_tokens: usage.output, total_tokens: usage.input + usage.output };
      const reason = call ? "tool_calls" : "stop";
      const base = { id, object: "chat.completion.chunk", created: 1, model: body.model };
      if (!body.stream) return { whole: { ...base, object: "chat.completion", choices: [{ index: 0, message, finish_reason: reason }], usage: counted } };
      return { isPlain: true, events: [
        { ...base, choices: [{ index: 0, delta: message, finish_reason: null }] },
        { ...base, choices: [{ index: 0, delta: {}, finish_reason: reason }] },
        { ...base, choices: [], usage: counted },
        "[DONE]",
      ] };
    },
  },
  {
    // The Gemini API: Gemini CLI.
    path: /:(streamGenerateContent|generateContent)/,
    parse: (body) => ({
      tools: (body.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? [])
        .map((tool) => ({ name: tool.name, schema: tool.parametersJsonSchema ?? tool.parameters })),
      results: body.contents.flatMap((content) => content.parts).filter((part) => part.functionResponse).length,
      texts: [body.systemInstruction, ...body.contents],
    }),
    events: (body, { text, call }, url) => {
      calls += 1;
      const part = call ? { functionCall: { name: call.name, args: call.arguments } } : { text };
      const whole = { candidates: [{ index: 0, content: { role: "model", parts: [part] }, finishReason: "STOP" }],
        usageMetadata: { promptTokenCount: usage.input, candidatesTokenCount: usage.output, totalTokenCount: usage.input + usage.output } };
      return url.includes("streamGenerateContent") ? { isPlain: true, events: [whole] } : { whole };
    },
  },
];

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const json = (value, status = 200) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(value));
    };
    const found = interfaces.find(({ path }) => path.test(request.url));
    if (!found || request.method !== "POST") {
      appendFileSync(log, `${JSON.stringify({ method: request.method, url: request.url })}\n`);
      if (/models/.test(request.url)) return json({ object: "list", data: [{ id: "scripted", object: "model" }], models: [] });
      return json({ error: { message: "not scripted", type: "not_found" } }, 404);
    }
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    const parsed = found.parse(body);
    const answer = answerFor(parsed);
    const names = parsed.tools.map((tool) => `${tool.namespace ?? ""}${tool.name}`);
    appendFileSync(log, `${JSON.stringify({ url: request.url, results: parsed.results, tools: names, texts: parsed.texts, answer })}\n`);
    const { whole, events, isPlain } = found.events(body, answer, request.url);
    if (whole) return json(whole);
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of events) {
      const data = typeof event === "string" ? event : JSON.stringify(event);
      response.write(`${isPlain ? "" : `event: ${event.type}\n`}data: ${data}\n\n`);
    }
    response.end();
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
