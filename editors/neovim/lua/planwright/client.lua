--- The way to the server: which client it is, and how it is asked to act.
local M = {}

--- What is said where no server is.
M.ABSENT = 'planwright is not running here; open a file of a git repository, then see :checkhealth planwright'

---@param message string
---@param level? integer
function M.say(message, level)
  vim.notify('planwright: ' .. message, level or vim.log.levels.INFO)
end

--- The client of a buffer; where it has none, the only one there is.
---@param buffer? integer
---@return vim.lsp.Client?
function M.get(buffer)
  local here = vim.lsp.get_clients({ name = 'planwright', bufnr = buffer or 0 })
  if here[1] then
    return here[1]
  end
  local all = vim.lsp.get_clients({ name = 'planwright' })
  return #all == 1 and all[1] or nil
end

--- Sends a command of the server. It answers at once with nothing; what comes of it comes by notification.
---@param name string without `planwright.`
---@param arguments? any[]
---@param buffer? integer
function M.act(name, arguments, buffer)
  local client = M.get(buffer)
  if not client then
    M.say(M.ABSENT, vim.log.levels.WARN)
    return
  end
  local params = { command = 'planwright.' .. name, arguments = arguments or {} }
  -- Of no buffer: Neovim then tells of what was typed in any of them first, and with 0 of nothing (seen in 0.11.4).
  client:request('workspace/executeCommand', params, function(err)
    if err then
      M.say(err.message, vim.log.levels.ERROR)
    end
  end)
end

--- Where the cursor, or a range of lines, is: the fields by which commands name a place. Empty in a file that is not
--- the server's.
---@param client vim.lsp.Client
---@param first integer from 1
---@param last integer
---@return { path?: string, line?: integer, last?: integer }
function M.place(client, first, last)
  local path = client.root_dir and vim.fs.relpath(client.root_dir, vim.api.nvim_buf_get_name(0))
  return path and { path = path, line = first, last = last } or vim.empty_dict()
end

--- Asks for words, then goes on with them; an empty answer is a change of mind.
---@param prompt string
---@param go_on fun(words: string)
function M.words(prompt, go_on)
  vim.ui.input({ prompt = prompt .. ': ' }, function(words)
    if words and vim.trim(words) ~= '' then
      go_on(vim.trim(words))
    end
  end)
end

return M
