--- `:Planwright`: what the server can do, by its own list, and what is done here.
local client = require('planwright.client')
local glue = require('planwright.glue')

local M = {}

--- Done here, without the server.
---@type table<string, fun()>
local own = {
  hunks = function()
    require('planwright.hunks').quickfix()
  end,
  gates = function()
    require('planwright.asks').pick()
  end,
  tasks = function()
    require('planwright.tasks').pick()
  end,
  next = function()
    require('planwright.hunks').go(1)
  end,
  previous = function()
    require('planwright.hunks').go(-1)
  end,
}

--- Commands that are about a place, the cursor's or the range's.
local at_a_place = { plan = true, changeItem = true, fixProblem = true, ask = true }

--- Commands that are about no task.
local of_no_task = { schema = true, doctor = true, clean = true, nextHunk = true, previousHunk = true }

--- Commands that are about the hunk at the cursor, where no other is named.
local at_a_hunk = { accept = true, reject = true }

--- What the server says it can do, without `planwright.`.
---@return string[]
local function served()
  local server = client.get()
  local provider = server and server.server_capabilities.executeCommandProvider or {}
  return vim.tbl_map(function(id)
    return (id:gsub('^planwright%.', ''))
  end, provider.commands or {})
end

--- All words that may follow `:Planwright`.
function M.names()
  local names = vim.tbl_keys(own)
  vim.list_extend(names, served())
  table.sort(names)
  return vim.fn.uniq(names)
end

---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local before = vim.split(vim.trim(line:sub(1, #line - #lead)), '%s+')
  -- A range may stand before the command itself; only its first word is completed.
  if #before > 1 then
    return {}
  end
  return vim.tbl_filter(function(name)
    return vim.startswith(name, lead)
  end, M.names())
end

---@param given vim.api.keyset.create_user_command.command_args
function M.run(given)
  local words = vim.deepcopy(given.fargs)
  local name = table.remove(words, 1)
  if not name then
    own.tasks()
    return
  end
  if own[name] then
    own[name]()
    return
  end
  local server = client.get()
  if not server then
    client.say(client.ABSENT, vim.log.levels.WARN)
    return
  end
  if not vim.list_contains(served(), name) then
    client.say(("no command '%s'; complete with <Tab> to see them"):format(name), vim.log.levels.ERROR)
    return
  end
  local hunk = at_a_hunk[name] and #words == 0 and require('planwright.hunks').at_cursor()
  if name == 'reject' and hunk then
    require('planwright.hunks').reject()
  elseif hunk then
    client.act(name, { { task = hunk.task, hunk = hunk.id } })
  elseif at_a_place[name] then
    -- Without a range both are the cursor's.
    local place = client.place(server, given.line1, given.line2)
    local takes = glue.words[name]
    if takes and #words > 0 then
      place[takes.field] = table.concat(words, ' ')
    end
    glue.perform({ command = name, arguments = { place } }, 0)
  elseif #words > 0 then
    client.act(name, words)
  else
    -- In a task's own page or plan, that task is meant.
    local task = vim.api.nvim_buf_get_name(0):match('/%.planwright/tasks/([^/]+)/[^/]+$')
    local arguments = task and not of_no_task[name] and { { task = task } } or {}
    glue.perform({ command = name, arguments = arguments }, 0)
  end
end

return M
