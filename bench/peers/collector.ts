/**
 * Collectors of telemetry: an nginx that reads all it is sent and takes it, refuses it or never answers. It runs below
 * the priority of the load, whose cores it shares: a collector is elsewhere, and its work is not to delay requests. One
 * in Node.js did: the threads that collect its garbage kept the load off its core for up to 15 ms at a time.
 */
import type { Cores } from '../cores.ts';
import type { RunningProgram } from '../processes.ts';
import { LUA_MODULES } from '../programs.ts';
import { startNginx } from './nginx.ts';

export interface RunningCollector extends RunningProgram {
  /** Base URLs, by what it does there. */
  readonly urls: Readonly<Record<'takes' | 'hangs' | 'refuses', string>>;
  /** Of the bodies that were taken. */
  takenBytes(): Promise<number>;
}

const PRIORITY = 10;
const HANG_SECONDS = 3_600;

export async function startCollector(cores: Cores): Promise<RunningCollector> {
  const program = await startNginx({
    name: 'collector',
    cores: cores.load,
    workers: 1,
    priority: PRIORITY,
    accessLog: false,
    modules: LUA_MODULES,
    http: `client_body_buffer_size 4m; lua_shared_dict taken 64k; lua_socket_log_errors off;
    init_by_lua_block {
      -- Piece by piece where the length is known; a body in one piece takes as much memory, new each time.
      function read_body()
        local socket = ngx.req.socket()
        if not socket then return ngx.req.read_body() end
        while socket:receiveany(65536) do end
      end
    }`,
    server: `location /takes { content_by_lua_block {
      read_body()
      ngx.shared.taken:incr('bytes', tonumber(ngx.var.request_length), 0)
    } }
    location /hangs { content_by_lua_block { read_body() ngx.sleep(${HANG_SECONDS}) } }
    location /refuses { content_by_lua_block { read_body() ngx.exit(503) } }
    location /taken { content_by_lua_block { ngx.print(ngx.shared.taken:get('bytes') or 0) } }`,
  });
  const base = `http://127.0.0.1:${program.port}`;
  return {
    ...program,
    urls: { takes: `${base}/takes`, hangs: `${base}/hangs`, refuses: `${base}/refuses` },
    takenBytes: async () => Number(await (await fetch(`${base}/taken`)).text()),
  };
}
