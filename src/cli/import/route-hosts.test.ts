import { describe, expect, it } from 'vitest';
import { RouteHosts } from './route-hosts.ts';

/** The hosts of the app, and those that are reported. */
function settled(...routes: readonly (readonly string[])[]): readonly [string[], string[]] {
  const hosts = new RouteHosts();
  const lost: string[] = [];
  for (const texts of routes) hosts.add(texts.map((text) => ({ text, lost: () => void lost.push(text) })));
  return [[...hosts.settle()], lost];
}

describe('RouteHosts', () => {
  it.each<[string, string[][], string[]]>([
    ['no route', [], []],
    ['routes for every host', [[], []], []],
    ['one route', [['B.test', '*.a.test']], ['*.a.test', 'b.test']],
    [
      'routes with the same hosts',
      [
        ['a.test', 'b.test'],
        ['B.test', 'A.test.'],
      ],
      ['a.test', 'b.test'],
    ],
  ])('%s: nothing is lost', (_name, routes, expected) => {
    expect(settled(...routes)).toEqual([expected, []]);
  });

  it.each<[string, string[][]]>([
    ['a route for every host among others', [['a.test'], []]],
    ['routes with different hosts', [['a.test'], ['b.test']]],
    ['routes with more and fewer hosts', [['a.test', 'b.test'], ['a.test']]],
    ['a host that is not valid here', [['a.test', 'b.*']]],
    ['a host with a port', [['a.test:8000'], ['a.test:8000']]],
  ])('%s: all hosts are lost', (_name, routes) => {
    expect(settled(...routes)).toEqual([[], routes.flat()]);
  });
});
