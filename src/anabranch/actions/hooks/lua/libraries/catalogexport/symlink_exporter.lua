-- Symlink manifests: for each partition of a Hive table a file `symlink.txt` with the addresses of
-- its objects, which Hive, Presto and Athena read in place of the objects.

local extractor = require("lakefs/catalogexport/table_extractor")
local hive = require("lakefs/catalogexport/hive")
local internal = require("lakefs/catalogexport/internal")
local lakefs = require("lakefs")
local path = require("path")
local strings = require("strings")

local FILE = "symlink.txt"

-- Returns where the manifest of a partition is stored, relative to the export.
local function manifest_key(descriptor, partition, options)
  if partition == "" then
    return path.join("/", descriptor.name, FILE)
  end
  local folder = partition
  if not options.skip_trim_obj_base_path then
    folder = strings.replace(partition, (descriptor.path:gsub("/+$", "")) .. "/", "", 1)
  end
  return path.join("/", descriptor.name, folder, FILE)
end

-- Exports the manifests of the table that the descriptor at `descriptor_path` describes. Options:
-- `export_base_uri` in place of the storage namespace, `writer(bucket, key, content)` in place of
-- the client, `debug`, `skip_trim_obj_base_path`. Returns the location.
local function export_s3(client, descriptor_path, event, options)
  options = options or {}
  local repository, commit_id = event.repository_id, event.commit_id
  local descriptor = extractor.get_table_descriptor(lakefs, repository, commit_id, descriptor_path)
  if descriptor.type ~= "hive" then
    error("a table of type " .. tostring(descriptor.type) .. " has no symlinks: " .. descriptor_path)
  end
  local base = options.export_base_uri or event.storage_namespace
  local location = internal.parse_storage_uri(internal.get_storage_uri_prefix(base, commit_id, event))
  local write = options.writer or client.put_object
  local pager = hive.extract_partition_pager(
    lakefs, repository, commit_id, descriptor.path, descriptor.partition_columns, options.page_size
  )
  for partition, files in pager do
    local addresses = {}
    for number, file in ipairs(files) do
      addresses[number] = file.physical_address .. "\n"
    end
    local key = path.join("/", location.key, manifest_key(descriptor, partition, options))
    if options.debug then
      print("writing " .. location.bucket .. "/" .. key .. ": " .. #files .. " files")
    end
    write(location.bucket, key, table.concat(addresses))
  end
  return { location = location }
end

return { export_s3 = export_s3 }
