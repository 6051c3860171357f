--- What a user can set. Holds no state but the settings.
local M = {}

--- Kinds of files that start the server. A list, because a commit message shall not.
M.filetypes = {
  'c',
  'cpp',
  'cs',
  'css',
  'go',
  'haskell',
  'html',
  'java',
  'javascript',
  'javascriptreact',
  'json',
  'kotlin',
  'lua',
  'markdown',
  'php',
  'python',
  'ruby',
  'rust',
  'scala',
  'sh',
  'sql',
  'swift',
  'text',
  'toml',
  'typescript',
  'typescriptreact',
  'vim',
  'yaml',
  'zig',
}

--- Keys, in buffers that have hunks and nowhere else; `false` = none. Off a hunk each does what it did before.
M.keys = {
  accept = 'ga',
  reject = 'gx',
  next = ']h',
  previous = '[h',
}

--- Takes a user's settings.
---@param given? { keys?: table<string, string|false>|false }
function M.set(given)
  given = given or {}
  vim.validate('planwright.setup', given, 'table')
  for name in pairs(given) do
    if name ~= 'keys' then
      error(("planwright.setup: unknown setting '%s'; there is only 'keys'"):format(name), 2)
    end
  end
  if given.keys == false then
    M.keys = {}
    return
  end
  for name, key in pairs(given.keys or {}) do
    if M.keys[name] == nil then
      error(("planwright.setup: unknown key '%s'; there are accept, reject, next and previous"):format(name), 2)
    end
    M.keys[name] = key
  end
end

return M
