/**
 * Reads request bodies: the media type, strict JSON, the schema of the operation. An empty body counts as none, even
 * with a Content-Type, since many clients always send one.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { fail, invalid, type Failure } from './failure.ts';
import { JSON_TYPE, MERGE_PATCH_TYPE, type OperationBody } from './operation.ts';
import { isMaskedAt } from '../write/policy-secrets-view.ts';
import { parseJson } from './strict-json.ts';
import { validate } from './validate.ts';

export const BODY_BYTES_MAX = 1_048_576;

/** The value of a body, or why it cannot be read; undefined for an empty one. Content codings are not undone. */
export function readBody(
  bytes: Buffer,
  headers: IncomingHttpHeaders,
  method: string,
): { readonly value: unknown } | Failure {
  const coding = headers['content-encoding'] ?? 'identity';
  if (coding.trim().toLowerCase() !== 'identity') {
    const detail = `The Content-Encoding "${coding}" is not supported: send the body without a content coding`;
    // RFC 9110 section 12.5.3: says what would have been accepted.
    return { ...fail('unsupported_media_type', detail), headers: { 'Accept-Encoding': 'identity' } };
  }
  const contentType = headers['content-type'] ?? '';
  const [type = '', ...parameters] = contentType
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  if (type !== JSON_TYPE && !(type === MERGE_PATCH_TYPE && method === 'PATCH')) {
    const wanted = method === 'PATCH' ? `${JSON_TYPE} or ${MERGE_PATCH_TYPE}` : JSON_TYPE;
    return fail('unsupported_media_type', `The Content-Type "${contentType}" must be ${wanted}`);
  }
  const charset = parameters.find((parameter) => parameter.startsWith('charset='));
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset)) {
    return fail('unsupported_media_type', `The ${charset} must be utf-8`);
  }
  if (bytes.length === 0) return { value: undefined };
  const parsed = parseJson(bytes);
  return 'error' in parsed ? fail('invalid_json', `The body ${parsed.error}`) : parsed;
}

/** Checks the body of an operation before its handler gets it. */
export function checkBody(body: OperationBody, value: unknown): Failure | undefined {
  if (value === undefined || (value === null && !body.required)) {
    return body.required
      ? fail('invalid_json', 'The body is empty, but a JSON object is required')
      : undefined;
  }
  const errors = validate(body.schema, value);
  // The handler restores the stored secret and checks the result.
  const wrong = body.keepsMaskedSecrets
    ? errors.filter((error) => !isMaskedAt(value, error.pointer))
    : errors;
  if (wrong.length === 0) return undefined;
  return invalid(
    wrong.map((error) =>
      body.readOnly?.has(error.pointer.slice(1)) === true
        ? { ...error, detail: 'can only be read, not written' }
        : error,
    ),
  );
}
