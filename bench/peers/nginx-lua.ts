/**
 * nginx with the same policy in Lua, written as an experienced user of OpenResty would: tables made at start, plain
 * string functions that LuaJIT compiles, a shared dict for the counter, fields set by nginx itself through variables.
 * `nginx+lua` does all that the service asks for; `nginx+lua lean` leaves out routes, CORS and the extra fields, and
 * so does key, scope and limit only.
 */
import { createHash } from 'node:crypto';
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
  start: (setup) => startLua('nginx+lua', setup, fullServer, sharedCount, ROUTE_FIELDS),
};
export const nginxLuaLean: Peer = {
  name: 'nginx+lua lean',
  start: (setup) => startLua('nginx+lua lean', setup, leanServer),
};

/** The full policy, with a counter in Valkey or Redis that every request asks: one round trip, pooled connections. */
export const nginxLuaRedis = (redisPort: number): Peer => ({
  name: 'nginx+lua+redis',
  start: (setup) => startLua('nginx+lua+redis', setup, fullServer, redisCount(redisPort), ROUTE_FIELDS),
});

/** What the policy in Lua finds out, for the access log. */
const ROUTE_FIELDS = {
  app: '$app',
  version: '$version',
  revision: 'r1',
  route: '$route',
  key_id: '$key_id',
};

const startLua = (
  name: string,
  { originPort, cores, workers, accessLog }: PeerSetup,
  server: string,
  count = sharedCount,
  logFields: Readonly<Record<string, string>> = {},
) =>
  startNginx({
    name,
    cores: cores.proxy,
    workers,
    accessLog,
    logFields,
    modules: LUA_MODULES,
    http: `lua_shared_dict limits 10m;
  lua_package_path "$folder/?.lua;;";
  init_by_lua_block { require("policy") }
  ${upstreamBlock(originPort)}`,
    server,
    files: {
      'policy.lua': policyModule(count),
      'routes.txt': `${[...routeKeys(FILLER_ENDPOINTS)].join('\n')}\n`,
    },
  });

const fullServer = `location / {
      set $upstream_path "";
      set $app "";
      set $version "";
      set $route "";
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

const sharedCount = `local function count()
  local now = ngx.time()
  local window = floor(now / ${LIMIT_WINDOW_SECS})
  local used = limits:incr("shop:" .. window, 1, 0, ${LIMIT_WINDOW_SECS * 2})
  if used > ${LIMIT_REQUESTS} then return ngx.exit(429) end
  return used, (window + 1) * ${LIMIT_WINDOW_SECS} - now
end`;

/** What users of lua-resty-redis run on the server; bench/peers/redis.ts loads it. */
export const COUNT_SCRIPT =
  "local n = redis.call('INCR', KEYS[1]) if n == 1 then redis.call('EXPIRE', KEYS[1], ARGV[1]) end return n";

/** The exchange itself, without the library around it: as little as nginx can do for it. */
const redisCount = (port: number): string => {
  const sha1 = createHash('sha1').update(COUNT_SCRIPT).digest('hex');
  const ttl = String(LIMIT_WINDOW_SECS * 2);
  return `local function count()
  local now = ngx.time()
  local window = floor(now / ${LIMIT_WINDOW_SECS})
  local key = "shop:" .. window
  local socket = ngx.socket.tcp()
  socket:settimeout(10000)
  if not socket:connect("127.0.0.1", ${port}, { pool_size = 128 }) then return ngx.exit(503) end
  socket:send("*5\\r\\n$7\\r\\nEVALSHA\\r\\n$40\\r\\n${sha1}\\r\\n$1\\r\\n1\\r\\n$" .. #key .. "\\r\\n" .. key .. "\\r\\n$${ttl.length}\\r\\n${ttl}\\r\\n")
  local line = socket:receive("*l")
  socket:setkeepalive(60000, 128)
  local used = line and tonumber(sub(line, 2))
  if not used then return ngx.exit(503) end
  if used > ${LIMIT_REQUESTS} then return ngx.exit(429) end
  return used, (window + 1) * ${LIMIT_WINDOW_SECS} - now
end`;
};

const policyModule = (
  count: string,
): string => `local find, sub, byte, floor = string.find, string.sub, string.byte, math.floor
local limits = ngx.shared.limits
local routes = {}
for line in io.lines(ngx.config.prefix() .. "routes.txt") do
  local app, version = string.match(line, "^/([^/]+)/([^/]+)/")
  routes[line] = { GET = true, app = app, version = version, template = line .. "/{id}" }
end
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

${count}

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
  var.app = route.app
  var.version = route.version
  var.route = route.template
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
