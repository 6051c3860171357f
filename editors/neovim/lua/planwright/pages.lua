--- The server's pages (`.planwright/…`), which it writes to disk while they are open here.
---
--- Only pages, and only clean ones, are read again: a page with unsaved edits stays as it is, without a question.
local M = {}

---@param buffer integer
local function is_page(buffer)
  return vim.api.nvim_buf_is_loaded(buffer) and vim.api.nvim_buf_get_name(buffer):find('/.planwright/', 1, true) ~= nil
end

--- Reads every page again whose file has changed.
function M.reload()
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if is_page(buffer) and not vim.bo[buffer].modified then
      vim.cmd.checktime(buffer)
    end
  end
end

return M
