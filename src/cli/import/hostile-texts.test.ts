/** Texts of foreign configurations that make a careless pattern try every way of reading them. */
import { expect, it } from 'vitest';
import { importKong } from './kong/kong-tree.ts';
import { readRule } from './traefik/rule.ts';

const OPTIONS = { slug: 'kong', gatewayPath: undefined, withKeyValues: false };

function originsOf(origin: string): unknown {
  const cors = { name: 'cors', config: { origins: [origin] } };
  const routes = [{ name: 'r', paths: ['/a'] }];
  const services = [{ name: 'a', url: 'http://10.0.0.1', routes, plugins: [cors] }];
  const imported = importKong({ _format_version: '3.0', services }, OPTIONS);
  return JSON.stringify(imported).match(/"allowed_origins":(\[[^\]]*\])/)?.[1];
}

it('origins of Kong', () => {
  expect(originsOf('https://.*\\.shop\\.example\\.com')).toBe('["https://*.shop.example.com"]');
  expect(originsOf('^https?://shop.example\\.com:8443$')).toBe(
    '["http://shop.example.com:8443","https://shop.example.com:8443"]',
  );
  expect(originsOf(`https://${'a'.repeat(5_000)}!`)).toBeUndefined();
  expect(originsOf(`https://${'a.'.repeat(5_000)}!`)).toBeUndefined();
});

it('rules of Traefik', () => {
  const args = ['a.test', 'b.test', 'c.test'];
  const host = [[{ name: 'Host', args, isNegated: false }]];
  expect(readRule('Host(`a.test`,`b.test` , "c.test")')).toEqual(host);
  expect(readRule('Host( `a.test` `b.test`, `c.test`, )')).toEqual(host);
  for (const gap of [' ', '  ', ' , ', ','])
    expect(readRule(`Host(${`\`a\`${gap}`.repeat(1_000)}!)`)).toBe(undefined);
});
