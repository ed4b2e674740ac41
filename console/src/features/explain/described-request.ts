/**
 * The form for a described request, the description that it makes, and the link to it, which carries no secret. Pure.
 */
import { MASK } from '../../api/mask.ts';
import type { ExplainInput, HeaderField, TryInput } from '../../api/schema.ts';
import type { PageSearch } from '../../page/search-text.ts';
import { explainWords } from '../../text/explain.ts';

export interface DescribedForm {
  readonly method: string;
  readonly url: string;
  readonly host: string;
  readonly headers: string;
  readonly token: string;
  readonly clientIp: string;
  readonly bodyBytes: string;
}

export const EMPTY_FORM: DescribedForm = {
  method: 'GET',
  url: '',
  host: '',
  headers: '',
  token: '',
  clientIp: '',
  bodyBytes: '',
};

export type FormErrors = Partial<Record<keyof DescribedForm, string>>;

export interface Unclear {
  readonly errors: FormErrors;
}

/** Only these may be in an address: the names of other fields may be those of keys. */
const LINKED_HEADERS = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'access-control-request-headers',
  'access-control-request-method',
  'content-length',
  'content-type',
  'host',
  'origin',
  'user-agent',
  'x-forwarded-for',
  'x-forwarded-proto',
]);
/** Ends a part of the first line of a request, so that what follows would be read as another part. */
const SPACE = /\s/;
const HEADER_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*(.*)$/;

function headerLines(text: string): readonly HeaderField[] | number {
  const fields: HeaderField[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const [, name = '', value = ''] = HEADER_LINE.exec(line.trim()) ?? [];
    if (name === '') return index + 1;
    fields.push({ name, value });
  }
  return fields;
}

export function inputOf(form: DescribedForm): ExplainInput | Unclear {
  const fields = headerLines(form.headers);
  const bytes = form.bodyBytes.trim();
  const errors: FormErrors = {
    ...(SPACE.test(form.method.trim()) && { method: explainWords.methodSpace }),
    ...(SPACE.test(form.url.trim()) && { url: explainWords.urlSpace }),
    ...(typeof fields === 'number' && { headers: explainWords.headerLine(fields) }),
    ...(!/^\d*$/.test(bytes) && { bodyBytes: explainWords.wholeNumber }),
  };
  if (Object.keys(errors).length > 0 || typeof fields === 'number') return { errors };
  const headers = byName(fields);
  return {
    method: form.method.trim(),
    url: form.url.trim(),
    ...(form.host.trim() !== '' && { host: form.host.trim() }),
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(form.token.trim() !== '' && { token: form.token.trim() }),
    ...(form.clientIp.trim() !== '' && { client_ip: form.clientIp.trim() }),
    ...(bytes !== '' && { body_bytes: Number(bytes) }),
  };
}

export function isInput(input: ExplainInput | Unclear): input is ExplainInput {
  return !('errors' in input);
}

function byName(fields: readonly HeaderField[]): Record<string, string | readonly string[]> {
  const found = new Map<string, string[]>();
  for (const { name, value } of fields) found.set(name, [...(found.get(name) ?? []), value]);
  return Object.fromEntries(
    [...found].map(([name, values]) => [name, values.length === 1 ? (values[0] ?? '') : values]),
  );
}

/** For the address of the page: no token, no query, no user of a URL, and header fields of the list alone. */
export function linkOf(form: DescribedForm): PageSearch {
  const fields = headerLines(form.headers);
  const headers = (typeof fields === 'number' ? [] : fields)
    .filter(({ name }) => LINKED_HEADERS.has(name.toLowerCase()))
    .map(({ name, value }) => `${name}: ${value}`)
    .join('\n');
  return {
    method: form.method.trim(),
    url: urlForLink(form.url.trim()),
    host: hostForLink(form.host.trim()),
    headers,
    client_ip: form.clientIp.trim(),
    body_bytes: form.bodyBytes.trim(),
  };
}

/** A text that is certainly not a secret: a name or an address, and a port. */
const hostForLink = (host: string): string =>
  /^[\w.:[\]-]{1,255}$/.test(host) && !/hg[ka]_/.test(host) ? host : '';

function urlForLink(url: string): string {
  const path = url.replace(/[?#].*$/s, '');
  return path.replace(/^([a-z]+:\/\/)[^/]*@/i, '$1').replaceAll(/hg[ka]_[\w-]+/g, '…');
}

export function formOf(search: PageSearch): DescribedForm {
  return {
    method: search['method'] ?? EMPTY_FORM.method,
    url: search['url'] ?? '',
    host: search['host'] ?? '',
    headers: search['headers'] ?? '',
    token: '',
    clientIp: search['client_ip'] ?? '',
    bodyBytes: search['body_bytes'] ?? '',
  };
}

const WHOLE_URL = /^https?:\/\/(?:[^/?#]*@)?([^/?#]*)(.*)$/is;

/**
 * The same request, to be sent for real.
 * @param explained header fields of the explanation: they contain the field from which the route reads the
 * credential
 */
export function tryInputOf(form: DescribedForm, explained: readonly HeaderField[], body: string): TryInput {
  const fields = headerLines(form.headers);
  const typed = typeof fields === 'number' ? [] : fields;
  const [, authority, rest] = WHOLE_URL.exec(form.url.trim()) ?? [];
  const hostField = typed.find(({ name }) => name.toLowerCase() === 'host')?.value;
  const host = hostField ?? (form.host.trim() === '' ? authority : form.host.trim());
  const headers = typed
    .filter(({ name }) => name.toLowerCase() !== 'host')
    .map(({ name, value }) => [name, value]);
  if (form.token.trim() !== '') headers.push(credentialOf(form.token.trim(), typed, explained));
  const path = rest ?? form.url.trim();
  return {
    method: form.method.trim(),
    path: path.startsWith('/') ? path : `/${path}`,
    ...(host !== undefined && host !== '' && { host }),
    ...(headers.length > 0 && { headers }),
    ...(body !== '' && { body }),
  };
}

function credentialOf(
  token: string,
  typed: readonly HeaderField[],
  explained: readonly HeaderField[],
): string[] {
  const names = new Set(typed.map(({ name }) => name.toLowerCase()));
  const field = explained.find(({ name, value }) => value === MASK && !names.has(name.toLowerCase()));
  return field === undefined || field.name.toLowerCase() === 'authorization'
    ? ['Authorization', `Bearer ${token}`]
    : [field.name, token];
}
