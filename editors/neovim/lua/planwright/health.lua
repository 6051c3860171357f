--- `:checkhealth planwright`.
local M = {}

local health = vim.health

local function program()
  local config = vim.lsp.config.planwright
  local cmd = config and config.cmd
  if type(cmd) ~= 'table' then
    health.info('the server is started by a function of yours')
    return
  end
  local found = vim.fn.exepath(cmd[1])
  if found == '' then
    health.error(("'%s' is not on the path"):format(cmd[1]), {
      'cargo install --path . in a clone of planwright',
      "or vim.lsp.config('planwright', { cmd = { '/path/to/planwright', 'lsp' } })",
    })
    return
  end
  local said = vim.system({ found, '--version' }, { text = true, timeout = 5000 }):wait()
  if said.code == 0 then
    health.ok(('%s: %s'):format(found, vim.trim(said.stdout)))
  else
    health.error(('%s does not start: %s'):format(found, vim.trim(said.stderr or '')))
  end
end

local function running()
  local clients = vim.lsp.get_clients({ name = 'planwright' })
  if #clients == 0 then
    local advice = { 'open a file of a git repository; its filetype must be in the list below' }
    health.warn('the server is not running', advice)
  end
  for _, client in ipairs(clients) do
    health.ok(('running for %s, %s'):format(client.root_dir or '?', client.offset_encoding))
  end
  if not vim.lsp.is_enabled('planwright') then
    health.warn('it is not enabled', { "vim.lsp.enable('planwright')" })
  end
  local config = vim.lsp.config.planwright
  health.info('filetypes: ' .. (config.filetypes and table.concat(config.filetypes, ' ') or 'all'))
  if not config.workspace_required then
    health.warn('workspace_required is off: a file outside of the repository would start a second server')
  end
  if not vim.o.autoread then
    health.warn("'autoread' is off: pages are not shown again as the server changes them", { 'set autoread' })
  end
end

local function keys()
  for name, key in vim.spairs(require('planwright.config').keys) do
    health.info(('%s hunk: %s'):format(name, key or 'no key'))
  end
end

function M.check()
  health.start('planwright: the program')
  if vim.fn.has('nvim-0.11') == 1 then
    health.ok('Neovim 0.11 or newer')
  else
    health.error('Neovim 0.11 or newer is needed')
    return
  end
  program()
  health.start('planwright: the server')
  running()
  health.start('planwright: keys, in buffers that have hunks')
  keys()
end

return M
