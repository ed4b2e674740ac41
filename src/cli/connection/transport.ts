/**
 * One HTTP exchange with the management API, over `node:http` or `node:https`, because `fetch` cannot use a private
 * authority. Owns the connection until the body has been read. Every failure becomes one plain line. Redirects are
 * not followed: they would send the token elsewhere.
 */
import type { IncomingMessage } from 'node:http';
import type * as https from 'node:https';
import { request as requestPlain } from '../../lib/node-http.ts';
import { isUntrusted } from '../../lib/error-message.ts';
import { CliError, printable } from '../io.ts';

export interface Transport {
  readonly method: string;
  readonly url: URL;
  /** The name of the server in messages. */
  readonly server: string;
  /** Path of a Unix socket to connect to instead of the host of the URL. */
  readonly socketPath?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** PEM certificates to trust instead of the system's. */
  readonly ca?: string | undefined;
  /** Limit of the time without data, in milliseconds. */
  readonly silenceMs: number;
  /** Limit of the time for the whole answer in milliseconds; absent: none. */
  readonly totalMs?: number;
}

/** At its first use: it brings all of cryptography, a quarter of the time of a command. */
const nodeHttps = (): typeof https => process.getBuiltinModule('node:https');

/** @throws CliError when no answer arrives, or one that does not come from a gateway */
export async function send(transport: Transport): Promise<IncomingMessage> {
  const { url, server, socketPath, method, headers, body, ca, silenceMs, totalMs } = transport;
  const signal = totalMs === undefined ? undefined : AbortSignal.timeout(totalMs);
  const options = {
    method,
    headers,
    agent: false as const,
    ...(socketPath !== undefined && { socketPath }),
    ...(signal !== undefined && { signal }),
  };
  const request =
    url.protocol === 'https:'
      ? nodeHttps().request(url, { ...options, ...(ca !== undefined && { ca }) })
      : requestPlain(url, options);
  request.setTimeout(silenceMs, () => request.destroy(Object.assign(new Error(), { code: 'ETIMEDOUT' })));
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve);
    request.on('error', reject);
  });
  request.end(body);
  let response: IncomingMessage;
  try {
    response = await answered;
  } catch (error) {
    throw new CliError(`Cannot reach the gateway at ${server}: ${reasonOf(error, transport)}`);
  }
  refuseRedirect(response, server);
  return response;
}

/** @throws CliError when the answer is incomplete or longer than `bytesMax` */
export async function readText(
  response: IncomingMessage,
  transport: Transport,
  bytesMax: number,
): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.byteLength;
      if (bytes > bytesMax) {
        response.destroy();
        throw new CliError(`The answer of ${transport.server} has more than ${bytesMax} bytes`);
      }
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw brokenOff(transport, error);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The error for an answer that ended early. */
function brokenOff(transport: Transport, error: unknown): CliError {
  return new CliError(`The answer of ${transport.server} broke off: ${reasonOf(error, transport)}`);
}

function refuseRedirect({ statusCode = 0, headers }: IncomingMessage, server: string): void {
  if (statusCode < 300 || statusCode > 399) return;
  const { location } = headers;
  const where = location === undefined ? '' : ` to ${printable(location.split(/[?#]/, 1)[0] ?? '')}`;
  throw new CliError(
    `${server} answers with a redirect${where} (${statusCode}), which is not followed; expected the address of the management API itself`,
  );
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED:
    'the connection was refused; expected a gateway that runs and listens there (--server, HEADGATE_SERVER or a context gives the address)',
  ENOENT: 'there is no such socket; expected the path in GATEWAY_SERVER__UNIX_SOCKET',
  EACCES: 'this user may not connect; the socket has the permissions of GATEWAY_SERVER__UNIX_SOCKET_MODE',
  ENOTFOUND: 'there is no host of this name',
  EAI_AGAIN: 'the name of the host could not be looked up',
  ECONNRESET: 'the connection was closed without an answer',
  EPIPE: 'the connection was closed without an answer',
  EHOSTUNREACH: 'there is no route to this host',
  ENETUNREACH: 'there is no route to this network',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  EPROTO: 'it does not answer in TLS; expected an http:// address, or a server with TLS',
  HPE_INVALID_CONSTANT: 'it does not answer in HTTP; if it has TLS, use https://',
};

function reasonOf(error: unknown, { silenceMs, totalMs = silenceMs }: Transport): string {
  const { code, name } = error as { readonly code?: unknown; readonly name?: unknown };
  const known = typeof code === 'string' ? code : '';
  if (known === 'ETIMEDOUT' || name === 'AbortError' || name === 'TimeoutError') {
    return `no answer within ${Math.min(silenceMs, totalMs) / 1_000} s`;
  }
  if (isUntrusted(known)) {
    return `its certificate was not issued by a trusted authority (${known}); pass the certificate of the authority with --ca FILE`;
  }
  if (known.startsWith('HPE_')) return REASONS['HPE_INVALID_CONSTANT'] ?? known;
  if (known.startsWith('ERR_SSL_')) return REASONS['EPROTO'] ?? known;
  return REASONS[known] ?? (known === '' ? printable(String(error)) : known);
}
