/** What gateways lack of the files that policies verify client certificates with. */
import { describe, expect, it } from 'vitest';
import { trustLackProblems } from '../problems/certificate-problems.ts';
import { trustLacks, type TrustDigests, type TrustNeeds, type TrustOfGateway } from './trust-needs.ts';

const files = (certificates: string, lists: string | null = null): TrustDigests => ({
  partners: { certificates, lists },
});
const gateways = (...all: TrustDigests[]): TrustOfGateway[] =>
  all.map((each, index) => ({ node: `node-${index}`, files: each }));
const NEEDED: TrustNeeds = new Map([['partners', false]]);
const NEEDED_WITH_LISTS: TrustNeeds = new Map([['partners', true]]);

describe('lacks', () => {
  it.each<[string, TrustNeeds, TrustOfGateway[], string[]]>([
    ['the same everywhere', NEEDED, gateways(files('a', 'l'), files('a', 'l')), []],
    ['what no policy names', new Map(), gateways({}, files('a')), []],
    ['a gateway without the file', NEEDED, gateways(files('a'), {}, files('a')), ['node-1 certificates']],
    ['no gateway has the file', NEEDED, gateways({}, {}), ['node-0 certificates', 'node-1 certificates']],
    ['no lists anywhere', NEEDED, gateways(files('a'), files('a')), []],
    ['lists that one lacks', NEEDED, gateways(files('a'), files('a', 'l')), ['node-0 lists_of_others']],
    ['required lists', NEEDED_WITH_LISTS, gateways(files('a')), ['node-0 lists_required']],
    ['other certificates', NEEDED, gateways(files('a'), files('b')), ['node-1 same_files']],
    ['other lists', NEEDED, gateways(files('a', 'l'), files('a', 'm')), ['node-1 same_files']],
    [
      'other certificates, and no lists',
      NEEDED,
      gateways(files('a', 'l'), files('b')),
      ['node-1 lists_of_others'],
    ],
  ])('%s', (_what, needs, all, lacks) => {
    expect(trustLacks(needs, all).map(({ node, what }) => `${node} ${what}`)).toEqual(lacks);
  });
});

it('whichever gateway compares, the same one differs', () => {
  const all = gateways(files('a'), files('b'));
  expect(trustLacks(NEEDED, all.toReversed())).toEqual(trustLacks(NEEDED, all));
});

it('many are fifty problems and a last one that counts the rest', () => {
  const needs = new Map(Array.from({ length: 200 }, (_, index) => [`ca-${index}`, false]));
  const problems = trustLackProblems(trustLacks(needs, gateways({})));
  expect(problems).toHaveLength(51);
  expect(problems.at(-1)?.detail).toBe(
    '150 more files of trusted certificates for clients are missing or differ',
  );
});
