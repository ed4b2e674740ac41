import { expect, it } from 'vitest';
import { isFailure } from '../api/failure.ts';
import { WriteGate } from './write-gate.ts';

it('a write that goes on for too long while another process takes over is not committed', async () => {
  const gate = new WriteGate(5);
  const { promise, resolve } = Promise.withResolvers<string>();
  const running = gate.run(() => promise);
  expect(() => gate.assertOpen()).not.toThrow();
  await gate.close();
  expect(() => gate.assertOpen()).toThrow('another gateway process is taking over');
  expect(isFailure((await gate.run(async () => 'late')) as object)).toBe(true);
  // The other process has failed.
  gate.reopen();
  expect(() => gate.assertOpen()).not.toThrow();
  resolve('done');
  expect(await running).toBe('done');
});

it('a write that is refused is not waited for', async () => {
  const gate = new WriteGate(60_000);
  const running = gate.run(() => Promise.reject(new Error('refused')));
  await Promise.all([gate.close(), expect(running).rejects.toThrow('refused')]);
});
