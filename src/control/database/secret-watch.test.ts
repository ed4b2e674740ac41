import { expect, it } from 'vitest';
import type { SealedCount, SecretStore } from '../../storage/secret-store.ts';
import { SecretWatch } from './secret-watch.ts';

it('says what cannot be decrypted, once, until it can be', async () => {
  const lines: string[] = [];
  const note = (level: string) => (first: unknown, text?: string) =>
    void lines.push(`${level} ${text ?? String(first)}`);
  const log = { warn: note('warn'), info: note('info'), debug: () => undefined };
  const unreadable: SealedCount = { place: 'history', keyId: 'abcdefgh', state: 'unreadable', count: 3 };
  const answers: (readonly SealedCount[] | 'away')[] = [
    'away',
    [unreadable, { ...unreadable, place: 'webhooks', count: 1 }],
    [unreadable],
    [unreadable],
    'away',
    [{ ...unreadable, state: 'current' }],
  ];
  const seen: (string | undefined)[] = [];
  const secrets: Pick<SecretStore, 'keyName' | 'count'> = {
    keyName: 'GATEWAY_SECRET_KEY',
    count: async () => {
      seen.push(watch.problem);
      const answer = answers.shift() ?? [];
      if (answer === 'away') throw new Error('no database');
      return answer;
    },
  };
  const watch = new SecretWatch({ repository: { secrets: secrets as SecretStore }, log, againMs: 1 });
  watch.start();
  await expect.poll(() => lines.at(-1)).toBe('info all secrets can be decrypted again');
  expect(seen.map((text) => text?.slice(0, text.indexOf(':')))).toEqual([
    undefined,
    undefined,
    '4 stored values cannot be decrypted (history, webhooks)',
    '3 stored values cannot be decrypted (history)',
    '3 stored values cannot be decrypted (history)',
    '3 stored values cannot be decrypted (history)',
  ]);
  expect(watch.problem).toBeUndefined();
  expect(lines.filter((line) => line.startsWith('warn'))).toHaveLength(2);
  expect(answers).toEqual([]);
});
