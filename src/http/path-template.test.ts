import { describe, expect, it } from 'vitest';
import { fillTemplate } from './path-template.ts';

describe('fillTemplate', () => {
  it.each([
    ['/x/{id}', ['id'], ['7'], '/x/7'],
    ['/x', ['id'], ['7'], '/x'],
    ['/{b}/{a}', ['a', 'b'], ['1', '2'], '/2/1'],
    ['/{a}-{a}', ['a'], ['1'], '/1-1'],
    ['/x/{id}', ['id'], ['a%2Fb'], '/x/a%2Fb'],
    ['/x/{id}', ['id'], ['%25'], '/x/%25'],
    ['/x/{id}', ['id'], ['50%'], '/x/50%25'],
    ['/x/{id}', ['id'], ['a/b?c#d e'], '/x/a%2Fb%3Fc%23d%20e'],
    ['/x/{id}', ['id'], ['é'], '/x/%C3%A9'],
    ['/x/{id}', ['id'], ['{id}'], '/x/%7Bid%7D'],
    ['/files/*', ['*'], ['a/b/'], '/files/a/b/'],
    ['/files/*', ['*'], [''], '/files/'],
    ['/{t}/*', ['t', '*'], ['u', 'v/w'], '/u/v/w'],
  ])('%s with %j = %j is %s', (template, names, values, path) =>
    expect(fillTemplate(template, names, values)).toBe(path),
  );

  it.each([
    ['/x/{id}/y', ['id'], ['..']],
    ['/x/{id}/y', ['id'], ['%2e%2E']],
    ['/x/{id}/y', ['id'], ['']],
    ['/x/{id}/y', ['other'], ['1']],
    ['/x/.{id}', ['id'], ['.']],
    ['/x/.{id}', ['id'], [';a']],
    ['/x/{id}', ['id'], ['a\\..\\b']],
    ['/x/*', ['*'], ['a/../../b']],
    ['/x/*', ['*'], ['/b']],
  ])('%s does not let %j = %j out of its place', (template, names, values) =>
    expect(fillTemplate(template, names, values)).toBeUndefined(),
  );
});
