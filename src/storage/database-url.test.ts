import { describe, expect, test } from 'vitest';
import { databaseAddress, parseDatabaseUrl } from './database-url.ts';

describe('SQLite URLs give the path', () => {
  test.each([
    ['sqlite://data/headgate.db', 'data/headgate.db'],
    ['sqlite://headgate.db', 'headgate.db'],
    ['sqlite:///var/lib/headgate.db', '/var/lib/headgate.db'],
    ['sqlite:data/headgate.db', 'data/headgate.db'],
    ['sqlite:/var/lib/headgate.db', '/var/lib/headgate.db'],
    ['sqlite:./headgate.db', './headgate.db'],
    ['file:headgate.db', 'headgate.db'],
    ['file:///var/lib/headgate.db', '/var/lib/headgate.db'],
    ['SQLITE://headgate.db', 'headgate.db'],
    ['sqlite://data/headgate.db?mode=rwc', 'data/headgate.db'],
    ['sqlite:headgate.db?mode=rwc&cache=shared', 'headgate.db'],
    ['sqlite://with%20space.db', 'with space.db'],
    ['sqlite://:memory:', ':memory:'],
    ['sqlite::memory:', ':memory:'],
    ['sqlite::memory:?cache=shared', ':memory:'],
    ['file::memory:', ':memory:'],
  ])('%s', (url, path) => {
    expect(parseDatabaseUrl(url)).toEqual({ kind: 'sqlite', path });
  });
});

describe('Postgres URLs are passed on as they are', () => {
  test.each([
    'postgres://user:secret@db.example:5432/headgate?sslmode=require',
    'postgresql://user@db.example/headgate',
    'postgresql:///headgate?host=/run/postgresql',
    'postgres://a.example:5432,b.example:5432/headgate',
  ])('%s', (url) => {
    expect(parseDatabaseUrl(url)).toEqual({ kind: 'postgres', url });
  });
});

describe('any other URL is an error that says what was expected', () => {
  test.each([
    ['', 'no scheme'],
    ['headgate.db', 'no scheme'],
    ['/var/lib/headgate.db', 'no scheme'],
    ['mysql://localhost/headgate', '"mysql" is not supported'],
    ['sqlite:', 'path is empty'],
    ['sqlite://', 'path is empty'],
    ['sqlite://?mode=rwc', 'path is empty'],
    ['sqlite:///var/lib/', 'path is a folder'],
    ['sqlite://%zz.db', 'invalid percent-escape'],
    ['sqlite://a%00.db', 'NUL'],
    ['postgres:headgate', '"//" is missing'],
  ])('%j', (url, message) => {
    const result = parseDatabaseUrl(url);
    expect(result).toHaveProperty('error', expect.stringContaining(message));
    expect(result).toHaveProperty('error', expect.stringContaining('expected sqlite://path'));
  });

  test('the error does not repeat the value, which may contain a password', () => {
    expect(JSON.stringify(parseDatabaseUrl('mysql://root:hunter2@localhost/x'))).not.toContain('hunter2');
  });
});

test('the address for people has no user, password and parameter', () => {
  const addressOf = (text: string): string | null => databaseAddress(text);
  expect(addressOf('postgres://headgate:secret@db.test:5432/main?sslmode=require')).toBe(
    'postgres://db.test:5432/main',
  );
  expect(addressOf('postgres://u:p@ss/w?rd@db.test/main#part')).toBe('postgres://db.test/main');
  expect(addressOf('postgres:///main?host=/run/sock&password=secret')).toBe('postgres:///main');
  expect(addressOf('sqlite:///var/lib/x.db?mode=rwc')).toBe('/var/lib/x.db');
  expect(addressOf('sqlite://:memory:')).toBeNull();
  expect(addressOf('mysql://u:secret@db.test/x')).toBeNull();
});
