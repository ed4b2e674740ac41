/**
 * Texts for errors. When the certificate of a server comes from an authority that is not trusted, Node.js adds
 * advice about its own command line; these texts name the setting for further authorities instead. Errors of the
 * operating system and of OpenSSL are in words, without the code, the call and the path that Node.js writes into them.
 */

const UNTRUSTED: ReadonlySet<unknown> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
]);
const ADVICE_OF_NODE = /; if the root CA is installed locally, try running Node\.js with --use-system-ca/;

/**
 * An error of OpenSSL, with its source file in most cases: `error:0A00045C:SSL routines:ssl3_read_bytes:tlsv13 alert
 * certificate required:../deps/openssl/openssl/ssl/record/rec_layer_s3.c:918:SSL alert number 116`.
 */
const OPENSSL = /\berror:[0-9A-F]{8}:[^:]*:[^:]*:([^:\n]+)/;
export const CERTIFICATE_REQUIRED = 'the server requires a certificate from its clients';
export const NOT_TLS = 'the server does not answer in TLS';
const CERTIFICATE_REFUSED = 'the server does not accept the certificate of its client';
const OPENSSL_WORDS: ReadonlyMap<string, string> = new Map([
  ['tlsv13 alert certificate required', CERTIFICATE_REQUIRED],
  [
    'ssl/tls alert handshake failure',
    `the server refuses the TLS handshake: perhaps ${CERTIFICATE_REQUIRED}`,
  ],
  ['tlsv1 alert unknown ca', CERTIFICATE_REFUSED],
  ['ssl/tls alert bad certificate', CERTIFICATE_REFUSED],
  ['ssl/tls alert certificate expired', `${CERTIFICATE_REFUSED}: it has expired`],
  ['ssl/tls alert certificate revoked', `${CERTIFICATE_REFUSED}: it was revoked`],
  ['tlsv1 alert access denied', CERTIFICATE_REFUSED],
  ['wrong version number', NOT_TLS],
  ['packet length too long', NOT_TLS],
  ['key values mismatch', 'certificate and key do not belong together'],
  ['no start line', 'it is not in PEM'],
  ['bad end line', 'its PEM is damaged'],
  ['unsupported', 'it is not a private key in PEM without a passphrase'],
]);

/** Whether the error means that no trusted authority has issued the certificate. @param code `code` of the error */
export function isUntrusted(code: unknown): boolean {
  return UNTRUSTED.has(code);
}

/**
 * The message of a failed connection.
 * @param authoritySetting the setting that names further authorities
 */
export function connectionText(error: unknown, authoritySetting: string): string {
  const text = tlsWords(messageOf(error)).replace(ADVICE_OF_NODE, '');
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return isUntrusted(code) ? `${text}: name its authority in ${authoritySetting}` : text;
}

/** Puts an error of OpenSSL into words; other texts stay as they are. */
export function tlsWords(message: string): string {
  const reason = OPENSSL.exec(message)?.[1]?.trim();
  return reason === undefined
    ? message
    : (OPENSSL_WORDS.get(reason.toLowerCase()) ?? `TLS failed: ${reason}`);
}

/** The message and the code, which Node.js writes into some messages itself (`connect ECONNREFUSED 127.0.0.1:80`). */
function textWithCode(message: string, code: string): string {
  return code === '' || message.includes(code) ? message : `${message} (${code})`;
}

/**
 * Why a request to another server failed.
 * @param timeoutMs the time limit of the request
 * @param authoritySetting the setting that names further authorities
 */
export function requestText(error: unknown, timeoutMs: number, authoritySetting: string): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `no answer within ${timeoutMs} ms`;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (isUntrusted(code)) return connectionText(error, authoritySetting);
  return textWithCode(error.message === '' ? error.name : tlsWords(error.message), code);
}

/** The message of a thrown value of any type. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

const WORDS: ReadonlyMap<string, string> = new Map([
  ['EACCES', 'permission denied'],
  ['EPERM', 'operation not permitted'],
  ['EROFS', 'the file system is read-only'],
  ['EISDIR', 'it is a folder'],
  ['ENOTDIR', 'a part of the path is not a folder'],
  ['ENOENT', 'it does not exist'],
  ['EEXIST', 'something else has this name'],
  ['ENOSPC', 'the disk is full'],
  ['EDQUOT', 'the disk quota is used up'],
  ['EFBIG', 'the file would be larger than is allowed'],
  ['EIO', 'the disk reports an error'],
  ['ENAMETOOLONG', 'the name is too long'],
  ['ELOOP', 'it is a loop of symbolic links'],
  ['EMFILE', 'too many files are open'],
  ['ENFILE', 'too many files are open on this machine'],
  ['ENOTSUP', 'the file system cannot do it'],
  ['EADDRINUSE', 'another process listens there'],
  ['EADDRNOTAVAIL', 'this machine does not have that address'],
  ['ENOTFOUND', 'the name has no address'],
]);

/** The code of an error of the system, such as `EACCES`; '' for other errors. */
export function systemCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** Why the system refused, in words; the message of errors that are none of these. */
export function systemReason(error: unknown): string {
  return WORDS.get(systemCode(error)) ?? messageOf(error);
}
