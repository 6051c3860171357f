-- Loaded by Neovim at start. Cheap: the modules are read when the first file is opened or the first command given.
if vim.g.loaded_planwright then
  return
end
vim.g.loaded_planwright = true

if vim.fn.has('nvim-0.11') == 0 then
  vim.notify_once('planwright needs Neovim 0.11 or newer', vim.log.levels.WARN)
  return
end

vim.api.nvim_create_user_command('Planwright', function(given)
  require('planwright.command').run(given)
end, {
  nargs = '*',
  range = true,
  complete = function(...)
    return require('planwright.command').complete(...)
  end,
  desc = 'planwright: plan, approve, review; see :help planwright',
})

local group = vim.api.nvim_create_augroup('planwright', {})

-- A file that is opened later may have hunks that are known already.
vim.api.nvim_create_autocmd('LspAttach', {
  group = group,
  callback = function(event)
    local client = vim.lsp.get_client_by_id(event.data.client_id)
    if client and client.name == 'planwright' then
      require('planwright.hunks').show(event.buf)
    end
  end,
})

vim.api.nvim_create_autocmd({ 'LspProgress', 'DiagnosticChanged' }, {
  group = group,
  callback = function()
    local reload = require('planwright.pages').reload
    vim.schedule(reload)
    -- The page may be written a moment after the news of it.
    vim.defer_fn(reload, 500)
  end,
})

if vim.g.planwright_enable ~= false then
  vim.lsp.enable('planwright')
end
