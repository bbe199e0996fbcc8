-- External tables in Databricks' Unity Catalog, for tables that `delta_exporter` has exported.

local extractor = require("lakefs/catalogexport/table_extractor")
local lakefs = require("lakefs")
local path = require("path")
local strings = require("strings")

-- Registers tables in the schema with the branch's name; `tables` is what `export_delta_log`
-- returns. Returns the status of each table.
local function register_tables(event, descriptors_path, tables, client, warehouse_id)
  local statuses = {}
  for name, details in pairs(tables) do
    local file = strings.has_suffix(name, ".yaml") and name or name .. ".yaml"
    local descriptor = extractor.get_table_descriptor(
      lakefs, event.repository_id, event.commit_id, path.join("/", descriptors_path, file)
    )
    if descriptor.type ~= "delta" then
      error("only tables of type delta can be registered, not " .. name)
    end
    for _, field in ipairs({ "catalog", "name" }) do
      if not descriptor[field] then
        error("the table descriptor of " .. name .. " has no " .. field)
      end
    end
    local schema = client.create_schema(event.branch_id, descriptor.catalog, true)
    statuses[descriptor.name] = client.register_external_table(
      descriptor.name, details.path, warehouse_id, descriptor.catalog, schema, details.metadata
    )
  end
  return statuses
end

return { register_tables = register_tables }
