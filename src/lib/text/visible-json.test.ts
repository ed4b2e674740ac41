import { expect, it } from 'vitest';
import { visibleJson } from './visible-json.ts';

it('escapes what controls a terminal, and is the same data', () => {
  const data = { 'a\u009B': ['\u001B[31m\u007F', 'safe\u202Elive\u2028', '\\\u009B', 'größer 日本 👩‍💻'] };
  const text = visibleJson(data);
  expect(text).toBe(
    String.raw`{"a\u009b":["\u001b[31m\u007f","safe\u202elive\u2028","\\\u009b","größer 日本 👩‍💻"]}`,
  );
  expect(JSON.parse(text)).toEqual(data);
  expect(visibleJson([1], 2)).toBe('[\n  1\n]');
});
