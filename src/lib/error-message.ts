/**
 * Texts for errors. When the certificate of a server comes from an authority that is not trusted, Node.js adds
 * advice about its own command line; these texts name the setting for further authorities instead.
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

/** Whether the error means that no trusted authority has issued the certificate. @param code `code` of the error */
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

/** The message of a thrown value of any type. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
