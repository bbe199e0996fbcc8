-- Tables in AWS Glue that read the symlink manifests of `symlink_exporter`.

local extractor = require("lakefs/catalogexport/table_extractor")
local internal = require("lakefs/catalogexport/internal")
local json = require("encoding/json")
local lakefs = require("lakefs")
local path = require("path")

local TYPES = { integer = "int" }

-- Returns the table's name in Glue: one for each branch or tag and commit.
local function get_full_table_name(descriptor, event)
  local reference = internal.ref_from_branch_or_tag(event)
  local commit = internal.short_digest(event.commit_id)
  return table.concat({ descriptor.name, event.repository_id, reference, commit }, "_")
end

local function glue_column(field)
  return {
    Name = field.name,
    Type = TYPES[field.type] or field.type,
    Comment = field.comment,
    Parameters = field.parameters,
  }
end

-- Returns the columns of the files, and those of partitions in their order in paths.
local function glue_columns(descriptor)
  local fields = descriptor.schema and descriptor.schema.fields or {}
  local by_name, is_partition = {}, {}
  for _, field in ipairs(fields) do
    by_name[field.name] = field
  end
  local partitions, columns = array({}), array({})
  for _, name in ipairs(descriptor.partition_columns) do
    if not by_name[name] then
      error("the schema of the table " .. descriptor.name .. " has no partition column " .. name)
    end
    is_partition[name] = true
    partitions[#partitions + 1] = glue_column(by_name[name])
  end
  for _, field in ipairs(fields) do
    if not is_partition[field.name] then
      columns[#columns + 1] = glue_column(field)
    end
  end
  return columns, partitions
end

-- Returns Glue's TableInput: `base_input` with name, columns and location.
local function build_glue_create_table_input(base_input, descriptor, event, options)
  options = options or {}
  local input = internal.deepcopy(base_input or {})
  local base = options.export_base_uri or event.storage_namespace
  local prefix = internal.get_storage_uri_prefix(base, event.commit_id, event)
  local columns, partitions = glue_columns(descriptor)
  input.Name = options.table_name or get_full_table_name(descriptor, event)
  input.TableType = "EXTERNAL_TABLE"
  input.PartitionKeys = partitions
  input.StorageDescriptor = input.StorageDescriptor or {}
  input.StorageDescriptor.Columns = columns
  input.StorageDescriptor.Location = path.join("/", prefix, descriptor.name)
  return input
end

-- Creates the table, or updates it if a run before has created it. Options: `table_name`,
-- `create_table_input` in place of what is made from the descriptor, `export_base_uri`, `debug`.
local function export_glue(glue, database, descriptor_path, base_input, event, options)
  options = options or {}
  local input = options.create_table_input
  if not input then
    local descriptor = extractor.get_table_descriptor(
      lakefs, event.repository_id, event.commit_id, descriptor_path
    )
    if descriptor.type ~= "hive" then
      error("tables of type " .. tostring(descriptor.type) .. " cannot be exported to Glue")
    end
    input = build_glue_create_table_input(base_input, descriptor, event, options)
  end
  local text = json.marshal(input)
  if options.debug then
    print("Glue table: " .. text)
  end
  local _, exists = glue.get_table(database, input.Name)
  if exists then
    glue.update_table(database, text)
  else
    glue.create_table(database, text)
  end
  return { table_input = input }
end

return {
  build_glue_create_table_input = build_glue_create_table_input,
  export_glue = export_glue,
  get_full_table_name = get_full_table_name,
}
