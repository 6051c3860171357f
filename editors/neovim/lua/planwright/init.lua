--- planwright in Neovim: what a user's own configuration calls. See `:help planwright`.
---
--- All knowledge of tasks, plans and hunks is the server's. This plugin shows it and passes decisions on; it opens no
--- window, takes no key and moves no cursor but in answer to a command or a key of the user.
local M = {}

--- Settings; not needed where the defaults will do.
---@param settings? { keys?: table<string, string|false>|false }
function M.setup(settings)
  require('planwright.config').set(settings)
end

--- For the status line: `%{v:lua.require'planwright'.status()}`.
---@return string
function M.status()
  return require('planwright.tasks').status()
end

return M
