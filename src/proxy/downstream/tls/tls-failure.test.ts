import { describe, expect, it } from 'vitest';
import { errorCodeOf, handshakeFailure } from './tls-failure.ts';

describe('handshakeFailure', () => {
  it.each([
    ['ERR_SSL_HTTP_REQUEST', 'not_tls'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'not_tls'],
    ['ERR_SSL_UNSUPPORTED_PROTOCOL', 'version'],
    ['ERR_SSL_NO_SHARED_CIPHER', 'cipher'],
    ['ERR_SSL_NO_APPLICATION_PROTOCOL', 'application_protocol'],
    ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', 'alert'],
    ['ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED', 'alert'],
    ['ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE', 'alert'],
    ['ERR_TLS_HANDSHAKE_TIMEOUT', 'timeout'],
    ['ECONNRESET', 'closed'],
    ['ERR_SSL_SOMETHING_NEW', 'other'],
    ['', 'other'],
  ])('%s is %s', (code, reason) => {
    expect(handshakeFailure(code)).toBe(reason);
  });

  it.each([
    [Object.assign(new Error('x'), { code: 'ECONNRESET' }), 'ECONNRESET'],
    [Object.assign(new Error('x'), { code: 7 }), ''],
    [new Error('x'), ''],
    [undefined, ''],
  ])('the code of %s is "%s"', (error, code) => {
    expect(errorCodeOf(error)).toBe(code);
  });
});
