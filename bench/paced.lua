-- A file, or a range of it, at so many bytes a second for each request, as a store far away sends it.  nginx's own limit_rate
-- counts whole seconds, so that what takes less than one is not limited at all.
local PIECE = 256 * 1024

local function range_of(size)
    local from, to = (ngx.var.http_range or ""):match("^bytes=(%d+)-(%d*)$")
    if not from then return 0, size - 1, false end
    return tonumber(from), math.min(tonumber(to) or size - 1, size - 1), true
end

function serve_paced(root, bytes_a_second)
    local f = io.open(root .. ngx.var.uri, "rb")
    local size = f and f:seek("end")
    if not size then return ngx.exit(404) end -- a folder can be opened, too
    local from, to, part = range_of(size)
    if from > to and size > 0 then return ngx.exit(416) end
    ngx.status = part and 206 or 200
    ngx.header["Content-Length"] = to - from + 1
    ngx.header["ETag"] = string.format('"%x"', size)
    if part then ngx.header["Content-Range"] = string.format("bytes %d-%d/%d", from, to, size) end
    f:seek("set", from)
    ngx.update_time()
    local begin, sent, left = ngx.now(), 0, to - from + 1
    while left > 0 do
        local piece = f:read(math.min(PIECE, left))
        if not piece then break end
        ngx.print(piece)
        if not ngx.flush(true) then break end
        sent, left = sent + #piece, left - #piece
        ngx.update_time()
        local ahead = sent / bytes_a_second - (ngx.now() - begin)
        if ahead > 0 then ngx.sleep(ahead) end
    end
    f:close()
end
