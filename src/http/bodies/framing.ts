/**
 * How a message body is delimited (RFC 9112 section 6), as far as requests and responses have it in common. Stricter
 * than the RFC, which lets a recipient repair some messages: refused are Content-Length with Transfer-Encoding,
 * repeated Content-Length (also with equal values), leading zeros, and any coding except a single `chunked`. A HTAB
 * after the value is refused too, although RFC 9110 section 5.6.3 allows it: some servers treat it as part of the value
 * and then see another coding or another length.
 */
import { isToken } from '../characters.ts';
import { listMembers } from '../fields/connection-options.ts';
import { headError, type HeadError } from '../heads/head-error.ts';
import { HeaderKind } from '../heads/header-kind.ts';

export const BodyFraming = Object.freeze({
  none: 0,
  contentLength: 1,
  chunked: 2,
  /** Responses only: the body lasts until the upstream closes the connection. */
  untilClose: 3,
} as const);

export type BodyFraming = (typeof BodyFraming)[keyof typeof BodyFraming];

type FramingFields = {
  first(kind: HeaderKind): number;
  repeated(kind: HeaderKind): boolean;
  value(index: number): string;
  hasTabAfter(index: number): boolean;
};

const SAFE_DIGITS = 16;

/** The only Content-Length in octets, -1 when there is none; an integer up to 2^53 - 1. */
export function contentLengthOf(fields: FramingFields): number | HeadError {
  const index = fields.first(HeaderKind.contentLength);
  if (index < 0) return -1;
  if (fields.repeated(HeaderKind.contentLength)) {
    return headError(400, 'duplicate_content_length', 'The message has more than one Content-Length field.');
  }
  const value = fields.value(index);
  let length = 0;
  for (let i = 0; i < value.length; i++) {
    const digit = value.charCodeAt(i) - 0x30;
    if (digit < 0 || digit > 9) return badContentLength;
    if (i < SAFE_DIGITS) length = length * 10 + digit;
  }
  if (value.length === 0 || (value.length > 1 && value.startsWith('0'))) return badContentLength;
  if (fields.hasTabAfter(index)) return badContentLength;
  if (value.length > SAFE_DIGITS || length > Number.MAX_SAFE_INTEGER) {
    return headError(
      413,
      'content_too_large',
      'The Content-Length is larger than any body the gateway can count.',
    );
  }
  return length;
}

const badContentLength = headError(
  400,
  'bad_content_length',
  'The Content-Length is not a decimal number without sign, leading zeros, list or tab.',
);

/**
 * Whether the message is chunked. Returns an error unless all Transfer-Encoding fields together are exactly `chunked`:
 * 501 for a well-formed list of other codings, 400 for anything else.
 */
export function isChunked(fields: FramingFields): boolean | HeadError {
  const index = fields.first(HeaderKind.transferEncoding);
  if (index < 0) return false;
  if (fields.repeated(HeaderKind.transferEncoding)) {
    return headError(
      400,
      'duplicate_transfer_encoding',
      'The message has more than one Transfer-Encoding field.',
    );
  }
  if (fields.hasTabAfter(index)) {
    return headError(400, 'bad_transfer_encoding', 'The value of Transfer-Encoding ends with a tab.');
  }
  const value = fields.value(index);
  if (value === 'chunked' || value.toLowerCase() === 'chunked') return true;
  return transferCodingError(value);
}

function transferCodingError(value: string): HeadError {
  const codings = listMembers(value);
  if (!codings.every(isToken)) {
    return headError(
      400,
      'bad_transfer_encoding',
      'The Transfer-Encoding field is not a list of coding names.',
    );
  }
  const position = codings.findIndex((coding) => coding.toLowerCase() === 'chunked');
  if (position >= 0 && position < codings.length - 1) {
    return headError(400, 'bad_transfer_encoding', 'The chunked coding must be applied once and last.');
  }
  return headError(501, 'unsupported_transfer_coding', 'The only transfer coding supported is chunked.');
}
