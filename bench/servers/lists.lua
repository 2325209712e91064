-- S3's ListObjectsV2 for the benchmark's server, from files that data.py has made: one for each domain,
-- lists/<first half of its ids>, with a line "key<TAB>entry" for each key, in order.
local folder, lists = nil, {}

local function add(list, line)
    local key, entry = line:match("^([^\t]*)\t(.*)$")
    list.keys[#list.keys + 1], list.entries[#list.entries + 1] = key, entry
end

local function of_domain(half)
    if not lists[half] then
        local list = {keys = {}, entries = {}}
        for line in io.lines(folder .. half) do add(list, line) end
        lists[half] = list
    end
    return lists[half]
end

-- As it is now, in the folder itself: while the data are made, and for bench/write.
local function found(dir, where)
    local list  = {keys = {}, entries = {}}
    local files = io.popen("cd '" .. dir .. "/bucket' && find " .. where .. " -type f -printf '%p %T@ %s\\n' | LC_ALL=C sort")
    for line in files:lines() do
        local key, time, size = line:match("^(%S+) (%d+)%S* (%d+)$")
        local etag = string.format("&quot;%x-%x&quot;", tonumber(time), tonumber(size))
        add(list, key .. "\t<Contents><Key>" .. key .. "</Key><ETag>" .. etag .. "</ETag><Size>" .. size .. "</Size></Contents>")
    end
    files:close()
    return list
end

local function first_behind(keys, after)
    local low, high = 1, #keys + 1
    while low < high do
        local middle = math.floor((low + high) / 2)
        if keys[middle] > after then high = middle else low = middle + 1 end
    end
    return low
end

-- dir: the place of the folder bucket, if lists are to be made again
function list_bucket(dir)
    local args = ngx.req.get_uri_args()
    local prefix = args.prefix or ""
    local half, where = prefix:match("^db/(%x+%-%x+)/$"), dir and prefix:match("^(db/[%w/%-]+)/$")
    local list = where and found(dir, where) or half and of_domain(half) or {keys = {}, entries = {}}
    local from = first_behind(list.keys, args["continuation-token"] or args["start-after"] or "")
    local to = math.min(from + 999, #list.keys)
    local more = to < #list.keys
    local out = {'<?xml version="1.0"?><ListBucketResult><IsTruncated>', tostring(more), "</IsTruncated>"}
    for i = from, to do out[#out + 1] = list.entries[i] end
    if more then out[#out + 1] = "<NextContinuationToken>" .. list.keys[to] .. "</NextContinuationToken>" end
    out[#out + 1] = "</ListBucketResult>"
    local text = table.concat(out)
    ngx.header["Content-Type"] = "application/xml"
    ngx.header["Content-Length"] = #text
    ngx.print(text)
end

return {init = function(where) folder = where end}
