import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EMPTY_FORM, formOf, inputOf, isInput, linkOf, tryInputOf } from './described-request.ts';

const SECRET = 'hgk_secret-value';

describe('a described request', () => {
  it('is what was typed, with header fields of one name as a list', () => {
    const form = {
      ...EMPTY_FORM,
      url: ' /a?x=1 ',
      headers: 'Origin: https://a.test\nX-A: 1\nX-A: 2',
      bodyBytes: '5',
    };
    expect(inputOf(form)).toEqual({
      method: 'GET',
      url: '/a?x=1',
      headers: { Origin: 'https://a.test', 'X-A': ['1', '2'] },
      body_bytes: 5,
    });
  });

  it.each([
    [{ headers: 'ok: 1\nno colon' }, { headers: 'Line 2 is not "Name: value"' }],
    [{ bodyBytes: 'many' }, { bodyBytes: 'Must be a whole number' }],
    [{ url: '/a b' }, { url: 'Must have no spaces: one in a path is written %20' }],
    [
      { url: '/a\tHTTP/1.1', method: 'GET /' },
      {
        method: 'Must be one word, such as GET',
        url: 'Must have no spaces: one in a path is written %20',
      },
    ],
  ])('says at the field what is wrong: %j', (part, errors) => {
    const input = inputOf({ ...EMPTY_FORM, url: '/', ...part });
    expect(isInput(input)).toBe(false);
    expect(input).toEqual({ errors });
  });

  it('has a link that never carries a secret, wherever it was typed', () => {
    const place = fc.constantFrom(
      { token: SECRET },
      { url: `/a?key=${SECRET}` },
      { url: `https://u:${SECRET}@host.test/a` },
      { url: `/a/${SECRET}/b` },
      { host: SECRET },
      { headers: `Authorization: Bearer ${SECRET}` },
      { headers: `X-Api-Key: ${SECRET}\nHost: a.test` },
      { headers: `cookie: sid=${SECRET}` },
      { headers: `broken line ${SECRET}` },
    );
    fc.assert(
      fc.property(place, fc.constantFrom('GET', 'POST'), (part, method) => {
        const link = linkOf({ ...EMPTY_FORM, method, ...part });
        expect(JSON.stringify(link)).not.toContain(SECRET);
        expect(formOf(link).token).toBe('');
      }),
    );
  });

  it('opens from its link as it was', () => {
    const form = {
      ...EMPTY_FORM,
      method: 'PUT',
      url: 'http://a.test/b',
      host: 'b.test:8080',
      headers: 'Origin: x',
      clientIp: '::1',
    };
    expect(formOf(linkOf(form))).toEqual(form);
  });
});

describe('the same request for real', () => {
  it('takes the host of a whole URL, and the credential where the route reads it', () => {
    const form = { ...EMPTY_FORM, url: 'https://api.test/a?b', token: 't', headers: 'X-B: 1' };
    expect(tryInputOf(form, [{ name: 'X-Key', value: '********' }], '')).toEqual({
      method: 'GET',
      path: '/a?b',
      host: 'api.test',
      headers: [
        ['X-B', '1'],
        ['X-Key', 't'],
      ],
    });
    expect(tryInputOf({ ...form, url: '/a', headers: 'Host: b.test' }, [], 'text')).toEqual({
      method: 'GET',
      path: '/a',
      host: 'b.test',
      headers: [['Authorization', 'Bearer t']],
      body: 'text',
    });
  });
});
