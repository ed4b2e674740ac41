/**
 * nginx in three parts: the origin, the bare proxy, and the frame that the Lua policy is put into. Everything it
 * writes goes into a folder of its own; streams are passed on as they come, as Headgate does.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, newFolder, startProgram, type RunningProgram } from '../processes.ts';
import { programPath } from '../programs.ts';
import type { Peer, PeerSetup } from './peer.ts';

export interface NginxParts {
  readonly name: string;
  readonly cores: string;
  readonly workers: number;
  /** Niceness; 0 by default. */
  readonly priority?: number;
  readonly accessLog: boolean;
  /** Files to load before anything else. */
  readonly modules?: readonly string[];
  /** Variables of the access log beside those of nginx itself, by the names of the fields. */
  readonly logFields?: Readonly<Record<string, string>>;
  /** Directives of the http block. */
  readonly http: string;
  /** Directives of the server block. */
  readonly server: string;
  readonly files?: Readonly<Record<string, string>>;
}

export async function startNginx(parts: NginxParts): Promise<RunningProgram & { readonly folder: string }> {
  const folder = newFolder(parts.name.replaceAll(/\W+/g, '-'));
  const port = await freePort();
  for (const [name, text] of Object.entries(parts.files ?? {})) writeFileSync(join(folder, name), text);
  const configuration = join(folder, 'nginx.conf');
  writeFileSync(configuration, nginxConfiguration(parts, folder, port));
  const program = await startProgram({
    name: parts.name,
    command: [programPath('nginx'), '-p', folder, '-c', configuration],
    cores: parts.cores,
    folder,
    port,
  });
  return { ...program, folder };
}

function nginxConfiguration(parts: NginxParts, folder: string, port: number): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const log = parts.accessLog ? accessLog(parts, folder) : 'access_log off;';
  return `daemon off;
${process.getuid?.() === 0 ? 'user root;' : ''}
worker_processes ${parts.workers};
worker_priority ${parts.priority ?? 0};
worker_rlimit_nofile 19000;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log warn;
${(parts.modules ?? []).map((file) => `load_module ${file};`).join('\n')}
events { worker_connections 18000; }
http {
  ${log}
  ${temporary.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(' ')}
  default_type application/json;
  keepalive_timeout 75s;
  keepalive_requests 1000000000;
  client_max_body_size 0;
  ${parts.http.replaceAll('$folder', folder)}
  server {
    listen 127.0.0.1:${port} reuseport backlog=4096;
    ${parts.server.replaceAll('$folder', folder)}
  }
}
`;
}

/** The fields of Headgate's access log, as far as this configuration knows them, in a JSON line per request. */
function accessLog({ logFields = {} }: NginxParts, folder: string): string {
  const names: Readonly<Record<string, string>> = {
    level: 'info',
    time: '$time_iso8601',
    request_id: '$request_id',
    ...logFields,
    method: '$request_method',
    host: '$http_host',
    path: '$uri',
    protocol: '$server_protocol',
  };
  const texts = Object.entries(names).map(([name, value]) => `"${name}":"${value}"`);
  const numbers =
    '"status":$status,"bytes_in":$request_length,"bytes_out":$body_bytes_sent,"duration_ms":$request_time,' +
    '"upstream_ms":"$upstream_header_time","client_ip":"$remote_addr","msg":"access"';
  return `log_format json_lines escape=json '{${texts.join(',')},${numbers}}';
  access_log ${folder}/access.log json_lines buffer=64k flush=1s;`;
}

/** The upstream block and the directives that pass a request on over kept-alive connections, streaming bodies. */
export const upstreamBlock = (originPort: number): string => `upstream origin {
    server 127.0.0.1:${originPort};
    keepalive 1024;
    keepalive_requests 1000000000;
  }
  proxy_http_version 1.1;
  proxy_request_buffering off;
  proxy_max_temp_file_size 0;`;

/** Passes everything on, with the fields that a proxy owes its backend. */
export const nginxBare: Peer = {
  name: 'nginx',
  start: ({ originPort, cores, workers, accessLog }: PeerSetup) =>
    startNginx({
      name: 'nginx',
      cores: cores.proxy,
      workers,
      accessLog,
      http: `${upstreamBlock(originPort)}
  proxy_set_header Connection "";
  proxy_set_header X-Forwarded-For $remote_addr;
  proxy_set_header X-Forwarded-Proto $scheme;
  proxy_set_header X-Forwarded-Host $http_host;`,
      server: 'location / { proxy_pass http://origin; }',
    }),
};
