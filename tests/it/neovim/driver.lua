-- What the tests ask a real Neovim. Loaded before its own configuration, so that choices and words come from a test
-- instead of a person; everything else is as it is for people.
T = { offered = vim.NIL, chosen = vim.NIL, want = nil, answer = nil, prompts = {}, said = {}, requests = {} }

vim.ui.select = function(items, options, choose)
  local titles = {}
  for n, item in ipairs(items) do
    titles[n] = (options.format_item or tostring)(item)
  end
  T.offered = titles
  for n, title in ipairs(titles) do
    if T.want and title:find(T.want, 1, true) then
      T.chosen, T.chose = title, vim.uv.hrtime()
      choose(items[n], n)
      return
    end
  end
  choose(nil)
end

vim.ui.input = function(options, done)
  table.insert(T.prompts, options.prompt)
  done(T.answer)
end

vim.notify = function(message, level)
  table.insert(T.said, ('%s %s'):format(level or '-', message))
end

-- Runs the code in a file and gives what it returns as JSON.
function T.run(path)
  return vim.json.encode({ assert(loadfile(path))() })
end

-- Asks for the actions at the cursor; the one whose title has these words is done.
function T.act(words)
  T.want, T.offered, T.chosen = words, vim.NIL, vim.NIL
  vim.lsp.buf.code_action()
end

-- Puts the cursor on these words, where they stand first. `false` = there is none.
function T.at(words)
  for n, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, true)) do
    local column = line:find(words, 1, true)
    if column then
      vim.api.nvim_win_set_cursor(0, { n, column - 1 })
      return true
    end
  end
  return false
end

-- The buffer of a file, by the end of its name.
function T.buffer(name)
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.endswith(vim.api.nvim_buf_get_name(buffer), name) then
      return buffer
    end
  end
end

function T.text(name)
  local buffer = T.buffer(name)
  if not buffer or not vim.api.nvim_buf_is_loaded(buffer) then
    return vim.NIL
  end
  return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, true), '\n')
end

-- Diagnostics of a file, one line each: where, code, first line of the message.
function T.diagnostics(name)
  local buffer = T.buffer(name)
  local lines = {}
  for _, found in ipairs(buffer and vim.diagnostic.get(buffer) or {}) do
    lines[#lines + 1] = ('%d %s %s'):format(found.lnum + 1, tostring(found.code), vim.split(found.message, '\n')[1])
  end
  table.sort(lines)
  return lines
end

-- Ids of the hunks that diagnostics name in a file, from the top.
function T.hunks(name)
  local buffer = T.buffer(name)
  local found = {}
  for _, one in ipairs(buffer and vim.diagnostic.get(buffer) or {}) do
    if tostring(one.code):match('^h%x%x%x%x%x%x%x%x$') then
      found[#found + 1] = { one.lnum, one.code, one.message }
    end
  end
  table.sort(found, function(a, b)
    return a[1] < b[1]
  end)
  return vim.tbl_map(function(one)
    return { id = one[2], line = one[1] + 1, message = one[3] }
  end, found)
end

-- Text that is drawn and not there, from the top of the current buffer.
function T.drawn()
  local space = vim.api.nvim_get_namespaces()['planwright.hunks']
  local lines = {}
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, space, 0, -1, { details = true })) do
    for _, line in ipairs(mark[4].virt_lines or {}) do
      lines[#lines + 1] = ('%d %s'):format(mark[2] + 1, line[1][1])
    end
    for _, part in ipairs(mark[4].virt_text or {}) do
      lines[#lines + 1] = ('%d %s'):format(mark[2] + 1, part[1])
    end
  end
  return lines
end

-- Keys of the plugin in the current buffer.
function T.keys()
  local keys = {}
  for _, map in ipairs(vim.api.nvim_buf_get_keymap(0, 'n')) do
    if (map.desc or ''):find('planwright', 1, true) then
      keys[#keys + 1] = map.lhs
    end
  end
  table.sort(keys)
  return keys
end

-- Servers of ours, by process id.
function T.servers()
  local found = {}
  for _, client in ipairs(vim.lsp.get_clients({ name = 'planwright' })) do
    found[#found + 1] = client.initialized and (client.root_dir or '?') or nil
  end
  return found
end

-- Sends a command of the server, without waiting.
function T.command(name, arguments)
  local client = vim.lsp.get_clients({ name = 'planwright' })[1]
  client:request('workspace/executeCommand', { command = 'planwright.' .. name, arguments = { arguments } })
end
