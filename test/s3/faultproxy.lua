-- The faults of faultproxy.sh.  GET /__fault?name=value sets one, ?clear=1 (alone) forgets all, no argument shows them.
--   delay, jitter   ms before the request goes on (uniform in delay ± jitter)
--   tail_p, tail    with probability tail_p wait tail ms more
--   p503 p500 p429  probability of that answer;  next503=N: exactly the next N requests
--   preset          probability of a reset before any answer
--   pstall          probability of never answering
--   pcut, cut_at    probability of a reset after cut_at body bytes
--   pflip           probability of one wrong body byte
--   pafter          probability that the request is executed upstream, but its answer lost
--                   (the last three need a server behind the proxy: nginx sends a folder's files past Lua)
--   nth, nth_do     the fault of the nth request only, counted from 1 (after method and match):
--                     lose          executed upstream, its answer lost
--                     reset, 500, 503, 412    that answer, not executed
--                     freeze        not executed, and no request is answered any more (shown as frozen=true): the client
--                                   can be killed at leisure
--                     freeze_after  the same, but it is executed
--   rate            bytes per second and connection
--   method, match   only this method ("changes": all but GET and HEAD); only URIs that match this Lua pattern
--   seed            of the random numbers
-- Shown besides: busy, the requests that the server behind works at, also those of clients that have gone.
-- Counted: n_seen, n_requests (after method and match), n_503, n_500, n_429, n_reset, n_stall, n_cut, n_flip, n_after, n_nth.
local M = {}
local fault, busy = ngx.shared.fault, ngx.shared.busy

function M.control()
    for name, value in pairs(ngx.req.get_uri_args()) do
        if name == "clear" then
            fault:flush_all()
            fault:set("on", false)
        elseif name == "seed" then
            math.randomseed(tonumber(value))
        else
            fault:set(name, tonumber(value) or value)
            fault:set("on", true)
        end
    end
    for _, name in ipairs(fault:get_keys()) do
        ngx.say(name, "=", tostring(fault:get(name)))
    end
    ngx.say("busy=", busy:get("n") or 0)
end

local function hit(name)
    local p = fault:get(name)
    return p and p > 0 and math.random() < p
end

local function refuse(status, code, message)
    fault:incr("n_" .. status, 1, 0)
    ngx.req.discard_body()
    local body = '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>' .. code .. '</Code><Message>' .. message ..
        '</Message><RequestId>' .. ngx.var.request_id .. '</RequestId></Error>'
    ngx.status = status
    ngx.header["Content-Type"] = "application/xml"
    ngx.header["x-amz-request-id"] = ngx.var.request_id
    ngx.header["Content-Length"] = #body
    if ngx.req.get_method() ~= "HEAD" then
        ngx.print(body)
    end
    return ngx.exit(ngx.HTTP_OK)
end

local function frozen()
    while fault:get("frozen") do
        ngx.sleep(0.05)
    end
    return ngx.exit(444)
end

-- Its turn is the nth request; true: nothing else happens to it.
local function nth(k)
    if fault:get("nth") ~= k then
        return false
    end
    local what = tostring(fault:get("nth_do"))
    fault:incr("n_nth", 1, 0)
    if what == "lose" then
        ngx.ctx.cut = -1
    elseif what == "freeze_after" then
        ngx.ctx.cut = -2
    elseif what == "freeze" then
        fault:set("frozen", true)
        frozen()
    elseif what == "reset" then
        ngx.exit(444)
    else
        refuse(tonumber(what), what == "412" and "PreconditionFailed" or "InternalError", "asked for by a test")
    end
    return true
end

local answers = {
    {"p503", 503, "SlowDown", "Please reduce your request rate."},
    {"p500", 500, "InternalError", "We encountered an internal error. Please try again."},
    {"p429", 429, "TooManyRequests", "Please reduce your request rate."},
}

local function wait()
    local ms = fault:get("delay") or 0
    local jitter = fault:get("jitter")
    if jitter then
        ms = ms + (math.random() * 2 - 1) * jitter
    end
    if hit("tail_p") then
        ms = ms + (fault:get("tail") or 0)
    end
    if ms > 0 then
        ngx.sleep(ms / 1000)
    end
end

local function trouble()
    if not fault:get("on") then
        return
    end
    fault:incr("n_seen", 1, 0)
    if fault:get("frozen") then
        return frozen()
    end
    local method, match, is = fault:get("method"), fault:get("match"), ngx.req.get_method()
    if method == "changes" and is ~= "GET" and is ~= "HEAD" then
        method = nil
    end
    if (method and method ~= is) or (match and not string.find(ngx.var.request_uri, match)) then
        return
    end
    if nth(fault:incr("n_requests", 1, 0)) then
        return
    end
    wait()
    local left = fault:get("next503")
    if left and left > 0 then
        fault:incr("next503", -1)
        return refuse(503, "SlowDown", "Please reduce your request rate.")
    end
    for _, answer in ipairs(answers) do
        if hit(answer[1]) then
            return refuse(answer[2], answer[3], answer[4])
        end
    end
    if hit("preset") then
        fault:incr("n_reset", 1, 0)
        return ngx.exit(444)
    end
    if hit("pstall") then
        fault:incr("n_stall", 1, 0)
        ngx.sleep(3600)
    end
    local rate = fault:get("rate")
    if rate and rate > 0 then
        ngx.var.limit_rate = rate
    end
    if ngx.var.folder == "1" then
        return
    end
    if hit("pcut") then
        fault:incr("n_cut", 1, 0)
        ngx.ctx.cut = fault:get("cut_at") or 1000
    end
    if hit("pflip") then
        fault:incr("n_flip", 1, 0)
        ngx.ctx.flip = true
    end
    if hit("pafter") then
        fault:incr("n_after", 1, 0)
        ngx.ctx.cut = -1
    end
end

function M.access()
    trouble()
    ngx.ctx.goes_on = true -- to the server
    busy:incr("n", 1, 0)
end

function M.log()
    if ngx.ctx.goes_on then
        busy:incr("n", -1)
    end
end

function M.header_filter()
    if ngx.ctx.cut == -2 then
        fault:set("frozen", true)
    end
    if ngx.ctx.cut and ngx.ctx.cut < 0 then
        return ngx.exit(444)
    end
end

function M.body_filter()
    local ctx, body = ngx.ctx, ngx.arg[1]
    if ctx.flip and #body > 0 then
        local i = math.random(#body)
        body = body:sub(1, i - 1) .. string.char((body:byte(i) + 1) % 256) .. body:sub(i + 1)
        ngx.arg[1] = body
        ctx.flip = nil
    end
    if ctx.cut then
        ctx.sent = (ctx.sent or 0) + #body
        if ctx.sent > ctx.cut then
            ngx.arg[1] = body:sub(1, math.max(0, #body - (ctx.sent - ctx.cut)))
            ctx.sent = ctx.cut
            return ngx.ERROR
        end
    end
end

return M
