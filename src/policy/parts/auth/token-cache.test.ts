import { hash, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { API_KEY_PREFIX, createToken, TOKEN_LENGTH } from '../../../model/token.ts';
import { readHash, WordBuffer } from '../../../keys/key-words.ts';
import { TOKEN_MEMORY_BYTES_MAX, TokenMemory, TOKENS_REMEMBERED_MAX } from './token-cache.ts';

const newToken = (): string => createToken(API_KEY_PREFIX, randomBytes(32));
/** Of the right length, and as unlike each other as counting allows. */
const tokenOf = (index: number): string =>
  `${API_KEY_PREFIX}${String(index).padStart(TOKEN_LENGTH - API_KEY_PREFIX.length, '0')}`;

/** The words of a hash that says which token it belongs to. */
function numbered(number: number): WordBuffer {
  const words = new WordBuffer(8);
  words.words.fill(number);
  return words;
}

interface Made {
  readonly memory: TokenMemory<string>;
  readonly dropped: string[];
}
function make(
  valuesMax = 100,
  missesMin = 100,
  setsMax?: number,
  isKnown: (number: number) => boolean = () => true,
): Made {
  const dropped: string[] = [];
  const limits = { valuesMax, missesMin, ...(setsMax === undefined ? {} : { setsMax }) };
  const owner = {
    isKnown: ({ words }: WordBuffer) => isKnown(words[0] as number),
    onDropped: (value: string) => void dropped.push(value),
  };
  return { memory: new TokenMemory(limits, owner), dropped };
}

/** What is remembered as the hash of a token: its number, NaN for words that are not of one. */
function found(memory: TokenMemory<string>, token: string): number | undefined {
  const place = memory.find(token);
  if (place < 0) return undefined;
  const into = new WordBuffer(8);
  memory.copyHash(place, into);
  return into.words.every((word) => word === into.words[0]) ? into.words[0] : NaN;
}
const known = (memory: TokenMemory<string>, count: number): number[] =>
  Array.from({ length: count }, (_, index) => index).filter(
    (index) => found(memory, tokenOf(index)) === index,
  );

describe('the hashes of tokens', () => {
  it('are given back as they were added', () => {
    const { memory } = make();
    const token = newToken();
    const sha256 = new WordBuffer(8);
    readHash(hash('sha256', token), sha256);
    expect(memory.find(token)).toBe(-1);
    const place = memory.add(token, sha256);
    expect(memory.find(token)).toBe(place);
    const into = new WordBuffer(8);
    memory.copyHash(place, into);
    expect(into.bytes.toString('hex')).toBe(hash('sha256', token));
  });

  it('take memory with the first token only, and grow to a bounded size', () => {
    const { memory } = make();
    expect([memory.bytes, found(memory, newToken())]).toEqual([0, undefined]);
    memory.add(newToken(), numbered(1));
    expect(memory.bytes).toBe(64 * 1024);
    expect(TOKEN_MEMORY_BYTES_MAX).toBeLessThanOrEqual(16 * 1024 * 1024);
    expect(TOKENS_REMEMBERED_MAX).toBe(262_144);
  });

  it('belong to a token by each of its characters', () => {
    const { memory } = make();
    const token = newToken();
    memory.add(token, numbered(1));
    for (let at = 0; at < TOKEN_LENGTH; at++) {
      for (const other of ['A', 'B', '_', '\x00', 'ÿ']) {
        const changed = token.slice(0, at) + other + token.slice(at + 1);
        expect(found(memory, changed)).toBe(changed === token ? 1 : undefined);
      }
    }
  });

  it('are kept while the table grows, nearly all until it is half full, and never mixed up', () => {
    const { memory } = make(100, 100, 2_048);
    const count = 8_000;
    for (let index = 0; index < count; index++) memory.add(tokenOf(index), numbered(index));
    const left = known(memory, count);
    expect(left.length).toBeGreaterThan(count * 0.97);
    const strangers = Array.from({ length: count }, (_, index) => found(memory, tokenOf(count + index)));
    expect(strangers.every((each) => each === undefined)).toBe(true);
  });

  it('of keys that are gone are forgotten before the table grows, and those of the others are not', () => {
    const living = 200;
    const { memory, dropped } = make(100, 100, undefined, (number) => number < living);
    memory.keep(memory.add(tokenOf(0), numbered(0)), 'of a living key');
    memory.keep(memory.add(tokenOf(600), numbered(600)), 'of one that is gone');
    const { bytes } = memory;
    for (let index = 1; index < 600; index++) {
      // What is asked for is not what makes room in a full set.
      for (const asked of [0, 600]) memory.find(tokenOf(asked));
      memory.add(tokenOf(index), numbered(index));
    }
    expect([dropped, memory.bytes]).toEqual([['of one that is gone'], bytes]);
    expect(memory.valueAt(memory.find(tokenOf(0)))).toBe('of a living key');
    const left = known(memory, 600);
    expect(left.filter((index) => index < living).length).toBeGreaterThan(living * 0.9);
    expect(left.length).toBeLessThan(living + 200);
  });

  it('are looked through again only after a quarter of the table has come, or the table has grown', () => {
    let looks = 0;
    const { memory } = make(100, 100, undefined, (number) => {
      looks++;
      return number >= 8_000;
    });
    for (let index = 0; index < 10_000; index++) memory.add(tokenOf(index), numbered(index));
    expect(looks).toBeLessThan(20_000);
  });

  it('make room for others in a full table, rather those that are not asked for', () => {
    const { memory } = make(100, 100, 128);
    const count = 4_096;
    const asked = tokenOf(0);
    memory.add(asked, numbered(0));
    for (let index = 1; index < count; index++) {
      memory.add(tokenOf(index), numbered(index));
      expect(found(memory, asked)).toBe(0);
    }
    expect(memory.bytes).toBe((TOKEN_MEMORY_BYTES_MAX / TOKENS_REMEMBERED_MAX) * 1_024);
    const left = known(memory, count);
    expect(left.length).toBeLessThanOrEqual(1_024);
    expect(left.length).toBeGreaterThan(900);
  });

  it('have their places by a key of each worker', () => {
    // Tokens that crowd each other out of a set of one memory are not together in a set of another.
    const left = (): string => {
      const { memory } = make(100, 100, 128);
      for (let index = 0; index < 1_024; index++) memory.add(tokenOf(index), numbered(index));
      return known(memory, 1_024).join();
    };
    expect(left()).not.toBe(left());
  });
});

describe('the references of tokens', () => {
  it('are good for one generation', () => {
    const { memory } = make();
    const place = memory.add(newToken(), numbered(1));
    expect(memory.referenceAt(place, 0)).toBe(0);
    memory.setReference(place, 77, 5);
    expect([4, 5, 6].map((generation) => memory.referenceAt(place, generation))).toEqual([0, 77, 0]);
    expect(memory.valueAt(place)).toBeUndefined();
    memory.setReference(place, 78, 6);
    expect([5, 6].map((generation) => memory.referenceAt(place, generation))).toEqual([0, 78]);
  });

  it('give way to a value, and are no other token’s', () => {
    const { memory } = make(100, 100, 128);
    const place = memory.add(tokenOf(0), numbered(0));
    memory.setReference(place, 77, 5);
    memory.setRow(place, 12);
    memory.keep(place, 'value');
    expect([memory.referenceAt(place, 5), memory.valueAt(place)]).toEqual([0, 'value']);
    for (let index = 1; index < 4_096; index++) {
      const taken = memory.add(tokenOf(index), numbered(index));
      expect([memory.referenceAt(taken, 5), memory.rowAt(taken), memory.valueAt(taken)]).toEqual([
        0,
        0,
        undefined,
      ]);
      memory.setReference(taken, index, 5);
      memory.setRow(taken, index);
    }
    for (const index of known(memory, 4_096).filter((each) => each > 0)) {
      const at = memory.find(tokenOf(index));
      expect([memory.referenceAt(at, 5), memory.rowAt(at)]).toEqual([index, index]);
    }
  });

  it('move with their tokens when the table grows', () => {
    const { memory } = make();
    const place = memory.add(tokenOf(0), numbered(0));
    memory.setReference(place, 77, 5);
    memory.setRow(place, 12);
    for (let index = 1; index < 3_000; index++) {
      memory.find(tokenOf(0));
      memory.add(tokenOf(index), numbered(index));
    }
    const moved = memory.find(tokenOf(0));
    expect([memory.referenceAt(moved, 5), memory.rowAt(moved)]).toEqual([77, 12]);
  });

  it('tell how many tokens came since theirs was asked for', () => {
    const { memory } = make();
    memory.add(tokenOf(0), numbered(0));
    expect(memory.sinceAsked).toBe(Infinity);
    for (let index = 1; index < 10; index++) memory.add(tokenOf(index), numbered(index));
    memory.find(tokenOf(0));
    expect(memory.sinceAsked).toBe(10);
    memory.find(tokenOf(0));
    expect(memory.sinceAsked).toBe(1);
  });
});

describe('the values of tokens', () => {
  it('are kept in a bounded number, and room is made for a sixteenth after enough look-ups in vain', () => {
    const { memory, dropped } = make(32, 50);
    const places = Array.from({ length: 200 }, (_, index) => memory.add(tokenOf(index), numbered(index)));
    const keep = (index: number): boolean => memory.keep(memory.find(tokenOf(index)), `v${index}`);
    const valueOf = (index: number): string | undefined => memory.valueAt(memory.find(tokenOf(index)));
    expect(places.length).toBe(200);
    for (let index = 0; index < 32; index++) expect(keep(index)).toBe(true);
    for (let index = 32; index < 50; index++) expect(keep(index)).toBe(false);
    expect([keep(50), keep(51), keep(52)]).toEqual([true, true, false]);
    expect([valueOf(0), valueOf(1), valueOf(2), valueOf(50), valueOf(51), valueOf(52)]).toEqual([
      undefined,
      undefined,
      'v2',
      'v50',
      'v51',
      undefined,
    ]);
    expect(dropped).toEqual(['v0', 'v1']);
    memory.dropValues();
    expect([valueOf(2), valueOf(50), found(memory, tokenOf(2))]).toEqual([undefined, undefined, 2]);
    expect([keep(2), valueOf(2)]).toEqual([true, 'v2']);
  });

  it('stay those of their tokens when the table grows, where others had values before', () => {
    const { memory } = make();
    const keepAll = (from: number): void => {
      for (let index = from; index < from + 100; index++)
        memory.keep(memory.add(tokenOf(index), numbered(index)), `v${index}`);
    };
    keepAll(0);
    memory.dropValues();
    keepAll(100);
    const { bytes } = memory;
    for (let index = 200; memory.bytes === bytes; index++) memory.add(tokenOf(index), numbered(index));
    for (const index of known(memory, 200)) {
      const value = memory.valueAt(memory.find(tokenOf(index)));
      expect(value).toBe(index < 100 ? undefined : `v${index}`);
    }
  });

  it('are always those of their tokens, whatever is done', () => {
    const command = fc.record({
      name: fc.constantFrom('ask', 'ask', 'ask', 'drop'),
      token: fc.nat({ max: 3_000 }),
    });
    fc.assert(
      fc.property(fc.array(command, { minLength: 200, maxLength: 3_000 }), (commands) => {
        const { memory, dropped } = make(64, 20, 256);
        const held = new Set<string>();
        for (const { name, token } of commands) {
          if (name === 'drop' && token % 97 === 0) {
            memory.dropValues();
            held.clear();
          }
          let place = memory.find(tokenOf(token));
          if (place < 0) place = memory.add(tokenOf(token), numbered(token));
          const value = memory.valueAt(place);
          if (value === undefined) {
            if (memory.keep(place, `v${token}`)) held.add(`v${token}`);
          } else expect([value, held.has(value)]).toEqual([`v${token}`, true]);
          for (const each of dropped.splice(0)) expect(held.delete(each)).toBe(true);
          expect(held.size).toBeLessThanOrEqual(64);
        }
      }),
      { numRuns: 20 },
    );
  });
});

describe('all that is remembered of a token', () => {
  it('is its own, however few the places, and whatever comes, changes and goes', () => {
    const command = fc.record({
      name: fc.oneof(
        { weight: 8, arbitrary: fc.constant('ask') },
        fc.constantFrom('change', 'remove', 'restore', 'ask many'),
      ),
      token: fc.nat({ max: 3_000 }),
      number: fc.nat({ max: 400 }),
    });
    fc.assert(
      fc.property(
        // From one set of eight places on.
        fc.constantFrom(1, 4, 128, 512),
        fc.constantFrom(12, 40, 3_000),
        fc.array(command, { maxLength: 120, size: 'max' }),
        (setsMax, tokens, commands) => {
          const gone = new Set<number>();
          const { memory, dropped } = make(16, 10, setsMax, (number) => !gone.has(number));
          let generation = 1;
          const kept = new Set<string>();
          const references = new Map<number, string>();
          const rows = new Map<number, number>();
          const change = (): void => {
            generation++;
            memory.dropValues();
            kept.clear();
          };
          const forget = (): void => {
            for (const each of dropped.splice(0)) expect(kept.delete(each)).toBe(true);
          };
          const ask = (token: number, number: number): void => {
            if (memory.find(tokenOf(token)) < 0) {
              if (gone.has(token)) return;
              memory.add(tokenOf(token), numbered(token));
              forget();
              references.delete(token);
              rows.delete(token);
            }
            expect(found(memory, tokenOf(token))).toBe(token);
            const place = memory.find(tokenOf(token));
            const [value, reference] = [memory.valueAt(place), memory.referenceAt(place, generation)];
            expect(memory.rowAt(place)).toBe(rows.get(token) ?? 0);
            if (reference > 0) expect(`${reference} ${generation}`).toBe(references.get(token));
            if (value !== undefined)
              expect([value, kept.has(value), reference]).toEqual([`${token} ${generation}`, true, 0]);
            else if (number % 3 === 0) {
              const isKept = memory.keep(place, `${token} ${generation}`);
              forget();
              if (isKept) kept.add(`${token} ${generation}`);
            } else {
              memory.setReference(place, number, generation);
              references.set(token, `${number} ${generation}`);
            }
            rows.set(token, number);
            memory.setRow(place, number);
          };
          for (const { name, token, number } of commands) {
            const many = name === 'ask many' ? number : 1;
            for (let index = 0; name.startsWith('ask') && index < many; index++)
              ask((token + index * 7) % tokens, number + index);
            if (name === 'remove') gone.add(token % tokens);
            if (name === 'restore') gone.delete(token % tokens);
            if (!name.startsWith('ask')) change();
            expect(kept.size).toBeLessThanOrEqual(16);
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});
