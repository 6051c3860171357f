-- planwright in Neovim 0.11 or newer without a plugin: paste this into init.lua.
vim.lsp.config('planwright', {
  cmd = { 'planwright', 'lsp' },
  -- Named one by one, so that a commit message (`gitcommit`) starts nothing. Add yours.
  filetypes = { 'c', 'cpp', 'go', 'javascript', 'lua', 'markdown', 'python', 'rust', 'toml', 'typescript', 'yaml' },
  root_markers = { '.git' },
  workspace_required = true, -- a file outside of a repository starts no second server
  on_attach = function(client) -- the lines of a proposal under the place where they go
    vim.diagnostic.config({ virtual_lines = true }, vim.lsp.diagnostic.get_namespace(client.id))
  end,
})
vim.lsp.enable('planwright')
-- planwright writes its pages to disk; read them again as they change, unless you have edited them.
local function reload()
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    local page = vim.api.nvim_buf_is_loaded(buffer) and vim.api.nvim_buf_get_name(buffer):find('/.planwright/', 1, true)
    if page and not vim.bo[buffer].modified then vim.cmd.checktime(buffer) end
  end
end
vim.api.nvim_create_autocmd({ 'LspProgress', 'DiagnosticChanged' }, {
  callback = function() -- the page may be written a moment after the news of it
    vim.schedule(reload)
    vim.defer_fn(reload, 500)
  end,
})
