import { expect, it } from 'vitest';
import { sectionOf } from './section-of.ts';

it.each([
  ['/', '/'],
  ['/apps', '/apps'],
  ['/apps/shop/versions/v1/revisions/r1', '/apps'],
  ['/apps/keys', '/apps'],
  ['/apps/shop/keys/4711', '/keys'],
  ['/keys', '/keys'],
  ['/start', '/apps'],
  ['/import', '/apps'],
  ['/edit', '/edit'],
  ['/live/abc', '/live'],
  ['/history/7', '/history'],
  ['/no/such/page', '/no'],
])('marks for %s the entry %s', (pathname, section) => {
  expect(sectionOf(pathname)).toBe(section);
});
