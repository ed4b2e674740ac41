/**
 * Writes a described request as the client would (RFC 9112), so that the engine's own parser checks it. Adds only what
 * every client adds: `Host`, and `Content-Length` for a body. Text is sent as UTF-8. Other oddities of the description
 * are kept: the parser decides whether to refuse them.
 */
import { canonicalHost } from '../http/fields/host-name.ts';
import type { ClientTls } from '../policy/stage.ts';
import { readPemCertificates } from '../x509/trust-bundle.ts';
import type { ExplainInput } from './schema.ts';

const HOST_DEFAULT = 'localhost';

/** @param place name of the field that gets `token` unchanged; undefined: Authorization, with `Bearer` */
export function describedHead(input: ExplainInput, place?: string): string {
  const { authority, target } = splitUrl(input.url);
  const fields = fieldsOf(input);
  const has = (name: string): boolean => fields.some(([field]) => field.toLowerCase() === name);
  if (!has('host')) fields.unshift(['Host', input.host ?? authority ?? HOST_DEFAULT]);
  if (input.token !== undefined) {
    fields.push(place === undefined ? ['Authorization', `Bearer ${input.token}`] : [place, input.token]);
  }
  if (input.body_bytes !== undefined && !has('content-length') && !has('transfer-encoding'))
    fields.push(['Content-Length', String(input.body_bytes)]);
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `${input.method} ${target} HTTP/1.1\r\n${lines}\r\n`;
}

/** Certificates that a client can send. */
const CERTIFICATES_MAX = 100;

/** A connection for the described host whose handshake has asked for a certificate. */
export function describedTls(input: ExplainInput): ClientTls {
  const { client_certificate: text } = input;
  const read = text === undefined ? [] : readPemCertificates(text, CERTIFICATES_MAX);
  return {
    serverName: canonicalHost(input.host ?? splitUrl(input.url).authority ?? HOST_DEFAULT),
    askedFor: { has: () => true },
    // An unreadable certificate is refused by the policy, as on a connection.
    certificates: 'error' in read ? [Buffer.alloc(0)] : read.map(({ raw }) => raw),
  };
}

/** The fields as described, by name and value. */
export function fieldsOf({ headers = {} }: ExplainInput): [name: string, value: string][] {
  return Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().map((value): [string, string] => [name, value]),
  );
}

/** Whether the request arrives over TLS according to its URL; undefined for a path alone. */
export function isDescribedSecure({ url }: ExplainInput): boolean | undefined {
  const scheme = /^(https?):\/\//i.exec(url)?.[1];
  return scheme === undefined ? undefined : scheme.toLowerCase() === 'https';
}

/** Splits a complete URL into the parts for the request line and for Host; a fragment is not sent. */
function splitUrl(url: string): { readonly authority: string | undefined; readonly target: string } {
  const parts = /^https?:\/\/([^/?#]*)([^#]*)/i.exec(url);
  if (parts === null) return { authority: undefined, target: url };
  const [, authority = '', rest = ''] = parts;
  return { authority, target: rest.startsWith('/') ? rest : `/${rest}` };
}
