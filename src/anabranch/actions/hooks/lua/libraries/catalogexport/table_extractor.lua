-- Descriptors of tables: YAML files under `_lakefs_tables/`.

local internal = require("lakefs/catalogexport/internal")
local path = require("path")
local strings = require("strings")
local yaml = require("encoding/yaml")

local FOLDER = "_lakefs_tables/"

local function is_descriptor(entry)
  return entry.path_type == "object"
    and strings.has_suffix(entry.path, ".yaml")
    and not path.is_hidden(path.parse(entry.path).base_name)
end

-- Returns the paths and addresses of all descriptors.
local function list_table_descriptor_entries(client, repository, commit_id)
  local found = {}
  for page in internal.lakefs_object_pager(client, repository, commit_id, "", FOLDER) do
    for _, entry in ipairs(page) do
      if is_descriptor(entry) then
        found[#found + 1] = { path = entry.path, physical_address = entry.physical_address }
      end
    end
  end
  return found
end

-- Returns the descriptor at a path.
local function get_table_descriptor(client, repository, commit_id, descriptor_path)
  local status, content = client.get_object(repository, commit_id, descriptor_path)
  if status ~= 200 then
    error("could not read the table descriptor " .. descriptor_path .. ": status " .. status)
  end
  local descriptor = yaml.unmarshal(content)
  if type(descriptor) ~= "table" then
    error("the table descriptor " .. descriptor_path .. " is not a mapping")
  end
  descriptor.partition_columns = descriptor.partition_columns or array({})
  return descriptor
end

return {
  get_table_descriptor = get_table_descriptor,
  list_table_descriptor_entries = list_table_descriptor_entries,
}
