--- What the server and this plugin say to each other beyond stock LSP.
local asks = require('planwright.asks')
local client = require('planwright.client')
local hunks = require('planwright.hunks')
local tasks = require('planwright.tasks')

local M = {}

--- Notifications of the server.
M.handlers = {
  ['planwright/hunks'] = function(_, said)
    hunks.update(said)
  end,
  ['planwright/tasks'] = function(_, said)
    tasks.update(said)
  end,
  ['planwright/ask'] = function(_, said)
    asks.update(said)
  end,
}

--- Commands that take words: the field that the words go into, and what is asked.
---@type table<string, { field: string, prompt: string }>
M.words = {
  plan = { field = 'goal', prompt = 'Goal' },
  changeItem = { field = 'words', prompt = 'Change this item' },
  ask = { field = 'words', prompt = 'Ask' },
  say = { field = 'words', prompt = 'Instruction for the next request' },
  revise = { field = 'words', prompt = 'Change the plan' },
  answer = { field = 'words', prompt = 'Answer' },
}

--- Runs a command of the server; asks for its words first where it takes some and has none.
---@param command { command: string, arguments?: any[] }
---@param buffer integer
function M.perform(command, buffer)
  local name = (command.command:gsub('^planwright%.', ''))
  local arguments = vim.deepcopy(command.arguments or {})
  local takes = M.words[name]
  local fields = arguments[1]
  local bare = type(fields) == 'table' and not vim.islist(fields) and (fields[takes and takes.field] or '') == ''
  if takes and (bare or #arguments == 0) then
    client.words(takes.prompt, function(words)
      client.act(name, { vim.tbl_extend('force', fields or {}, { [takes.field] = words }) }, buffer)
    end)
  else
    client.act(name, arguments, buffer)
  end
end

--- Code actions and lenses with these commands come here first, to be given their words.
M.commands = {}
for name in pairs(M.words) do
  M.commands['planwright.' .. name] = function(command, context)
    M.perform(command, context.bufnr or 0)
  end
end

--- The server has gone: nothing stays on the screen that it would no longer keep true.
M.on_exit = vim.schedule_wrap(function()
  hunks.clear()
  asks.clear()
  tasks.clear()
end)

return M
