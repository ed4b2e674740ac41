/** Identifies the caller of a certificate by the rules of `auth.mtls.callers`. Pure. */
import type { FieldError } from '../../../../model/errors.ts';
import type { Certificate } from '../../../../x509/certificate.ts';
import type { CertificateCaller } from './mtls-schema.ts';

type From = CertificateCaller['from'];

/** Characters that a `*` does not match; undefined: the star has no meaning. */
const SEPARATORS: Readonly<Record<From, string | undefined>> = {
  san_uri: '/',
  san_dns: '.',
  san_email: '@',
  subject: ',',
  fingerprint: undefined,
};

export interface FoundCaller {
  /** Index of the rule; undefined when no rule applies. */
  readonly rule: number | undefined;
  /** The value of the certificate. */
  readonly value: string;
  readonly name: string;
  readonly scopes: readonly string[];
}

/** @returns undefined if no rule fits */
export function findCaller(
  rules: readonly CertificateCaller[] | undefined,
  certificate: Certificate,
): FoundCaller | undefined {
  if (rules === undefined) {
    const value = certificate.subjectText === '' ? certificate.fingerprint : certificate.subjectText;
    return { rule: undefined, value, name: value, scopes: [] };
  }
  for (const [rule, { from, value: pattern, name, scopes = [] }] of rules.entries()) {
    const wanted = comparable(from, pattern);
    const value = valuesOf(certificate, from).find((each) => fits(each, wanted, SEPARATORS[from]));
    if (value !== undefined) return { rule, value, name: name ?? value, scopes };
  }
  return undefined;
}

function valuesOf(certificate: Certificate, from: From): readonly string[] {
  switch (from) {
    case 'san_uri':
      return certificate.names.uris;
    case 'san_dns':
      return certificate.names.dns;
    case 'san_email':
      return certificate.names.emails;
    case 'subject':
      return certificate.subjectText === '' ? [] : [certificate.subjectText];
    case 'fingerprint':
      return [certificate.fingerprint];
  }
}

/** Case makes no difference in DNS names; a fingerprint may be written with colons. */
function comparable(from: From, pattern: string): string {
  if (from === 'san_dns') return pattern.toLowerCase();
  return from === 'fingerprint' ? pattern.replaceAll(':', '').toLowerCase() : pattern;
}

function fits(value: string, pattern: string, separator: string | undefined): boolean {
  const star = separator === undefined ? -1 : pattern.indexOf('*');
  if (separator === undefined || star < 0) return value === pattern;
  const [start, end] = [pattern.slice(0, star), pattern.slice(star + 1)];
  // The star stands for at least one character.
  if (value.length <= start.length + end.length || !value.startsWith(start) || !value.endsWith(end))
    return false;
  const middle = value.slice(start.length, value.length - end.length);
  // The comma of `CN=a\,O=b` is part of a name: no attribute follows it.
  return !(separator === ',' && endsWithinEscape(middle)) && !middle.includes(separator);
}

/** RFC 4514: an odd number of backslashes at the end escapes the character behind it. */
function endsWithinEscape(text: string): boolean {
  let count = 0;
  while (text.charAt(text.length - 1 - count) === '\\') count += 1;
  return count % 2 === 1;
}

/** @param pointer pointer to `callers` */
export function callerErrors(rules: readonly CertificateCaller[], pointer: string): FieldError[] {
  return rules.flatMap(({ from, value }, index) => {
    const detail = valueProblem(from, value);
    return detail === undefined ? [] : [{ pointer: `${pointer}/${index}/value`, detail }];
  });
}

function valueProblem(from: From, value: string): string | undefined {
  if (from === 'fingerprint')
    return /^[0-9a-f]{64}$/.test(comparable(from, value))
      ? undefined
      : 'must be a SHA-256: 64 hexadecimal digits, with or without colons';
  return value.split('*').length > 2 ? 'must not contain more than one "*"' : undefined;
}
