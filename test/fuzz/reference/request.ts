/**
 * The slow, obvious twin of `RequestHead`: splits lines, matches each with one regular expression, keeps lists. It
 * says whether a head is acceptable and what is in it, not why it is refused.
 */
import { isIPv6 } from 'node:net';

export type ReferenceRequest = {
  readonly method: string;
  readonly target: string;
  readonly httpMinor: number;
  readonly host: string;
  readonly fields: ReadonlyArray<readonly [name: string, value: string]>;
  readonly framing: 'none' | 'chunked' | number;
  readonly persistent: boolean;
};

const requestLine = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}) ([\x21\x22\x24-\x7e]+) HTTP\/1\.([01])$/;
const fieldLine = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):([\t\x20-\x7e\x80-\xff]*)$/;
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** What is in the head, or undefined when it must be refused. `text` as for `RequestHead.parse`. */
export function referenceRequest(
  text: string,
  limits: { readonly maxTargetBytes: number; readonly maxHeaders: number },
): ReferenceRequest | undefined {
  if (!text.endsWith('\r\n')) return undefined;
  const [first = '', ...rest] = text.slice(0, -2).split('\r\n');
  const line = requestLine.exec(first);
  if (line === null) return undefined;
  const [, method = '', rawTarget = '', minor = ''] = line;
  if (rawTarget.length > limits.maxTargetBytes || rest.length > limits.maxHeaders) return undefined;
  const fields: Array<readonly [string, string]> = [];
  for (const one of rest) {
    const field = fieldLine.exec(one);
    if (field === null) return undefined;
    const [, name = '', raw = ''] = field;
    if (/^(content-length|transfer-encoding)$/i.test(name) && endsWithTab(raw)) return undefined;
    fields.push([name, trimBlanks(raw)]);
  }
  const valuesOf = (name: string) =>
    fields.filter(([key]) => key.toLowerCase() === name).map(([, value]) => value);
  const framing = framingOf(valuesOf, minor);
  const destination = destinationOf(method, rawTarget, valuesOf('host'), minor);
  const options = valuesOf('connection')
    .flatMap((value) => value.split(',').map(trimBlanks))
    .filter((option) => option !== '');
  if (framing === undefined || destination === undefined || !options.every((option) => token.test(option)))
    return undefined;
  if (valuesOf('authorization').length > 1) return undefined;
  if (minor === '1' && !/^(100-continue)?$/i.test(valuesOf('expect').join())) return undefined;
  if (minor === '1' && valuesOf('expect')[0] === '') return undefined;
  const has = (option: string) => options.some((one) => one.toLowerCase() === option);
  const persistent = !has('close') && (minor === '1' || has('keep-alive'));
  return { method, ...destination, httpMinor: Number(minor), fields, framing, persistent };
}

/** Without spaces and tabs around it. Loops, since an expression for the end of a text grows with its square. */
function trimBlanks(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && ' \t'.includes(text[start]!)) start++;
  while (end > start && ' \t'.includes(text[end - 1]!)) end--;
  return text.slice(start, end);
}

/** A tab among the blanks behind the value, or among the blanks of an empty one but for the first. */
function endsWithTab(raw: string): boolean {
  const tab = raw.lastIndexOf('\t');
  return tab >= 0 && trimBlanks(raw.slice(tab)) === '' && /[^ ]/.test(raw.slice(0, tab));
}

function framingOf(
  valuesOf: (name: string) => string[],
  minor: string,
): ReferenceRequest['framing'] | undefined {
  const lengths = valuesOf('content-length');
  const codings = valuesOf('transfer-encoding');
  if (lengths.length + codings.length === 0) return 'none';
  if (lengths.length + codings.length > 1) return undefined;
  if (codings[0] !== undefined) return /^chunked$/i.test(codings[0]) && minor === '1' ? 'chunked' : undefined;
  const length = lengths[0] ?? '';
  return /^(0|[1-9][0-9]{0,15})$/.test(length) && BigInt(length) < 2n ** 53n ? Number(length) : undefined;
}

function destinationOf(
  method: string,
  rawTarget: string,
  hosts: readonly string[],
  minor: string,
): { target: string; host: string } | undefined {
  const [host = ''] = hosts;
  if (method === 'CONNECT' || hosts.length > 1 || (hosts.length === 0 && minor === '1')) return undefined;
  if (hosts.length === 1 && !isReferenceHost(host)) return undefined;
  if (rawTarget === '*') return method === 'OPTIONS' ? { target: '*', host } : undefined;
  if (rawTarget.startsWith('/')) return rawTarget.startsWith('//') ? undefined : { target: rawTarget, host };
  const url = /^https?:\/\/([^/?]*)(.*)$/i.exec(rawTarget);
  if (url === null || !isReferenceHost(url[1] ?? '')) return undefined;
  const target = (url[2] ?? '').startsWith('/') ? (url[2] ?? '') : `/${url[2] ?? ''}`;
  return target.startsWith('//') ? undefined : { target, host: url[1] ?? '' };
}

function isReferenceHost(authority: string): boolean {
  const parts = /^(\[[^\]%]*\]|[A-Za-z0-9_-][A-Za-z0-9._-]*)(?::([0-9]{1,5}))?$/.exec(authority);
  if (parts === null || Number(parts[2] ?? 0) > 65_535) return false;
  const name = parts[1] ?? '';
  return name.startsWith('[') ? isIPv6(name.slice(1, -1)) : name.length <= 255 && !name.includes('..');
}
