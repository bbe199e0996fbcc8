-- Tables of Hive: files in folders that name the values of partition columns, `a=1/b=2/`.

local internal = require("lakefs/catalogexport/internal")
local path = require("path")
local regexp = require("regexp")

-- Returns a function of a path that returns its partition, such as `t/a=1/b=2`; "" for a table
-- without partitions, nil for a file outside of them.
local function partition_finder(base_path, columns)
  if #columns == 0 then
    return function()
      return ""
    end
  end
  local pattern = "^" .. regexp.quote_meta(base_path) .. "/"
  for _, column in ipairs(columns) do
    pattern = pattern .. regexp.quote_meta(column) .. "=[^/]*/"
  end
  local compiled = regexp.compile(pattern)
  return function(file)
    local found = compiled.find(file)
    return found ~= "" and found:sub(1, -2) or nil
  end
end

-- Returns an iterator over the partitions of a table: the partition and its files. The files of a
-- partition follow each other in a listing, so only those of one are held at a time.
local function extract_partition_pager(client, repository, commit_id, base_path, columns, page_size)
  base_path = (base_path:gsub("/+$", ""))
  local find_partition = partition_finder(base_path, columns)
  local pager = internal.lakefs_object_pager(
    client, repository, commit_id, "", base_path .. "/", "", page_size
  )
  local page, at, begun, is_done = {}, 0, nil, false

  -- Returns the next file with its partition.
  local function next_file()
    while not is_done do
      at = at + 1
      local entry = page[at]
      if entry == nil then
        page, at = pager(), 0
        is_done = page == nil
      elseif not path.is_hidden(path.parse(entry.path).base_name) then
        local partition = find_partition(entry.path)
        if partition then
          return partition, {
            path = entry.path,
            physical_address = entry.physical_address,
            size = entry.size_bytes,
            checksum = entry.checksum,
          }
        end
      end
    end
  end

  return function()
    local partition, file
    if begun then
      partition, file = begun.partition, begun.file
    else
      partition, file = next_file()
    end
    if not partition then
      return nil
    end
    begun = nil
    local files = { file }
    while true do
      local following, other = next_file()
      if following ~= partition then
        begun = following and { partition = following, file = other }
        return partition, files
      end
      files[#files + 1] = other
    end
  end
end

return { extract_partition_pager = extract_partition_pager }
