-- The environment of scripts: what is safe of Lua's libraries, and `require` for those of hooks.
-- Nothing of Python's is a value that a script can hold: its functions are called by closures.

local write, open_library, expired, interval = ...

local debug_getmetatable, sethook, traceback = debug.getmetatable, debug.sethook, debug.traceback
local getinfo = debug.getinfo
local original_load, create, resume = load, coroutine.create, coroutine.resume
local Failure = {}

local function tick()
  local message = expired()
  if message then
    local level = 2
    local caller = getinfo(level, "S")
    while caller and (caller.what == "C" or caller.source == "=sandbox") do
      level = level + 1
      caller = getinfo(level, "S")
    end
    error(message, level)
  end
end

local function finish(ok, ...)
  if ok then
    return ...
  end
  error((...), 2)
end

-- Returns a function that calls one of Python's, which returns whether it succeeded first.
local function bind(called)
  return function(...)
    return finish(called(...))
  end
end

local function array(list)
  return setmetatable(list, { _is_array = true })
end

local function is_array(value)
  local meta = debug_getmetatable(value)
  return meta ~= nil and rawget(meta, "_is_array") == true
end

local function copied(library, ...)
  local copy = {}
  for name, value in pairs(library) do
    copy[name] = value
  end
  for _, name in ipairs({ ... }) do
    copy[name] = nil
  end
  return copy
end

string.dump = nil

local env = copied(
  _G,
  "_G", "collectgarbage", "coroutine", "debug", "dofile", "io", "load", "loadfile", "math", "os",
  "package", "print", "python", "require", "table", "warn"
)
env._G = env
env.array = array
env.table = copied(table)
env.unpack = table.unpack

-- what Lua 5.2, lakeFS's, has more; `bit32` is defined from outside
env.math = copied(math)
function env.math.pow(base, exponent)
  return base ^ exponent
end
function env.math.log10(number)
  return math.log(number, 10)
end

function env.print(...)
  local texts = table.pack(...)
  for at = 1, texts.n do
    texts[at] = tostring(texts[at])
  end
  write(table.concat(texts, "\t") .. "\n")
end

function env.load(chunk, name, _, ...)
  local scope = env
  if select("#", ...) > 0 then
    scope = ...
  end
  return original_load(chunk, name, "t", scope)
end

function env.collectgarbage(option)
  if option == "count" then
    return collectgarbage("count")
  end
  collectgarbage("collect")
  return 0
end

-- a coroutine has a hook of its own
env.coroutine = copied(coroutine)
function env.coroutine.create(body)
  local thread = create(body)
  sethook(thread, tick, "", interval)
  return thread
end
local function unwrap(ok, ...)
  if ok then
    return ...
  end
  error((...), 0)
end
function env.coroutine.wrap(body)
  local thread = env.coroutine.create(body)
  return function(...)
    return unwrap(resume(thread, ...))
  end
end

local loaded = { hook = {} }
function loaded.hook.fail(reason)
  error(setmetatable({ reason = tostring(reason) }, Failure), 0)
end
for _, name in ipairs({ "coroutine", "math", "string", "table", "utf8" }) do
  loaded[name] = env[name]
end

function env.require(name)
  name = tostring(name)
  if name == "bit32" then
    return env.bit32
  end
  if loaded[name] == nil then
    local ok, library = open_library(name)
    if not ok then
      error(library, 2)
    end
    loaded[name] = library
  end
  return loaded[name]
end

-- Returns a traceback without the frames of this file, and of what it is called by.
local function own_frames(text)
  local kept = {}
  for line in string.gmatch(text, "[^\n]+") do
    if string.find(line, "[C]: in function 'xpcall'", 1, true) then
      break
    end
    if not string.find(line, "^%s*sandbox:") then
      kept[#kept + 1] = line
    end
  end
  return table.concat(kept, "\n")
end

local function describe(problem)
  if debug_getmetatable(problem) == Failure then
    return problem.reason
  end
  write(own_frames(traceback(tostring(problem), 2)) .. "\n")
  return tostring(problem)
end

local function run(code, name)
  local chunk, problem = original_load(code, name, "t", env)
  if not chunk then
    return false, problem
  end
  sethook(tick, "", interval)
  local ok, reason = xpcall(chunk, describe)
  sethook()
  return ok, reason
end

local function define(name, value)
  env[name] = value
end

-- Runs one of the scripts that come with the server and returns its value: a library.
local function include(code, name)
  return original_load(code, name, "t", env)()
end

return run, bind, array, is_array, define, include
