import { expect, it } from 'vitest';
import { failureText } from './upstream-failure.ts';
import { connectFailure } from './upstream-socket.ts';

it.each([
  ['ECONNREFUSED', 'connect', 'cannot connect (ECONNREFUSED)'],
  ['EMFILE', 'connect', 'ulimit -n'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls', 'backend_scheme'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls', 'backend_tls.server_name'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls', 'backend_tls.ca'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'tls', 'backend_tls.ca'],
  ['CERT_HAS_EXPIRED', 'tls', 'its certificate has expired (CERT_HAS_EXPIRED)'],
  ['ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR', 'tls', 'cannot connect (ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR)'],
])('of a connection that ends with %s, the words say what to do', (code, cause, words) => {
  const failure = connectFailure(Object.assign(new Error('failed'), { code }));
  expect(failure.cause).toBe(cause);
  expect(failureText(failure)).toContain(words);
});
