import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { findProgram } from '../../../test/support/programs/programs.ts';
import { readElf } from './elf.ts';
import { librariesOf } from '../system-packages.ts';

const SELF = process.execPath;

it('says for which processor a program is, and what it needs', () => {
  const { machine, interpreter, needed } = readElf(SELF);
  expect(machine).toBe(process.arch);
  expect(interpreter).toMatch(/^\/lib(?:64)?\/ld-linux-/);
  expect(needed).toEqual(expect.arrayContaining(['libc.so.6', 'libstdc++.so.6', 'libm.so.6']));
});

it.skipIf(findProgram('ldd') === undefined)('finds the libraries that the loader takes', () => {
  const lines = execFileSync('ldd', [SELF], { encoding: 'utf8' }).split('\n');
  const loaded = lines.flatMap((line) => /(?:=> )?(\/\S+) \(0x/.exec(line)?.[1] ?? []);
  expect(librariesOf(SELF).toSorted()).toEqual(loaded.toSorted());
});

it('refuses what is no program, and a processor that nothing is packaged for', () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-elf-'));
  try {
    const path = join(folder, 'file');
    writeFileSync(path, '#!/bin/sh\n');
    expect(() => readElf(path)).toThrow(`Cannot read ${path}: expected a program or library for Linux`);
    copyFileSync('/bin/true', path);
    writeSync(openSync(path, 'r+'), Buffer.from([243, 0]), 0, 2, 18);
    expect(() => readElf(path)).toThrow('its processor has the number 243');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
