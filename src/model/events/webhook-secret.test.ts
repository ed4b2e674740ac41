import { expect, test } from 'vitest';
import { webhookSecret, webhookSecretError, webhookSignature } from './webhook-secret.ts';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const CONTENT = {
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  timestampSecs: 1_614_265_330,
  body: '{"test": 2432232314}',
};

test('the signature is that of the example of Standard Webhooks', () => {
  expect(webhookSignature([SECRET], CONTENT)).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
});

test('during a rotation both secrets sign', () => {
  const other = webhookSecret(Buffer.alloc(32, 1));
  const [first, second] = webhookSignature([other, SECRET], CONTENT).split(' ');
  expect(first).toBe(webhookSignature([other], CONTENT));
  expect(second).toBe(webhookSignature([SECRET], CONTENT));
});

test.each([
  ['', true],
  ['MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', true],
  ['whsec_c2hvcnQ=', true],
  ['whsec_not base64 not base64 not base64', true],
  [`whsec_${Buffer.alloc(65).toString('base64')}`, true],
  [SECRET, false],
  [webhookSecret(Buffer.alloc(64)), false],
])('the secret %j is refused: %s', (secret, isRefused) => {
  expect(webhookSecretError(secret) !== undefined).toBe(isRefused);
});
