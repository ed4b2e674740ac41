/**
 * HAProxy three times: bare, with the policy by maps and a stick table, and as a relay of TCP, which looks at
 * nothing and so is the floor of what passing bytes on costs.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, newFolder, startProgram, type RunningProgram } from '../processes.ts';
import { programPath } from '../programs.ts';
import {
  FILLER_ENDPOINTS,
  LIMIT_REQUESTS,
  LIMIT_WINDOW_SECS,
  ORIGIN,
  SCOPE,
  benchToken,
  routeKeys,
} from '../service.ts';
import type { Peer, PeerSetup } from './peer.ts';

export const haproxyBare: Peer = {
  name: 'haproxy',
  start: (setup) =>
    startHaproxy('haproxy', setup, 'http', '  http-request set-header X-Forwarded-For %[src]'),
};

export const haproxyRelay: Peer = {
  name: 'haproxy TCP relay',
  start: (setup) => startHaproxy('haproxy TCP relay', setup, 'tcp', ''),
};

export const haproxyPolicy: Peer = {
  name: 'haproxy map+stick',
  start: (setup) => startHaproxy('haproxy map+stick', setup, 'http', POLICY),
};

/** `field(2,/,3)` are the first three segments of the path, what stands after them is the parameter. */
const POLICY = `  stick-table type string len 64 size 100k expire 2h store http_req_rate(${LIMIT_WINDOW_SECS}s)
  http-request set-var(txn.route) path,field(2,/,3),map_str($folder/routes.map)
  http-request deny deny_status 404 unless { var(txn.route) -m str GET } { method GET }
  http-request set-var(txn.key) http_auth_bearer,map_str($folder/keys.map)
  http-request deny deny_status 401 unless { var(txn.key) -m found }
  http-request deny deny_status 403 unless { var(txn.key),field(2,|) -m str ${SCOPE} }
  http-request track-sc0 str(shop)
  http-request deny deny_status 429 if { sc_http_req_rate(0) gt ${LIMIT_REQUESTS} }
  http-request set-var(txn.origin) req.hdr(origin)
  http-request set-header X-Key-Id %[var(txn.key),field(1,|)]
  http-request del-header Authorization
  http-request set-header X-Forwarded-For %[src]
  http-request set-header X-Forwarded-Proto http
  http-request set-header X-Forwarded-Host %[req.hdr(host)]
  http-request set-path /%[path,field(4,/,0)]
  http-response set-header Access-Control-Allow-Origin ${ORIGIN} if { var(txn.origin) -m str ${ORIGIN} }
  http-response set-header Vary Origin
  http-response set-header X-RateLimit-Limit ${LIMIT_REQUESTS}
  http-response set-header X-RateLimit-Remaining %[sc_http_req_rate(0)]`;

async function startHaproxy(
  name: string,
  { originPort, cores, workers, accessLog }: PeerSetup,
  mode: 'http' | 'tcp',
  rules: string,
): Promise<RunningProgram> {
  const folder = newFolder(name.replaceAll(/\W+/g, '-'));
  const port = await freePort();
  writeFileSync(join(folder, 'keys.map'), `${benchToken(0)} key-1|${SCOPE}\n`);
  const routes = [...routeKeys(FILLER_ENDPOINTS)].map((key) => `${key.slice(1)} GET\n`);
  writeFileSync(join(folder, 'routes.map'), routes.join(''));
  const configuration = join(folder, 'haproxy.cfg');
  writeFileSync(
    configuration,
    `global
  nbthread ${workers}
  maxconn 9000
  ${accessLog ? 'log stdout format raw local0 info' : ''}
defaults
  mode ${mode}
  ${accessLog ? `log global\n  option ${mode}log` : ''}
  timeout connect 5s
  timeout client 75s
  timeout server 60s
frontend front
  bind 127.0.0.1:${port}
${rules.replaceAll('$folder', folder)}
  default_backend origin
backend origin
  ${mode === 'http' ? 'http-reuse always' : ''}
  server origin 127.0.0.1:${originPort}
`,
  );
  const command = [programPath('haproxy'), '-db', '-f', configuration];
  return startProgram({ name, command, cores: cores.proxy, folder, port });
}

/** Bare, over several servers. @param balance as in its configuration */
export async function startHaproxyOver(
  ports: readonly number[],
  balance: string,
  { cores, workers }: PeerSetup,
): Promise<RunningProgram> {
  const folder = newFolder('haproxy');
  const port = await freePort();
  const configuration = join(folder, 'haproxy.cfg');
  const servers = ports.map((each, index) => `  server s${index} 127.0.0.1:${each}\n`).join('');
  writeFileSync(
    configuration,
    `global
  nbthread ${workers}
  maxconn 9000
defaults
  mode http
  timeout connect 5s
  timeout client 75s
  timeout server 60s
frontend front
  bind 127.0.0.1:${port}
  default_backend targets
backend targets
  balance ${balance}
  http-reuse always
${servers}`,
  );
  const command = [programPath('haproxy'), '-db', '-f', configuration];
  return startProgram({ name: 'haproxy', command, cores: cores.proxy, folder, port });
}
