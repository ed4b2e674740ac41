import { describe, expect, it } from 'vitest';
import { parseRedisUrl } from './redis-url.ts';

describe('parseRedisUrl', () => {
  it.each<[string, object]>([
    ['redis://cache', { kind: 'single', hosts: [{ host: 'cache', port: 6379 }], tls: false, database: 0 }],
    [
      'rediss://cache:7000/3',
      { kind: 'single', hosts: [{ host: 'cache', port: 7000 }], tls: true, database: 3 },
    ],
    ['redis://[2001:db8::1]:7000', { hosts: [{ host: '2001:db8::1', port: 7000 }] }],
    ['redis://:p%40ss@cache', { username: undefined, password: 'p@ss' }],
    ['redis://me:secret@cache/', { username: 'me', password: 'secret', database: 0 }],
    [
      'redis+cluster://a:1,b:2,c',
      {
        kind: 'cluster',
        hosts: [
          { host: 'a', port: 1 },
          { host: 'b', port: 2 },
          { host: 'c', port: 6379 },
        ],
      },
    ],
    [
      'rediss+sentinel://me:secret@a,b:2/primary',
      {
        kind: 'sentinel',
        tls: true,
        username: 'me',
        primaryName: 'primary',
        hosts: [
          { host: 'a', port: 26379 },
          { host: 'b', port: 2 },
        ],
      },
    ],
  ])('reads %s', (text, expected) => {
    expect(parseRedisUrl(text)).toMatchObject(expected);
  });

  it.each([
    '',
    'cache:6379',
    'http://cache',
    'redis://',
    'redis://cache:port',
    'redis://cache:0',
    'redis://cache:65536',
    'redis://a:1,b:2',
    'redis://cache/name',
    'redis://%zz@cache',
    'redis+cluster://a,b/1',
    'redis+cluster://a,,b',
    'redis+sentinel://a:1',
    'redis+sentinel://a:1/',
    'redis+other://a',
    'redis://cache?x=1',
    'redis://cache#x',
  ])('refuses %j', (text) => {
    expect(parseRedisUrl(text)).toBeUndefined();
  });
});
