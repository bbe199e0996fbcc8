-- The library `bit32` of Lua 5.2, which 5.4 has no more: operations on numbers of 32 bits.

local MASK = 0xFFFFFFFF

local function bits(number)
  local whole = math.tointeger(number) or math.floor(number % 2 ^ 32 + 0.5)
  return math.tointeger(whole) & MASK
end

local function folded(start, combine)
  return function(...)
    local result = start
    for _, number in ipairs({ ... }) do
      result = combine(result, bits(number))
    end
    return result
  end
end

local bit32 = {}

bit32.band = folded(MASK, function(one, other) return one & other end)
bit32.bor = folded(0, function(one, other) return one | other end)
bit32.bxor = folded(0, function(one, other) return one ~ other end)

function bit32.btest(...)
  return bit32.band(...) ~= 0
end

function bit32.bnot(number)
  return ~bits(number) & MASK
end

-- A negative distance shifts the other way, and one of 32 or more leaves nothing.
function bit32.lshift(number, distance)
  return bits(number) << distance & MASK
end

function bit32.rshift(number, distance)
  return bit32.lshift(number, -distance)
end

function bit32.arshift(number, distance)
  local value = bits(number)
  if distance < 0 or value < 0x80000000 then
    return bit32.rshift(value, distance)
  elseif distance >= 32 then
    return MASK
  end
  return (value >> distance) | (~(MASK >> distance) & MASK)
end

function bit32.lrotate(number, distance)
  local value, by = bits(number), distance % 32
  return (value << by | value >> (32 - by)) & MASK
end

function bit32.rrotate(number, distance)
  return bit32.lrotate(number, -distance)
end

local function field(at, width)
  width = width or 1
  if at < 0 or width < 1 or at + width > 32 then
    error("trying to access non-existent bits", 3)
  end
  return (1 << width) - 1
end

function bit32.extract(number, at, width)
  local mask = field(at, width)
  return bits(number) >> at & mask
end

function bit32.replace(number, value, at, width)
  local mask = field(at, width)
  return bits(number) & ~(mask << at) | (bits(value) & mask) << at
end

return bit32
