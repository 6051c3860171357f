--- Gates and questions that wait for a person. They wait here until they are asked for: nothing pops up.
local client = require('planwright.client')

local M = {}

---@class planwright.Ask
---@field task string
---@field gate? string of a gate
---@field question? integer of a question in the plan
---@field asked string
---@field detail? string
---@field answers { title: string, command: string, arguments?: any[] }[]

---@type planwright.Ask[]
local waiting = {}

--- Takes in what waits; the whole of it, each time.
---@param said { gates: planwright.Ask[] }
function M.update(said)
  waiting = said.gates
  vim.cmd.redrawstatus()
end

function M.clear()
  waiting = {}
end

function M.count()
  return #waiting
end

---@param ask planwright.Ask
local function decide(ask)
  local prompt = ask.asked
  if ask.detail and ask.detail ~= vim.NIL and ask.detail ~= '' then
    prompt = prompt .. '\n' .. ask.detail
  end
  vim.ui.select(ask.answers, {
    prompt = prompt,
    kind = 'planwright.gate',
    format_item = function(answer)
      return answer.title
    end,
  }, function(answer)
    -- Closed without a choice: nothing was decided, it goes on waiting.
    if answer then
      require('planwright.glue').perform(answer, 0)
    end
  end)
end

--- Shows what waits, one after the other as they are picked.
function M.pick()
  if #waiting == 0 then
    client.say('nothing waits for an answer')
  elseif #waiting == 1 then
    decide(waiting[1])
  else
    vim.ui.select(waiting, {
      prompt = 'What waits for you',
      kind = 'planwright.ask',
      format_item = function(ask)
        return ('%s: %s'):format(ask.task, (ask.asked:gsub('%s+', ' ')))
      end,
    }, function(ask)
      if ask then
        decide(ask)
      end
    end)
  end
end

return M
