/**
 * Rules of a tried request that the schema cannot express: callers may not set the fields that a client sets for its
 * connection, because the sending gateway sets them, and two of them could turn one request into two. Pure.
 */
import { isHostAndPort } from '../../http/fields/host.ts';
import type { FieldError } from '../../model/errors.ts';
import type { TryInput } from './try-schema.ts';

const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Visible ASCII, spaces and tabs, and bytes above ASCII (RFC 9110 section 5.5). */
// oxlint-disable-next-line no-control-regex -- it allows the tab
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** RFC 9110 section 7.6.1, and the framing of RFC 9112. */
const OWN_FIELDS: Readonly<Record<string, string>> = {
  connection: 'is set by the gateway, which closes the connection',
  'content-length': 'is set by the gateway to the length of `body`',
  expect: 'cannot be sent: the body follows at once',
  host: 'is set with `host`',
  'keep-alive': 'belongs to the connection, which the gateway closes',
  'proxy-connection': 'belongs to the connection, which the gateway closes',
  te: 'belongs to the connection',
  trailer: 'cannot be sent: the body has no trailer',
  'transfer-encoding': 'cannot be sent: the body has a length',
  upgrade: 'cannot be sent: other protocols are not tried',
};

export function requestErrors({ method, host, headers = [] }: TryInput): FieldError[] {
  const errors: FieldError[] = [];
  if (method.toUpperCase() === 'CONNECT') {
    errors.push({ pointer: '/method', detail: 'must not be CONNECT, because the gateway opens no tunnels' });
  }
  if (host !== undefined && !isHostAndPort(host)) {
    errors.push({ pointer: '/host', detail: 'must be a host, with or without a port' });
  }
  for (const [index, [name = '', value = '']] of headers.entries()) {
    if (!FIELD_NAME.test(name)) {
      errors.push({ pointer: `/headers/${index}/0`, detail: 'must be a token (RFC 9110 section 5.6.2)' });
      continue;
    }
    const own = OWN_FIELDS[name.toLowerCase()];
    if (own !== undefined) errors.push({ pointer: `/headers/${index}/0`, detail: own });
    if (!FIELD_VALUE.test(value)) {
      errors.push({
        pointer: `/headers/${index}/1`,
        detail: 'must not have control characters, or characters above U+00FF',
      });
    }
  }
  return errors;
}
