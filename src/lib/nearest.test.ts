import { describe, expect, it } from 'vitest';
import { namesMeant } from './nearest.ts';

const BACKEND = ['backend_scheme', 'backend_host', 'backend_port', 'backend_tls', 'backend_base_path'];

describe('the names that were probably meant', () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ['ratelimit', ['rate_limit', 'cors'], ['rate_limit']],
    ['backend_prot', BACKEND, ['backend_port']],
    ['backend_path', BACKEND, ['backend_base_path']],
    ['backend_url', BACKEND, []],
    ['policy', ['default_policy', 'name'], ['default_policy']],
    ['host', ['backend_host', 'preserve_host', 'name'], ['backend_host', 'preserve_host']],
    ['a', ['a_1', 'a_2', 'a_3', 'a_4'], []],
    ['GATEWAY_PROXY_PORT', ['GATEWAY_PROXY__TLS__PORT', 'GATEWAY_PROXY__PORT'], ['GATEWAY_PROXY__PORT']],
    [
      'GATEWAY_PORT',
      ['GATEWAY_ZONE', 'GATEWAY_PROXY__PORT', 'GATEWAY_SERVER__PORT'],
      ['GATEWAY_PROXY__PORT', 'GATEWAY_SERVER__PORT'],
    ],
    ['cats', ['cors'], []],
    ['cats', [], []],
    ['x'.repeat(1_000_000), ['cors'], []],
  ])('%# of %.40s', (name, candidates, meant) => {
    expect(namesMeant(name, candidates)).toEqual(meant);
  });
});
