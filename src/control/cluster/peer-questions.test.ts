/** Questions among gateways: a defect of an answer is not the same as no answer. */
import { expect, it } from 'vitest';
import { unusableDatabase } from '../../storage/storage-errors.ts';
import { PeerQuestions } from './peer-questions.ts';

/** Two gateways that hear each other. */
function two(answer: () => Promise<string>) {
  const hearers: ((text: string) => void)[] = [];
  const lines: string[] = [];
  const error = (_fields: object, text: string): void => void lines.push(text);
  const gateway = (selfId: string, peer: string) => {
    const cluster = {
      selfId,
      peers: [{ id: peer, name: peer }],
      listen: (hear: (text: string) => void) => void hearers.push(hear),
      send: async (_node: string | undefined, texts: readonly string[]) =>
        texts.forEach((text) => hearers.forEach((hear) => hear(text))),
    };
    return new PeerQuestions({ cluster, kind: 'state', answer, log: { error } as never });
  };
  const asking = gateway('a', 'b');
  gateway('b', 'a');
  return { asking, lines };
}

it('an answer that fails for the database is silent; a defect is logged once until one works', async () => {
  let fail: Error | undefined = unusableDatabase('it was stopped');
  const { asking, lines } = two(async () => {
    if (fail !== undefined) throw fail;
    return 'fine';
  });
  expect((await asking.ask('now')).texts.size).toBe(0);
  expect(lines).toEqual([]);
  fail = new TypeError('a defect');
  for (let time = 0; time < 3; time++) expect((await asking.ask('now')).texts.size).toBe(0);
  expect(lines).toEqual(['cannot answer another gateway, which shows this one without its data']);
  fail = undefined;
  expect((await asking.ask('now')).texts.get('b')).toBe('fine');
  fail = new TypeError('a defect');
  await asking.ask('now');
  expect(lines).toHaveLength(2);
});
