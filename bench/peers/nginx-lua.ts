/**
 * nginx with the same policy in Lua, written as an experienced user of OpenResty would: tables made at start, plain
 * string functions that LuaJIT compiles, a shared dict for the counter, fields set by nginx itself through variables.
 * `nginx+lua` does all that the service asks for; `nginx+lua lean` leaves out routes, CORS and the extra fields, and
 * so does key, scope and limit only.
 */
import { LUA_MODULES } from '../programs.ts';
import {
  LIMIT_REQUESTS,
  LIMIT_WINDOW_SECS,
  ORIGIN,
  SCOPE,
  benchToken,
  routeKeys,
  FILLER_ENDPOINTS,
} from '../service.ts';
import { startNginx, upstreamBlock } from './nginx.ts';
import type { Peer, PeerSetup } from './peer.ts';

export const nginxLua: Peer = {
  name: 'nginx+lua',
  start: (setup) => startLua('nginx+lua', setup, fullServer),
};
export const nginxLuaLean: Peer = {
  name: 'nginx+lua lean',
  start: (setup) => startLua('nginx+lua lean', setup, leanServer),
};

const startLua = (name: string, { originPort, cores, workers, accessLog }: PeerSetup, server: string) =>
  startNginx({
    name,
    cores: cores.proxy,
    workers,
    accessLog,
    modules: LUA_MODULES,
    http: `lua_shared_dict limits 10m;
  lua_package_path "$folder/?.lua;;";
  init_by_lua_block { require("policy") }
  ${upstreamBlock(originPort)}`,
    server,
    files: { 'policy.lua': policyModule(), 'routes.txt': `${[...routeKeys(FILLER_ENDPOINTS)].join('\n')}\n` },
  });

const fullServer = `location / {
      set $upstream_path "";
      set $key_id "";
      set $key_name "";
      set $remaining "";
      set $reset "";
      set $cors_origin "";
      access_by_lua_block { require("policy").full() }
      proxy_set_header Connection "";
      proxy_set_header Authorization "";
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header X-Forwarded-Host $http_host;
      proxy_set_header X-Request-Id $request_id;
      proxy_set_header X-Key-Id $key_id;
      proxy_set_header X-Key-Name $key_name;
      add_header X-Request-Id $request_id always;
      add_header X-RateLimit-Limit ${LIMIT_REQUESTS} always;
      add_header X-RateLimit-Remaining $remaining always;
      add_header X-RateLimit-Reset $reset always;
      add_header Access-Control-Allow-Origin $cors_origin always;
      add_header Vary Origin always;
      proxy_pass http://origin$upstream_path$is_args$args;
    }`;

const leanServer = `location / {
      access_by_lua_block { require("policy").lean() }
      proxy_set_header Connection "";
      proxy_pass http://origin;
    }`;

const policyModule =
  (): string => `local find, sub, byte, floor = string.find, string.sub, string.byte, math.floor
local limits = ngx.shared.limits
local routes = {}
for line in io.lines(ngx.config.prefix() .. "routes.txt") do routes[line] = { GET = true } end
local keys = { ["${benchToken(0)}"] = { id = "key-1", name = "bench", scopes = { ["${SCOPE}"] = true } } }
local origins = { ["${ORIGIN}"] = true }
local M = {}

local function authenticate()
  local authorization = ngx.var.http_authorization
  if not authorization or sub(authorization, 1, 7) ~= "Bearer " then return ngx.exit(401) end
  local key = keys[sub(authorization, 8)]
  if not key then return ngx.exit(401) end
  if not key.scopes["${SCOPE}"] then return ngx.exit(403) end
  return key
end

local function count()
  local now = ngx.time()
  local window = floor(now / ${LIMIT_WINDOW_SECS})
  local used = limits:incr("shop:" .. window, 1, 0, ${LIMIT_WINDOW_SECS * 2})
  if used > ${LIMIT_REQUESTS} then return ngx.exit(429) end
  return used, (window + 1) * ${LIMIT_WINDOW_SECS} - now
end

function M.full()
  local var = ngx.var
  local uri = var.uri
  -- /app/version/resource/id
  local second = find(uri, "/", 2, true)
  local third = second and find(uri, "/", second + 1, true)
  local fourth = third and find(uri, "/", third + 1, true)
  if not fourth then return ngx.exit(404) end
  local route = routes[sub(uri, 1, fourth - 1)]
  if not route or not route[ngx.req.get_method()] then return ngx.exit(404) end
  local key = authenticate()
  local used, reset = count()
  local origin = var.http_origin
  if origin and origins[origin] then var.cors_origin = origin end
  var.upstream_path = sub(uri, third)
  var.key_id = key.id
  var.key_name = key.name
  var.remaining = ${LIMIT_REQUESTS} - used
  var.reset = reset
end

function M.lean()
  authenticate()
  count()
end

return M
`;
