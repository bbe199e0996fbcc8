-- Logs of Delta Lake tables whose files are named by their physical addresses, so that programs can
-- read the tables without lakeFS.

local extractor = require("lakefs/catalogexport/table_extractor")
local internal = require("lakefs/catalogexport/internal")
local json = require("encoding/json")
local lakefs = require("lakefs")
local path = require("path")
local strings = require("strings")
local url = require("net/url")
local z85 = require("encoding/z85")

local function get_descriptor(repository, reference, name, folder)
  local file = strings.has_suffix(name, ".yaml") and name or name .. ".yaml"
  local place = path.join("/", folder, file)
  local descriptor = extractor.get_table_descriptor(lakefs, repository, reference, place)
  for _, field in ipairs({ "path", "name" }) do
    if not descriptor[field] then
      error("the table descriptor " .. place .. " has no " .. field)
    end
  end
  return descriptor
end

-- Returns a function that returns the physical address of a file of a table, nil if it is missing.
local function address_finder(repository, commit_id, table_path, transform)
  return function(relative)
    local file = path.join("/", table_path, relative)
    local status, content = lakefs.stat_object(repository, commit_id, file)
    if status == 404 then
      return nil
    elseif status ~= 200 then
      error("cannot look up " .. file .. ": status " .. tostring(status))
    end
    local parts = url.parse(json.unmarshal(content).physical_address)
    local address = url.build_url(parts.scheme, parts.host, parts.path)
    return transform and transform(address) or address
  end
end

-- Names the file of a deletion vector by its address. Returns whether it exists.
local function export_deletion_vector(vector, find_address)
  if not vector or vector.storageType ~= "u" then
    return true
  end
  local id, prefix = z85.decode_uuid(vector.pathOrInlineDv)
  local address = find_address(path.join("/", prefix, "deletion_vector_" .. id .. ".bin"))
  if address then
    vector.storageType, vector.pathOrInlineDv = "p", address
  end
  return address ~= nil
end

-- Returns an action of the log with addresses in place of relative paths. A file that is missing is
-- added to `missing`, unless the action removes it: then it was vacuumed.
local function export_action(text, find_address, missing)
  local action = json.unmarshal(text)
  local file = action.add or action.remove
  if file and not file.path:find("^%w+:") then
    local relative = url.query_unescape((file.path:gsub("%+", "%%2B")))
    local address = find_address(relative)
    if address then
      file.path = address
    end
    local is_whole = export_deletion_vector(file.deletionVector, find_address)
    if action.add and not (address and is_whole) then
      missing[#missing + 1] = relative
    end
  end
  return json.marshal(action)
end

-- Exports the logs of tables. `write(bucket, key, content)` stores an object; `client` is one of
-- `formats`; `transform` changes addresses. Returns the address and the metadata of each table.
local function export_delta_log(event, table_names, write, client, descriptors_path, transform)
  local repository, commit_id = event.repository_id, event.commit_id
  if not commit_id or commit_id == "" then
    error("the event " .. event.event_type .. " has no commit")
  end
  local prefix = internal.get_storage_uri_prefix(event.storage_namespace, commit_id, event)
  local exported = {}
  for _, name in ipairs(table_names) do
    local descriptor = get_descriptor(repository, commit_id, name, descriptors_path)
    local log, metadata = client.get_table(repository, commit_id, descriptor.path)
    local find_address = address_finder(repository, commit_id, descriptor.path, transform)
    local missing, versions = {}, {}
    for _, version in ipairs(internal.sortedKeys(log)) do
      local actions = {}
      for number, text in ipairs(log[version]) do
        actions[number] = export_action(text, find_address, missing)
      end
      versions[#versions + 1] = table.concat(actions)
    end
    if #missing > 0 then
      error("files of the table " .. name .. " are missing: " .. table.concat(missing, ", "))
    end
    local address = path.join("/", prefix, descriptor.name)
    local location = internal.parse_storage_uri(address)
    for number, content in ipairs(versions) do
      local file = string.format("_delta_log/%020d.json", number - 1)
      write(location.bucket, path.join("/", location.key, file), content)
    end
    exported[name] = { path = transform and transform(address) or address, metadata = metadata }
  end
  return exported
end

-- Returns those of the tables that have changes between two references.
local function changed_table_defs(table_names, descriptors_path, repository, reference, compared)
  local changed = {}
  for _, name in ipairs(table_names) do
    local descriptor = get_descriptor(repository, compared, name, descriptors_path)
    local folder = (descriptor.path:gsub("/+$", "")) .. "/"
    local status, page = lakefs.diff_refs(repository, reference, compared, "", folder, "", 1)
    if status ~= 200 then
      error("the comparison failed with status " .. tostring(status))
    end
    if #page.results > 0 then
      changed[#changed + 1] = name
    end
  end
  return changed
end

return { changed_table_defs = changed_table_defs, export_delta_log = export_delta_log }
