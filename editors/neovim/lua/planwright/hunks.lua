--- Hunks at their places: the lines that go and the lines that come, and keys to decide.
---
--- The server says where each hunk is and says so again after every edit. What is drawn here moves with the text in
--- between and decides nothing.
local client = require('planwright.client')
local config = require('planwright.config')

local M = {}

local marks = vim.api.nvim_create_namespace('planwright.hunks')

---@class planwright.Hunk
---@field id string
---@field task string
---@field range lsp.Range the lines that stand there now, without the last ending; empty where lines are put in
---@field old string
---@field new string
---@field here? string what stands there, where that is neither the old nor the new text
---@field step string
---@field reason string
---@field flags string[]
---@field verdict string
---@field state string `open`, `accepted, not saved` or `touched`

--- What the server said last of each file.
---@type table<string, planwright.Hunk[]>
local files = {}

--- Which mark stands for which hunk, by buffer.
---@type table<integer, table<integer, planwright.Hunk>>
local drawn = {}

--- Keys that were set here, by buffer.
---@type table<integer, string[]>
local keyed = {}

for name, link in pairs({
  PlanwrightOld = 'DiffDelete',
  PlanwrightNew = 'DiffAdd',
  PlanwrightNote = 'Comment',
  PlanwrightSign = 'DiagnosticSignInfo',
}) do
  vim.api.nvim_set_hl(0, name, { link = link, default = true })
end

---@param text? string
---@return string[]
local function lines_of(text)
  if not text or text == '' then
    return {}
  end
  return vim.split((text:gsub('\r?\n$', '')), '\r?\n')
end

--- Still waits for a decision.
---@param hunk planwright.Hunk
local function is_open(hunk)
  return hunk.state == 'open'
end

--- What stands above the lines of a hunk.
---@param hunk planwright.Hunk
local function note(hunk)
  local parts = { hunk.id, ('%s: %s'):format(hunk.step, hunk.reason), hunk.verdict }
  vim.list_extend(parts, hunk.flags)
  return (table.concat(parts, ' · '):gsub('%s+', ' '))
end

--- The rows that a hunk covers now, the last one exclusive. Lines that are put in cover none and stand before the
--- first; at the end of a file the server names the end of its last line instead.
---@param hunk planwright.Hunk
---@param count integer lines of the buffer
local function rows(hunk, count)
  local from, to = hunk.range.start, hunk.range['end']
  local empty = from.line == to.line and from.character == to.character and (not is_open(hunk) or hunk.old == '')
  local first = empty and from.character > 0 and from.line + 1 or from.line
  local past = empty and first or to.line + 1
  return math.min(first, count), math.min(past, count)
end

--- Marks rows in the sign column, each by itself: one mark for all would also be seen at the row past the last.
---@param buffer integer
---@param first integer
---@param past integer
---@param text string
local function sign(buffer, first, past, text)
  for row = first, math.max(past, first + 1) - 1 do
    local options = { strict = false, sign_text = text, sign_hl_group = 'PlanwrightSign' }
    vim.api.nvim_buf_set_extmark(buffer, marks, row, 0, options)
  end
end

--- Draws one hunk; gives its mark.
---@param buffer integer
---@param hunk planwright.Hunk
local function draw(buffer, hunk)
  local count = vim.api.nvim_buf_line_count(buffer)
  local first, past = rows(hunk, count)
  if not is_open(hunk) then
    -- Accepted and not saved, or touched by hand: said at the end of its line, nothing drawn over the text.
    sign(buffer, first, past, hunk.state:find('accepted', 1, true) and '✓' or '!')
    return vim.api.nvim_buf_set_extmark(buffer, marks, math.min(first, count - 1), 0, {
      end_row = math.max(past, first),
      strict = false,
      virt_text = { { ('%s %s'):format(hunk.id, hunk.state), 'PlanwrightNote' } },
    })
  end
  local virtual = { { { note(hunk), 'PlanwrightNote' } } }
  for _, line in ipairs(lines_of(hunk.new)) do
    -- A tab would be drawn as `^I`, a blank line as nothing.
    local spaces = (' '):rep(vim.bo[buffer].tabstop)
    virtual[#virtual + 1] = { { line == '' and ' ' or (line:gsub('\t', spaces)), 'PlanwrightNew' } }
  end
  local options = { strict = false, virt_lines = virtual }
  if past > first then
    options.end_row, options.end_col, options.hl_group, options.hl_eol = past, 0, 'PlanwrightOld', true
    sign(buffer, first, past, #virtual > 1 and '~' or '-')
    -- Virtual lines belong below the last old line, and a mark draws them at its first.
    vim.api.nvim_buf_set_extmark(buffer, marks, past - 1, 0, { virt_lines = virtual })
    options.virt_lines = nil
    return vim.api.nvim_buf_set_extmark(buffer, marks, first, 0, options)
  end
  sign(buffer, math.max(first - 1, 0), first, '+')
  if first == 0 then
    options.virt_lines_above = true
    return vim.api.nvim_buf_set_extmark(buffer, marks, 0, 0, options)
  end
  return vim.api.nvim_buf_set_extmark(buffer, marks, first - 1, 0, options)
end

--- Does what a key did before it was ours.
---@param key string
local function as_before(key)
  local wanted = vim.api.nvim_replace_termcodes(key, true, true, true)
  for _, map in ipairs(vim.api.nvim_get_keymap('n')) do
    if vim.api.nvim_replace_termcodes(map.lhs, true, true, true) == wanted then
      if map.callback then
        map.callback()
      else
        local rhs = vim.api.nvim_replace_termcodes(map.rhs or '', true, true, true)
        vim.api.nvim_feedkeys(rhs, map.noremap == 1 and 'n' or 'm', false)
      end
      return
    end
  end
  vim.api.nvim_feedkeys(vim.v.count > 0 and vim.v.count .. wanted or wanted, 'n', false)
end

---@param buffer integer
local function take_keys(buffer)
  if keyed[buffer] then
    return
  end
  keyed[buffer] = {}
  local actions = {
    accept = M.accept,
    reject = M.reject,
    next = function()
      return M.go(vim.v.count1)
    end,
    previous = function()
      return M.go(-vim.v.count1)
    end,
  }
  for name, act in pairs(actions) do
    local key = config.keys[name]
    -- A key that the user, or another plugin, has set in this buffer stays theirs.
    local taken = key and vim.api.nvim_buf_call(buffer, function()
      return vim.fn.maparg(key, 'n', false, true).buffer == 1
    end)
    if key and not taken then
      vim.keymap.set('n', key, function()
        if not act() then
          as_before(key)
        end
      end, { buffer = buffer, desc = ('planwright: %s hunk'):format(name) })
      table.insert(keyed[buffer], key)
    end
  end
end

---@param buffer integer
local function give_keys_back(buffer)
  for _, key in ipairs(keyed[buffer] or {}) do
    pcall(vim.keymap.del, 'n', key, { buffer = buffer })
  end
  keyed[buffer] = nil
end

--- Draws what is known of a buffer's file.
---@param buffer integer
function M.show(buffer)
  if not vim.api.nvim_buf_is_loaded(buffer) then
    return
  end
  vim.api.nvim_buf_clear_namespace(buffer, marks, 0, -1)
  drawn[buffer] = {}
  local hunks = files[vim.uri_from_bufnr(buffer)] or {}
  for _, hunk in ipairs(hunks) do
    drawn[buffer][draw(buffer, hunk)] = hunk
  end
  if #hunks > 0 then
    take_keys(buffer)
  else
    give_keys_back(buffer)
    drawn[buffer] = nil
  end
end

--- The buffer of a file, if it has one; never makes one.
---@param uri string
local function buffer_of(uri)
  local name = vim.uri_to_fname(uri)
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_get_name(buffer) == name then
      return buffer
    end
  end
end

--- Takes in what the server says of a file.
---@param said { uri: string, version?: integer, hunks: planwright.Hunk[] }
function M.update(said)
  local uri = vim.uri_from_fname(vim.uri_to_fname(said.uri))
  files[uri] = #said.hunks > 0 and said.hunks or nil
  local buffer = buffer_of(uri)
  if buffer then
    M.show(buffer)
  end
end

--- Forgets everything, as the server has gone.
function M.clear()
  local uris = vim.tbl_keys(files)
  files = {}
  for _, uri in ipairs(uris) do
    local buffer = buffer_of(uri)
    if buffer then
      M.show(buffer)
    end
  end
end

--- How many wait for a decision, in all files.
function M.count()
  local count = 0
  for _, hunks in pairs(files) do
    count = count + #vim.tbl_filter(is_open, hunks)
  end
  return count
end

--- The hunks of the current buffer with the rows at which they are now, from the top.
---@return { first: integer, last: integer, hunk: planwright.Hunk }[]
local function here()
  local buffer = vim.api.nvim_get_current_buf()
  local found = {}
  for mark, hunk in pairs(drawn[buffer] or {}) do
    local at = vim.api.nvim_buf_get_extmark_by_id(buffer, marks, mark, { details = true })
    if at[1] then
      local last = at[3].end_row and math.max(at[1], at[3].end_row - 1) or at[1]
      -- Lines that are put in stand between two rows; both are theirs.
      local between = is_open(hunk) and hunk.old == '' and at[1] > 0
      found[#found + 1] = { first = at[1], last = between and last + 1 or last, hunk = hunk }
    end
  end
  table.sort(found, function(a, b)
    return a.first < b.first
  end)
  return found
end

--- The hunk at the cursor.
---@return planwright.Hunk?
function M.at_cursor()
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  local touching
  for _, spot in ipairs(here()) do
    if row >= spot.first and row <= spot.last then
      -- Of two that share a row the later begins there, so it is the nearer.
      touching = spot.hunk
    end
  end
  return touching
end

--- Accepts the hunk at the cursor. `false` = there is none.
function M.accept()
  local hunk = M.at_cursor()
  if hunk then
    client.act('accept', { { task = hunk.task, hunk = hunk.id } })
  end
  return hunk ~= nil
end

--- Rejects the hunk at the cursor, with a reason if one is given. `false` = there is none.
function M.reject()
  local hunk = M.at_cursor()
  if not hunk then
    return false
  end
  local buffer = vim.api.nvim_get_current_buf()
  vim.ui.input({ prompt = ('Reject %s, because (may be left empty): '):format(hunk.id) }, function(reason)
    -- Escape is a change of mind, an empty answer is none.
    if reason then
      local words = vim.trim(reason)
      client.act('reject', { { task = hunk.task, hunk = hunk.id, reason = words ~= '' and words or nil } }, buffer)
    end
  end)
  return true
end

--- Goes to a later hunk of this buffer, or to an earlier one, round its end. `false` = there is none.
---@param steps integer
function M.go(steps)
  local spots = here()
  if #spots == 0 then
    return false
  end
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  local at
  if steps > 0 then
    at = steps - 1
    for _, spot in ipairs(spots) do
      at = at + (spot.first <= row and 1 or 0)
    end
  else
    at = #spots + steps
    for _, spot in ipairs(spots) do
      at = at - (spot.first >= row and 1 or 0)
    end
  end
  vim.cmd("normal! m'")
  vim.api.nvim_win_set_cursor(0, { math.min(spots[at % #spots + 1].first + 1, vim.api.nvim_buf_line_count(0)), 0 })
  return true
end

--- Puts the hunks of all files into the quickfix list.
function M.quickfix()
  local items = {}
  for uri, hunks in vim.spairs(files) do
    for _, hunk in ipairs(hunks) do
      local first = lines_of(hunk.new)[1] or lines_of(hunk.old)[1] or ''
      items[#items + 1] = {
        filename = vim.uri_to_fname(uri),
        lnum = hunk.range.start.line + 1,
        text = ('%s: %s'):format(note(hunk), vim.trim(first)),
        type = is_open(hunk) and 'I' or 'N',
      }
    end
  end
  if #items == 0 then
    client.say('no hunks')
    return
  end
  vim.fn.setqflist({}, ' ', { title = 'planwright: hunks', items = items })
  vim.cmd('botright copen')
end

return M
