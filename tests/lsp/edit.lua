-- A whole edit in Neovim: open, a wrong guard, its diagnostic, completion, a code action, a rename, save.
local page = _G.arg[1]
local root = vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(page)))

local function fail(message)
  io.stderr:write("edit.lua: " .. message .. "\n")
  os.exit(1)
end

local function wait(what, condition)
  if not vim.wait(20000, condition, 20) then fail("waited in vain for " .. what) end
end

vim.cmd.edit(page)
local buffer = vim.api.nvim_get_current_buf()
local id = vim.lsp.start({ name = "orch", cmd = { vim.env.ORCH, "lsp" }, root_dir = root })
if not id then fail("the server did not start") end
wait("the server", function() return vim.lsp.get_client_by_id(id).initialized end)
local client = vim.lsp.get_client_by_id(id)

local function lines() return vim.api.nvim_buf_get_lines(buffer, 0, -1, false) end
local function codes()
  return vim.tbl_map(function(one) return one.code end, vim.diagnostic.get(buffer))
end
local function find(text)
  for number, line in ipairs(lines()) do
    local column = line:find(text, 1, true)
    if column then return number - 1, column - 1 end
  end
  fail("no line has " .. text)
end
local function ask(method, params)
  params.textDocument = { uri = vim.uri_from_bufnr(buffer) }
  local answer = client:request_sync(method, params, 20000, buffer)
  if not answer or answer.err then fail(method .. ": " .. vim.inspect(answer)) end
  return answer.result
end
local function at(line, column) return { position = { line = line, character = column } } end

-- A wrong guard.
local row, column = find("plan.ready")
vim.api.nvim_buf_set_text(buffer, row, column, row, column + #"plan.ready", { "plan.redy" })
wait("the finding", function() return vim.tbl_contains(codes(), "guard-unknown-name") end)

-- What may stand there.
local labels = {}
local offered = ask("textDocument/completion", at(row, column + #"plan."))
for _, item in ipairs(offered.items or offered) do labels[item.label] = true end
if not (labels.ready and labels.data) then fail("`ready` is not offered") end

-- The action of the hint.
local wrong = vim.diagnostic.get(buffer)[1]
local actions = ask("textDocument/codeAction", {
  range = { start = { line = wrong.lnum, character = wrong.col }, ["end"] = { line = wrong.end_lnum, character = wrong.end_col } },
  context = { diagnostics = { wrong.user_data.lsp } },
})
if #actions ~= 1 then fail("one action was expected: " .. vim.inspect(actions)) end
vim.lsp.util.apply_workspace_edit(actions[1].edit, client.offset_encoding)
wait("no finding", function() return #codes() == 0 end)

-- A rename, by the editor's own command.
row, column = find("[artifact.plan]")
vim.api.nvim_win_set_cursor(0, { row + 1, column + #"[artifact." })
vim.lsp.buf.rename("blueprint")
wait("the rename", function()
  local text = table.concat(lines(), "\n")
  return text:find("[artifact.blueprint]", 1, true) and text:find('aliases = ["plan"]', 1, true)
end)
if table.concat(lines(), "\n"):find("plan.ready &&", 1, true) then fail("a guard was forgotten") end
wait("findings of the renamed", function() return #codes() == 0 end)

-- Formatting changes nothing: the diagram names phases and rules.
local before = table.concat(lines(), "\n")
vim.lsp.buf.format({ async = false, timeout_ms = 20000 })
if table.concat(lines(), "\n") ~= before then fail("the diagram was up to date") end
vim.cmd.write()
client:stop()
wait("the end of the server", function() return client:is_stopped() end)
print("Neovim: opened, found, completed, mended, renamed, saved\n")
