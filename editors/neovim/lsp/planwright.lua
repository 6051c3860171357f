-- How Neovim starts the server. Everything here can be overridden: `vim.lsp.config('planwright', { … })`.
local glue = require('planwright.glue')

return {
  cmd = { 'planwright', 'lsp' },
  -- Named one by one, so that a commit message (`gitcommit`) starts nothing.
  filetypes = require('planwright.config').filetypes,
  root_markers = { '.git' },
  -- Without it, a file outside of the repository would start a second server with no root.
  workspace_required = true,
  -- Hunks, tasks and questions come as notifications, and words are asked for here.
  init_options = { glue = true, goalInput = true },
  handlers = glue.handlers,
  commands = glue.commands,
  -- Hunks are drawn at their places; marked as diagnostics too they would be hard to read. What is wrong in a plan is more
  -- than information, and is marked.
  on_attach = function(client)
    local marked = { severity = { min = vim.diagnostic.severity.WARN } }
    vim.diagnostic.config({ underline = marked, signs = marked }, vim.lsp.diagnostic.get_namespace(client.id))
  end,
  on_exit = glue.on_exit,
}
