import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  changedParts,
  copied,
  draftOf,
  hasTypedSecret,
  isDirty,
  patchOf,
  withPart,
  withText,
  yamlOf,
} from './draft.ts';
import { shadowAfter } from './parts.ts';

const policy = { rate_limit: { enabled: true, requests: 5 }, shadow: ['rate_limit'] };

describe('a draft', () => {
  it('is the same edit as a form and as YAML', () => {
    const draft = draftOf(policy, '"1"');
    const typed = withText(draft, draft.text.replace('requests: 5', 'requests: 7'));
    const filled = withPart(draft, 'rate_limit', { enabled: true, requests: 7 });
    expect(patchOf(typed)).toEqual({ rate_limit: { requests: 7 } });
    expect(typed.text).toBe(filled.text);
    expect(typed.value).toEqual(filled.value);
  });

  it('keeps what is not yet YAML, and the value before it', () => {
    const draft = withText(draftOf(policy, '"1"'), 'rate_limit: [1');
    expect(draft.text).toBe('rate_limit: [1');
    expect(draft.value).toEqual(policy);
    expect(draft.problem).toBeDefined();
    expect(isDirty(draft)).toBe(true);
    expect(withText(draft, 'hello').problem).toMatch(/fields/);
    expect(withText(draft, '').value).toEqual({});
  });

  it('inherits with null, which is sent for what was set here', () => {
    const draft = withPart(draftOf({ ...policy, cors: null }, '"1"'), 'shadow', undefined);
    expect(patchOf(draft)).toEqual({ shadow: null });
    expect(changedParts(draft)).toEqual(['shadow']);
    expect(isDirty(withPart(draft, 'shadow', ['rate_limit']))).toBe(false);
  });

  it('keeps parts and fields that the console does not know', () => {
    const unknown = { geo: { allow: ['CH'], deep: { x: [1] } }, rate_limit: { requests: 5, cost: 2 } };
    const draft = draftOf(unknown, undefined);
    const edited = withPart(draft, 'rate_limit', { requests: 6, cost: 2 });
    expect(patchOf(edited)).toEqual({ rate_limit: { requests: 6 } });
    expect(withText(draft, draft.text).value).toEqual(unknown);
  });

  it('reads any policy again as it was written', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true }), (value) => {
        const read = draftOf(value, undefined);
        expect(withText(read, yamlOf(read.value)).value).toEqual(read.value);
      }),
    );
  });

  it('distinguishes a typed secret from a secret of the gateway', () => {
    const text = 'auth:\n  auth_type: jwt\n  jwt:\n    secret: ';
    expect(hasTypedSecret(withText(draftOf({}, undefined), `${text}"********"\n`))).toBe(false);
    expect(hasTypedSecret(withText(draftOf({}, undefined), `${text}abc\n`))).toBe(true);
    expect(hasTypedSecret(withText(draftOf({}, undefined), `${text}abc\n  : [`))).toBe(true);
  });
});

it('copies an inherited value without the secret, which is not shown', () => {
  expect(copied({ jwt: { secret: '********', issuer: 'x' }, list: ['a'] })).toEqual({
    jwt: { issuer: 'x' },
    list: ['a'],
  });
});

it.each([
  [undefined, undefined, 'auth', true, ['auth']],
  [undefined, ['cors'], 'auth', true, ['cors', 'auth']],
  [undefined, ['auth'], 'auth', false, []],
  [['auth'], undefined, 'auth', false, undefined],
  [[], ['auth'], 'auth', true, undefined],
])('shadow: own %j, inherited %j, %s to %s', (own, inherited, part, isOn, expected) => {
  expect(shadowAfter(own, inherited, part, isOn)).toEqual(expected);
});
