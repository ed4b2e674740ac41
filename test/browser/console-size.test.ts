/** How much JavaScript a browser loads before it shows the console: bounded, so that no page grows unseen. */
import { globSync } from 'node:fs';
import { basename } from 'node:path';
import { expect, it } from 'vitest';
import {
  bytesOf,
  firstFiles,
  pageFiles,
  withSizes,
  type LoadedFile,
} from '../support/measure/console-files.ts';
import { CONSOLE_VARIABLE } from '../support/programs/program.ts';

const folder = process.env[CONSOLE_VARIABLE] ?? '';

/** Bytes with Brotli. */
const FIRST_SCREEN_MAX = 150_000;
const FRAME_MAX = 110_000;
/** Any page, with the frame. */
const PAGE_MAX = 300_000;

const listed = (files: readonly LoadedFile[]): string =>
  [...files.map(({ name, bytes }) => `${bytes} ${name}`), `${bytesOf(files)} in all`].join('\n');

it('the sign-in and the frame are at most 110 kB', () => {
  const frame = withSizes(folder, firstFiles(folder));
  process.stdout.write(`frame\n${listed(frame)}\n`);
  expect(bytesOf(frame), listed(frame)).toBeLessThanOrEqual(FRAME_MAX);
});

it('the overview with them is at most 150 kB', () => {
  const first = firstFiles(folder);
  const all = withSizes(folder, [...first, ...pageFiles(folder, 'overview-page', first)]);
  process.stdout.write(`first screen ${bytesOf(all)}\n`);
  expect(bytesOf(all), listed(all)).toBeLessThanOrEqual(FIRST_SCREEN_MAX);
});

const pages = globSync('assets/*-page-*.js', { cwd: folder }).map((path) =>
  basename(path).replace(/-page-.*$/, '-page'),
);

it('has pages', () => expect(pages).toContain('apps-page'));

it.each(pages)('%s is at most 300 kB with the frame', (page) => {
  const first = firstFiles(folder);
  const own = withSizes(folder, pageFiles(folder, page, first));
  process.stdout.write(`${page} ${bytesOf(own)} more\n`);
  expect(bytesOf(own) + bytesOf(withSizes(folder, first)), listed(own)).toBeLessThanOrEqual(PAGE_MAX);
});
