import { expect, it } from 'vitest';
import { isRetryableError, isRetryableStatus, retryPauseMs } from './export-answers.ts';

it('tries again where the specification says so', () => {
  const retried = Array.from({ length: 500 }, (_, index) => index + 100).filter(isRetryableStatus);
  expect(retried).toEqual([429, 502, 503, 504]);
  const error = (code: string): Error => Object.assign(new Error('x'), { code });
  expect(['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND'].map((code) => isRetryableError(error(code)))).toEqual([
    true,
    true,
    true,
  ]);
  expect(isRetryableError(error('CERT_HAS_EXPIRED'))).toBe(false);
  expect(isRetryableError(new Error('x'))).toBe(false);
});

it('waits longer each time, and not for ever', () => {
  const pauses = [0, 1, 2, 3, 4, 5].map((retry) => retryPauseMs(retry, 0.5));
  expect(pauses).toEqual([1_000, 1_500, 2_250, 3_375, 5_000, undefined]);
  expect([retryPauseMs(0, 0), retryPauseMs(0, 1)]).toEqual([800, 1_200]);
});
