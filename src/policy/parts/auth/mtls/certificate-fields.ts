/**
 * The fields that carry a verified certificate to the backend: `Client-Cert` (RFC 9440 section 2), or
 * `X-Forwarded-Client-Cert` in the form that Envoy gives it. Pure.
 */
import type { Certificate } from '../../../../x509/certificate.ts';
import type { MtlsSettings } from './mtls-schema.ts';

/** A field that would be longer is left out: most backends refuse longer lines. */
const CERTIFICATE_FIELD_CHARS_MAX = 16_384;

/** `Name: value\r\n`, or ''. */
export function certificateLine(forward: MtlsSettings['forward'], certificate: Certificate): string {
  const line = lineOf(forward, certificate);
  return line.length > CERTIFICATE_FIELD_CHARS_MAX ? '' : line;
}

function lineOf(forward: MtlsSettings['forward'], certificate: Certificate): string {
  if (forward === 'client_cert') return `Client-Cert: :${certificate.raw.toString('base64')}:\r\n`;
  if (forward !== 'x_forwarded_client_cert') return '';
  const { fingerprint, subjectText, names, raw } = certificate;
  const members = [
    `Hash=${fingerprint}`,
    `Cert="${encodeURIComponent(pemOf(raw))}"`,
    // RFC 4514 has escaped quotes and backslashes in it.
    `Subject="${visible(subjectText)}"`,
    ...names.uris.map((uri) => `URI=${quotedIfOdd(uri)}`),
    ...names.dns.map((name) => `DNS=${quotedIfOdd(name)}`),
  ];
  return `X-Forwarded-Client-Cert: ${members.join(';')}\r\n`;
}

function pemOf(raw: Buffer): string {
  const lines = raw.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

/** A value that could be taken for more than one, as Envoy quotes it. */
function quotedIfOdd(value: string): string {
  return /[",;=\\]/.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : value;
}

/** Characters that a line cannot have, and `%`, are percent-encoded, as UTF-8. */
function visible(text: string): string {
  return text.replace(/[^ -~]|%/gu, (character) =>
    [...Buffer.from(character, 'utf8')]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
      .join(''),
  );
}
