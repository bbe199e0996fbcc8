-- What the exporters share: pages of listings, addresses, and where exports are stored.

local path = require("path")
local url = require("net/url")

local SHORT_DIGEST = 6
local PAGE_SIZE = 1000

local internal = {}

function internal.short_digest(digest, length)
  return digest:sub(1, length or SHORT_DIGEST)
end

-- Returns an iterator over the pages of `call(after)`, an operation with pagination.
function internal.lakefs_paginiated_api(call, after)
  local offset, has_more = after or "", true
  return function()
    if not has_more then
      return nil
    end
    local status, page = call(offset)
    if status ~= 200 then
      error("the listing failed with status " .. tostring(status) .. ": " .. tostring(page.message))
    end
    has_more, offset = page.pagination.has_more, page.pagination.next_offset
    return page.results
  end
end

function internal.lakefs_object_pager(client, repository, reference, after, prefix, delimiter, size)
  return internal.lakefs_paginiated_api(function(offset)
    return client.list_objects(repository, reference, offset, prefix, delimiter or "", size or PAGE_SIZE)
  end, after)
end

-- Returns the branch or tag of an event.
function internal.ref_from_branch_or_tag(event)
  local reference = event.branch_id
  if event.event_type:find("tag", 1, true) then
    reference = event.tag_id
  end
  if not reference or reference == "" then
    error("the event " .. event.event_type .. " has neither a branch nor a tag")
  end
  return reference
end

-- Returns the address below which the exports of a commit are stored.
function internal.get_storage_uri_prefix(namespace, commit_id, event)
  local reference = internal.ref_from_branch_or_tag(event)
  local commit = internal.short_digest(commit_id)
  return path.join("/", namespace, "_lakefs/exported", reference, commit) .. "/"
end

function internal.parse_storage_uri(address)
  local parts = url.parse(address)
  return { protocol = parts.scheme, bucket = parts.host, key = (parts.path:gsub("^/", "")) }
end

function internal.sortedKeys(map)
  local keys = {}
  for key in pairs(map) do
    keys[#keys + 1] = key
  end
  table.sort(keys)
  return keys
end

function internal.deepcopy(value)
  if type(value) ~= "table" then
    return value
  end
  local copy = {}
  for key, item in pairs(value) do
    copy[key] = internal.deepcopy(item)
  end
  return setmetatable(copy, getmetatable(value))
end

return internal
