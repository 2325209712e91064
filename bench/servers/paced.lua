-- A file, or a range of it, at so many bytes a second for each request, as a store far away sends it.  nginx's own limit_rate
-- counts whole seconds, so a transfer of less than one is not limited at all.
local PIECE = 256 * 1024
local ffi = require("ffi")
ffi.cdef("int mkdir(const char *path, unsigned mode);")

-- Until so many bytes would have taken that long.
local function keep_pace(begin, bytes, bytes_a_second)
    ngx.update_time()
    local ahead = bytes / bytes_a_second - (ngx.now() - begin)
    if ahead > 0 then ngx.sleep(ahead) end
end

local function range_of(size)
    local from, to = (ngx.var.http_range or ""):match("^bytes=(%d+)-(%d*)$")
    if not from then return 0, size - 1, false end
    return tonumber(from), math.min(tonumber(to) or size - 1, size - 1), true
end

-- Whether the object makes trouble now: one in 64 does, at every other request for it, beginning with the first.
function is_trouble()
    return ngx.crc32_short(ngx.var.uri) % 64 == 7 and ngx.shared.asked:incr(ngx.var.uri, 1, 0) % 2 == 1
end

-- pause: seconds that it stops after the first piece; nil: no stop
function serve_paced(root, bytes_a_second, pause)
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
        if left > 0 and pause then ngx.sleep(pause) pause = nil end
        keep_pace(begin, sent, bytes_a_second)
    end
    f:close()
end

local function create(path)
    local f = io.open(path, "wb")
    for at in f and "" or path:gmatch("()/") do
        ffi.C.mkdir(path:sub(1, at - 1), 511)
    end
    return f or io.open(path, "wb")
end

-- PUT: the body comes in at that pace; so long after it the object is stored and the answer given.
function take_paced(root, bytes_a_second, seconds)
    local all = tonumber(ngx.var.http_content_length) or 0
    local temp = root .. "/t1/" .. ngx.var.connection
    local f, socket = io.open(temp, "wb"), all > 0 and ngx.req.socket()
    ngx.update_time()
    local begin, got = ngx.now(), 0
    while got < all do
        local piece = socket:receive(math.min(PIECE, all - got))
        if not piece then return ngx.exit(499) end
        f:write(piece)
        got = got + #piece
        keep_pace(begin, got, bytes_a_second)
    end
    f:close()
    ngx.sleep(seconds)
    local path = root .. ngx.var.uri
    if not os.rename(temp, path) then
        create(path):close()
        os.rename(temp, path)
    end
    ngx.header["ETag"] = string.format('"%s"', ngx.md5(path .. ngx.now()))
    ngx.header["Content-Length"] = 0
    ngx.exit(200)
end

-- A PUT that nginx took by WebDAV (201, or 204 if it replaced an object) is answered as S3 does it.
function answer_put()
    if ngx.req.get_method() == "PUT" and (ngx.status == 201 or ngx.status == 204) then
        ngx.status = 200
        ngx.header["ETag"] = '"' .. ngx.md5(ngx.now()) .. '"'
        ngx.header["Content-Length"] = 0
        ngx.header["Location"] = nil
    end
end
