--- Tasks as the server told them last: a picker, and words for the status line.
local asks = require('planwright.asks')
local client = require('planwright.client')
local hunks = require('planwright.hunks')

local M = {}

---@class planwright.Task
---@field task string its id
---@field goal string
---@field words string its state
---@field waits boolean for a person
---@field pending integer hunks
---@field page? string address of its page

---@type planwright.Task[]
local tasks = {}

---@param said { tasks: planwright.Task[] }
function M.update(said)
  tasks = said.tasks
  vim.cmd.redrawstatus()
end

function M.clear()
  tasks = {}
end

---@param task planwright.Task
local function line(task)
  local mark = task.waits and '●' or ' '
  return ('%s %s  %s  %s'):format(mark, task.task, task.words, (task.goal:gsub('%s+', ' ')))
end

--- Picks a task and opens its page.
function M.pick()
  if not client.get() then
    client.say(client.ABSENT, vim.log.levels.WARN)
    return
  end
  if #tasks == 0 then
    client.say('no tasks yet; :Planwright plan makes one')
    return
  end
  vim.ui.select(tasks, { prompt = 'Tasks', kind = 'planwright.task', format_item = line }, function(task)
    if not task then
      return
    end
    if task.page and task.page ~= vim.NIL then
      vim.cmd.edit(vim.fn.fnameescape(vim.uri_to_fname(task.page)))
    else
      client.act('openPlan', { { task = task.task } })
    end
  end)
end

--- What happens now, in a few words; empty where nothing does.
---@return string
function M.status()
  local parts = {}
  local server = vim.lsp.get_clients({ name = 'planwright' })[1]
  if not server then
    return ''
  end
  local titles = vim.tbl_values(server.progress.pending or {})
  if titles[1] then
    parts[#parts + 1] = tostring(titles[1]) .. (#titles > 1 and (' +%d'):format(#titles - 1) or '')
  end
  for _, counted in ipairs({ { asks.count(), 'to answer' }, { hunks.count(), 'hunks' } }) do
    if counted[1] > 0 then
      parts[#parts + 1] = ('%d %s'):format(counted[1], counted[2])
    end
  end
  return table.concat(parts, ' · ')
end

return M
