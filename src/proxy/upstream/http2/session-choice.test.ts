import { describe, expect, it } from 'vitest';
import { chooseSession, SPARE_SESSIONS, type ChosenFrom } from './session-choice.ts';

interface Fake extends ChosenFrom {
  readonly name: string;
}

let named = 0;

/** @param shutBy the app whose bodies have shut it */
function session(shutBy?: string, fields: Partial<Fake> = {}): Fake {
  return {
    name: `${++named}`,
    isOpen: true,
    hasRoom: true,
    streamCount: 1,
    isShut: () => shutBy !== undefined,
    shutBy: () => shutBy,
    ...fields,
  };
}

const many = (count: number, shutBy?: string): Fake[] => Array.from({ length: count }, () => session(shutBy));

describe('a stream', () => {
  it('goes to the oldest open session with room, to one that opens, or to a new one', () => {
    const full = session(undefined, { hasRoom: false });
    const opens = session(undefined, { isOpen: false });
    const [open, later] = [session(), session()];
    expect(chooseSession([full, opens, open, later], 'a', 16)).toBe(open);
    expect(chooseSession([full, opens], 'a', 16)).toBe(opens);
    expect(chooseSession([full], 'a', 16)).toBeUndefined();
    expect(chooseSession([full, session(undefined, { hasRoom: false, streamCount: 0 })], 'a', 2)).not.toBe(
      full,
    );
  });

  it('does not go to a shut session while there is another, or room for one', () => {
    const open = session();
    expect(chooseSession([session('a'), open], 'a', 16)).toBe(open);
    expect(chooseSession([session('a'), open], 'b', 16)).toBe(open);
    expect(chooseSession([session('a')], 'a', 16)).toBeUndefined();
    expect(chooseSession([session('a')], 'b', 16)).toBeUndefined();
  });

  it('of an app that has shut nine times as many as are left goes to one of these', () => {
    const [shut, open] = [many(14, 'a'), session()];
    expect(chooseSession([...shut, open], 'a', 16)).toBe(open);
    const more = [...many(15, 'a'), open];
    expect(chooseSession(more, 'a', 16)).toBe(more[0]);
    expect(chooseSession(more, 'b', 16)).toBe(open);
    const full = more.map((each, index) => (index < 15 ? { ...each, hasRoom: index === 7 } : each));
    expect(chooseSession(full, 'a', 16)).toBe(full[7]);
  });

  it('of an app that has shut none gets a session above the limit when all are shut, a few times', () => {
    const shut = many(2, 'a');
    expect(chooseSession(shut, 'b', 2)).toBeUndefined();
    expect(chooseSession(shut, 'a', 2)).toBe(shut[0]);
    const withSpare = [...shut, session()];
    expect(chooseSession(withSpare, 'b', 2)).toBe(withSpare[2]);
    expect(chooseSession(withSpare, 'a', 2)).toBe(shut[0]);
    const also = [...shut, session('b')];
    expect(chooseSession(also, 'b', 2)).toBe(also[2]);
    expect(chooseSession(also, 'c', 2)).toBeUndefined();
    const all = [...shut, ...many(SPARE_SESSIONS, 'b')];
    expect(chooseSession(all, 'c', 2)).toBe(all[0]);
  });

  it('gets none above the limit where the sessions are only full', () => {
    const full = many(2).map((each) => ({ ...each, hasRoom: false }));
    expect(chooseSession(full, 'b', 2)).toBe(full[0]);
  });
});
