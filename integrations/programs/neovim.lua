-- What somebody does in Neovim with coldfork's server, and what they see; printed line by line.

local function say(...) io.stdout:write(string.format(...) .. "\n") end
local function wait(holds) return vim.wait(120000, holds, 50) end

local function marked()
  for _, one in ipairs(vim.diagnostic.get(0)) do
    say("line %d: %s [%s]", one.lnum + 1, vim.split(one.message, "\n")[1], one.code)
  end
end

-- Diagnostics as the protocol has them, which code actions are asked about.
local function diagnostics()
  return vim.tbl_map(function(one)
    local range = {
      start = { line = one.lnum, character = one.col },
      ["end"] = { line = one.end_lnum, character = one.end_col },
    }
    local known = { range = range, message = one.message, source = one.source, code = one.code }
    return vim.tbl_extend("force", one.user_data.lsp, known)
  end, vim.diagnostic.get(0))
end

vim.cmd("silent edit src/engine/names.py")
local client = vim.lsp.start_client({ name = "coldfork", cmd = { vim.env.COLDFORK, "lsp" }, root_dir = vim.fn.getcwd() })
vim.lsp.buf_attach_client(0, client)
say("opened: %s", wait(function() return #vim.diagnostic.get(0) > 0 end) and "marked" or "nothing is marked")
marked()

local params = vim.lsp.util.make_range_params()
params.context = { diagnostics = diagnostics() }
local answer = vim.lsp.buf_request_sync(0, "textDocument/codeAction", params, 60000)[client]
for _, action in ipairs(answer.result) do say("offered: %s", action.title) end
local chosen = answer.result[1]
local resolved = vim.lsp.buf_request_sync(0, "codeAction/resolve", chosen, 60000)[client].result
vim.lsp.util.apply_workspace_edit((resolved or chosen).edit, vim.lsp.get_client_by_id(client).offset_encoding)
say("%s", table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n"))
say("mended: %s", wait(function() return #vim.diagnostic.get(0) == 0 end) and "nothing is marked" or "still marked")

vim.cmd("silent undo")
say("undone: %s", wait(function() return #vim.diagnostic.get(0) > 0 end) and "marked" or "nothing is marked")
marked()
vim.lsp.stop_client(client)
say("stopped: %s", wait(function() return vim.lsp.client_is_stopped(client) end) and "the server has ended" or "no")
vim.cmd("quitall!")
