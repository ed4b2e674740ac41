/**
 * Classifies why a client's TLS handshake failed, for metrics and log. The TLS library reports a code that ends in its
 * own words (`ERR_SSL_NO_SHARED_CIPHER`).
 */

export type HandshakeFailure =
  /** The client does not speak TLS: plain HTTP, the PROXY protocol, noise. */
  | 'not_tls'
  /** No TLS version in common. */
  | 'version'
  | 'cipher'
  /** There is no certificate for the name, or none whose kind of key the client can verify. */
  | 'no_certificate'
  /** No protocol over TLS (ALPN) in common. */
  | 'application_protocol'
  /** The client ended the handshake with an alert, usually because it does not accept the certificate. */
  | 'alert'
  | 'timeout'
  /** The client closed the connection, like a port probe. */
  | 'closed'
  | 'other';

const BY_CODE: ReadonlyMap<string, HandshakeFailure> = new Map<string, HandshakeFailure>([
  ['ERR_SSL_HTTP_REQUEST', 'not_tls'],
  ['ERR_SSL_HTTPS_PROXY_REQUEST', 'not_tls'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'not_tls'],
  ['ERR_SSL_DATA_LENGTH_TOO_LONG', 'not_tls'],
  ['ERR_SSL_PACKET_LENGTH_TOO_LONG', 'not_tls'],
  ['ERR_SSL_UNEXPECTED_MESSAGE', 'not_tls'],
  ['ERR_SSL_BAD_RECORD_TYPE', 'not_tls'],
  ['ERR_SSL_UNSUPPORTED_PROTOCOL', 'version'],
  ['ERR_SSL_VERSION_TOO_LOW', 'version'],
  ['ERR_SSL_NO_SHARED_CIPHER', 'cipher'],
  ['ERR_SSL_NO_SUITABLE_SIGNATURE_ALGORITHM', 'no_certificate'],
  ['ERR_SSL_NO_APPLICATION_PROTOCOL', 'application_protocol'],
  ['ERR_TLS_HANDSHAKE_TIMEOUT', 'timeout'],
  ['ECONNRESET', 'closed'],
  ['EPIPE', 'closed'],
]);

export function handshakeFailure(code: string): HandshakeFailure {
  const known = BY_CODE.get(code);
  if (known !== undefined) return known;
  return /^ERR_SSL_.*_ALERT_/.test(code) ? 'alert' : 'other';
}

/** The code of an error, which contains names only; '' without one. */
export function errorCodeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : '';
}
