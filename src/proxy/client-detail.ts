/**
 * What a client is told about an error, beside its code. Details name what an operator has to look at: addresses of
 * backends and what the system said about them, labels of revisions, endpoints that the client did not ask for. Those
 * are for the log, the access line and explain, where the request id finds them; a stranger gets a plain sentence.
 */
import type { ErrorCode } from '../model/errors.ts';

const SENTENCES: Partial<Readonly<Record<ErrorCode, string>>> = {
  version_retired: 'This version is retired',
  endpoint_disabled: 'This endpoint is disabled',
  no_revision: 'No backend serves this version at the moment',
  upstream_connect_failed: 'The gateway could not reach the backend',
  upstream_denied: 'The gateway may not connect to the backend',
  upstream_reset: 'The backend ended the connection before its response was complete',
  upstream_bad_response: 'The response of the backend could not be read',
  upstream_timeout: 'The backend did not answer in time',
  circuit_open: 'The backend is failing; requests are held back for a while',
  overloaded: 'The gateway cannot take more requests at the moment',
  jwt_keys_unavailable: 'The keys that tokens are verified with are not available at the moment',
  internal_error: 'The gateway could not handle the request',
};

/**
 * The sentence for the client.
 * @param detail what an operator is told
 * @param sentence of this very error, where those of its code have different ones
 */
export function clientDetail(code: ErrorCode, detail: string, sentence: string | undefined): string {
  return sentence ?? SENTENCES[code] ?? detail;
}
