/**
 * The backend of all proxies: an nginx that answers from memory. Any path gives 100 bytes; `/large` gives 16 KiB,
 * `/download` 10 MiB from a file, `/upload` reads what it is sent and answers 100 bytes. The same below a gateway
 * path, for proxies that do not strip it.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cores } from '../cores.ts';
import type { RunningProgram } from '../processes.ts';
import { LUA_MODULES } from '../programs.ts';
import { startNginx } from './nginx.ts';

export const STREAM_BYTES = 10 * 1024 * 1024;
const SMALL_BYTES = 100;
const LARGE_KIB = 16;

export async function startOrigin(cores: Cores): Promise<RunningProgram> {
  const origin = await startNginx({
    name: 'origin',
    cores: cores.load,
    workers: 1,
    accessLog: false,
    modules: LUA_MODULES,
    http: 'sendfile on; tcp_nopush on; client_body_buffer_size 64k;',
    server: `root $folder;
    location / { return 200 '${jsonOf(SMALL_BYTES)}'; }
    location ~ /large$ {
      set $kib '${'x'.repeat(1024)}';
      default_type text/plain;
      return 200 '${'$kib'.repeat(LARGE_KIB)}';
    }
    # By itself nginx answers before it has read the body.
    location ~ /upload$ {
      content_by_lua_block {
        local socket = ngx.req.socket()
        while socket and socket:receiveany(262144) do end
        ngx.print('${jsonOf(SMALL_BYTES)}')
      }
    }
    location ~ /download$ { rewrite ^ /download.bin break; }
    `,
  });
  writeFileSync(join(origin.folder, 'download.bin'), Buffer.alloc(STREAM_BYTES, 'headgate'));
  return origin;
}

/** A JSON text of exactly so many bytes. */
function jsonOf(bytes: number): string {
  const frame = '{"data":""}';
  return `{"data":"${'x'.repeat(bytes - frame.length)}"}`;
}
