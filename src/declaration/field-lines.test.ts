/** The text forms of field errors and warnings. */
import { expect, it } from 'vitest';
import { errorLine, warningLine, withLineBreaks } from './field-lines.ts';

const PLACE = { file: 'a.yaml', line: 3, column: 5 };

it.each([
  [{ pointer: '/slug' }, '/slug is required'],
  [{ pointer: '' }, 'The body is required'],
  [{ pointer: '/slug', ...PLACE }, 'a.yaml:3:5: /slug is required'],
  [{ pointer: '', ...PLACE }, 'a.yaml:3:5: is required'],
])('%j is written as one line', (field, line) => {
  expect(errorLine({ ...field, detail: 'is required' })).toBe(line);
});

it.each([
  [{ pointer: '/slug' }, '/slug: It is short'],
  [{ pointer: '' }, 'It is short'],
  [{ pointer: '/slug', ...PLACE }, 'a.yaml:3:5: /slug: It is short'],
])('the warning about %j is a sentence after its place', (field, line) => {
  expect(warningLine({ ...field, detail: 'It is short' })).toBe(line);
});

it('a refused text that ends in a line break, which no message shows, says so once', () => {
  const errors = ['/host', '/port', '/none', '/host'].map((pointer) => ({ pointer, detail: 'is wrong' }));
  const told = withLineBreaks(errors, { host: 'a.b\r\n', port: '80' });
  expect(told.map(({ detail }) => detail)).toEqual([
    'is wrong; the value ends in a line break',
    'is wrong',
    'is wrong',
    'is wrong; the value ends in a line break',
  ]);
  expect(withLineBreaks(told, { host: 'a.b\r\n' })).toEqual(told);
});
