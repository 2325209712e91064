-- S3's ListObjectsV2 for the benchmark's server, out of files that data.py has made: one for each domain,
-- lists/<first half of its ids>, with a line "key<TAB>entry" for each key, in order.
local folder, lists = nil, {}

local function of_domain(half)
    if not lists[half] then
        local keys, entries = {}, {}
        for line in io.lines(folder .. half) do
            local key, entry = line:match("^([^\t]*)\t(.*)$")
            keys[#keys + 1], entries[#entries + 1] = key, entry
        end
        lists[half] = {keys = keys, entries = entries}
    end
    return lists[half]
end

local function first_behind(keys, after)
    local low, high = 1, #keys + 1
    while low < high do
        local middle = math.floor((low + high) / 2)
        if keys[middle] > after then high = middle else low = middle + 1 end
    end
    return low
end

function list_bucket()
    local args = ngx.req.get_uri_args()
    local prefix = args.prefix or ""
    local half = prefix:match("^db/(%x+%-%x+)/$")
    local list = half and of_domain(half) or {keys = {}, entries = {}}
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
