/**
 * The Connection field (RFC 9110 section 7.6.1, RFC 9112 section 9.3): options for this hop and names of fields that
 * end here. Names of fields that the gateway manages itself (Host, Authorization, X-Forwarded-For, ...) are reported
 * like any other, but nominating them must not remove what the gateway sets. Callers therefore drop managed fields by
 * kind, and only ordinary fields by nomination.
 */
import { isBlank, isToken } from '../characters.ts';
import { headError, type HeadError } from '../heads/head-error.ts';
import { HeaderKind } from '../heads/header-kind.ts';

export type ConnectionOptions = {
  readonly close: boolean;
  readonly keepAlive: boolean;
  readonly upgrade: boolean;
  /** Lower-case names other than close, keep-alive and upgrade; undefined when there are none. */
  readonly nominated: readonly string[] | undefined;
};

/** The fields of a scanned section that `connectionOptions` needs. */
export type ConnectionFields = {
  readonly count: number;
  kind(index: number): number;
  value(index: number): string;
  first(kind: HeaderKind): number;
};

const none: ConnectionOptions = Object.freeze({
  close: false,
  keepAlive: false,
  upgrade: false,
  nominated: undefined,
});
const close: ConnectionOptions = Object.freeze({ ...none, close: true });
const keepAlive: ConnectionOptions = Object.freeze({ ...none, keepAlive: true });

/** Reads all Connection fields. Refuses members that are not tokens and skips empty ones. */
export function connectionOptions(fields: ConnectionFields): ConnectionOptions | HeadError {
  const first = fields.first(HeaderKind.connection);
  if (first < 0) return none;
  let value = fields.value(first);
  for (let index = first + 1; index < fields.count; index++) {
    if (fields.kind(index) === HeaderKind.connection) value += `,${fields.value(index)}`;
  }
  if (value === 'keep-alive' || value === 'Keep-Alive') return keepAlive;
  if (value === 'close') return close;
  return parseOptions(value);
}

function parseOptions(value: string): ConnectionOptions | HeadError {
  const options = {
    close: false,
    keepAlive: false,
    upgrade: false,
    nominated: undefined as string[] | undefined,
  };
  for (const member of listMembers(value)) {
    if (member === '') continue;
    if (!isToken(member))
      return headError(400, 'bad_connection', 'The Connection field contains a member that is not a token.');
    const option = member.toLowerCase();
    if (option === 'close') options.close = true;
    else if (option === 'keep-alive') options.keepAlive = true;
    else if (option === 'upgrade') options.upgrade = true;
    else (options.nominated ??= []).push(option);
  }
  return options;
}

/**
 * The members of a comma-separated list (RFC 9110 section 5.6.1) of tokens, without surrounding SP and HTAB, including
 * empty members. Not for lists whose members may be quoted strings.
 */
export function listMembers(value: string): string[] {
  const members: string[] = [];
  let start = 0;
  while (start <= value.length) {
    const comma = value.indexOf(',', start);
    let end = comma < 0 ? value.length : comma;
    const next = end + 1;
    while (start < end && isBlank(value.charCodeAt(start))) start++;
    while (end > start && isBlank(value.charCodeAt(end - 1))) end--;
    members.push(value.slice(start, end));
    start = next;
  }
  return members;
}
