import { describe, expect, it } from 'vitest';
import { TrailerSection } from './field-section.ts';
import { HeaderKind } from './header-kind.ts';

function parsed(text: string): TrailerSection {
  const section = new TrailerSection();
  expect(section.parse(text, 1000)).toBeUndefined();
  return section;
}

describe('FieldSection', () => {
  it('returns names and values as sent, without white space around values', () => {
    const section = parsed('A: 1\r\nb:2\r\nC: \t 3 4\t \r\nD:\r\n');
    const fields = Array.from({ length: section.count }, (_, i) => [section.name(i), section.value(i)]);
    expect(fields).toEqual([
      ['A', '1'],
      ['b', '2'],
      ['C', '3 4'],
      ['D', ''],
    ]);
  });

  it('finds fields by lower-case name and joins repeated ones', () => {
    const section = parsed('Vary: a\r\nX: 1\r\nvARY: b\r\n');
    expect(section.get('vary')).toBe('a');
    expect(section.combined('vary')).toBe('a, b');
    expect(section.combined('x')).toBe('1');
    expect(section.get('var')).toBeUndefined();
    expect(section.combined('none')).toBeUndefined();
  });

  it('finds fields by kind', () => {
    const section = parsed('X: 1\r\nHost: a\r\nVia: b\r\nVia: c\r\n');
    expect(section.first(HeaderKind.host)).toBe(1);
    expect(section.valueOf(HeaderKind.via)).toBe('b');
    expect(section.repeated(HeaderKind.via)).toBe(true);
    expect(section.repeated(HeaderKind.host)).toBe(false);
    expect(section.first(HeaderKind.expect)).toBe(-1);
    expect(section.valueOf(HeaderKind.expect)).toBeUndefined();
  });

  it('finds the kind with the highest number', () => {
    const section = parsed('X-Original-URL: /\r\nX-Rewrite-URL: /\r\n');
    expect(section.first(HeaderKind.targetOverride)).toBe(0);
    expect(section.repeated(HeaderKind.targetOverride)).toBe(true);
  });

  it('writes lines in one form', () => {
    const section = parsed('A: 1\r\nb:2\r\nC:  3 \r\nHost: h\r\nD:\r\nE: 5\r\nF: 6\r\n');
    expect(section.line(0)).toBe('A: 1\r\n');
    expect(section.line(2)).toBe('C: 3\r\n');
    expect(section.ordinaryLines()).toBe('A: 1\r\nb: 2\r\nC: 3\r\nD: \r\nE: 5\r\nF: 6\r\n');
  });

  it('grows with the number of fields and forgets them when the next section is parsed', () => {
    const section = parsed(Array.from({ length: 200 }, (_, i) => `N${i}: ${i}\r\n`).join(''));
    expect(section.count).toBe(200);
    expect(section.value(199)).toBe('199');
    expect(section.parse('A: 1\r\n', 10)).toBeUndefined();
    expect([section.count, section.get('n0'), section.get('a')]).toEqual([1, undefined, '1']);
  });

  it('is empty after an error and after release', () => {
    const section = parsed('Host: a\r\n');
    expect(section.parse('Host: a\r\nbad\r\n', 10)?.code).toBe('bad_header_line');
    expect([section.count, section.first(HeaderKind.host), section.ordinaryLines()]).toEqual([0, -1, '']);
    section.parse('Host: a\r\n', 10);
    section.release();
    expect([section.count, section.get('host')]).toEqual([0, undefined]);
  });

  it.each([
    ['A: 1', 'bad_header_line'],
    ['A: 1\r', 'bad_header_line'],
    ['A: 1\r\n B: 2\r\n', 'obsolete_line_folding'],
    ['A: 1\r\nB\r\n', 'bad_header_line'],
    ['A: 1\r\nB: 2\r\nC: 3\r\n', 'too_many_headers'],
    ['A : 1\r\n', 'space_in_header_name'],
    [': 1\r\n', 'empty_header_name'],
    ['A\x01: 1\r\n', 'bad_header_name'],
    ['A: \x01\r\n', 'bad_header_value'],
    ['A: 1\n\r\n', 'bare_line_feed'],
    ['A: 1\r\r\n', 'bare_carriage_return'],
  ])('refuses %j', (text, code) => expect(new TrailerSection().parse(text, 2)?.code).toBe(code));
});
