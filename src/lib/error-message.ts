/**
 * The words of an error. Of a connection whose server has a certificate of an authority that is not trusted: Node.js
 * adds how to start it to such a message; the setting that names the authority is of more use.
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

/** Whether no authority that is trusted has issued the certificate; `code` is that of the error. */
export function isUntrusted(code: unknown): boolean {
  return UNTRUSTED.has(code);
}

/**
 * The message of a failed connection.
 * @param authoritySetting the setting that names further authorities
 */
export function connectionText(error: unknown, authoritySetting: string): string {
  const text = messageOf(error).replace(ADVICE_OF_NODE, '');
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return isUntrusted(code) ? `${text}: name its authority in ${authoritySetting}` : text;
}

/** The message and the code, which Node.js writes into some messages itself (`connect ECONNREFUSED 127.0.0.1:80`). */
export function textWithCode(message: string, code: string): string {
  return code === '' || message.includes(code) ? message : `${message} (${code})`;
}

/** The message of what was thrown, whatever it is. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
