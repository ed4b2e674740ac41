import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { setsConsoleCookie, withoutConsoleCookies } from './console-cookies.ts';

const VALUE = 'a'.repeat(43);
const CONSOLE = ['headgate_session', '__Host-headgate_session', 'headgate_oidc', '__Host-headgate_oidc'];

describe('withoutConsoleCookies', () => {
  it.each([
    [`headgate_session=${VALUE}`, ''],
    [`a=1; headgate_session=${VALUE}; b=2`, 'a=1; b=2'],
    [`headgate_session=${VALUE}; b=2`, 'b=2'],
    [`a=1; __Host-headgate_session=${VALUE}`, 'a=1'],
    [`headgate_oidc=x;__Host-headgate_oidc=y;c=3`, 'c=3'],
    [`a=1;\theadgate_session\t=\t${VALUE} ; b=2`, 'a=1; b=2'],
    [`headgate_session=1; a=1; headgate_session=2`, 'a=1'],
    [`a=1; headgate_session; b`, 'a=1; b'],
    // The management API reads none of these as its cookie.
    ['a=1; b=2', undefined],
    ['headgate_sessions=1; xheadgate_session=2; Headgate_Session=3', undefined],
    ['a=headgate_session', undefined],
    ['a="headgate_session=1"', undefined],
    ['', undefined],
  ])('%s', (value, expected) => {
    expect(withoutConsoleCookies(value)).toBe(expected);
  });

  it('leaves all other cookies as they are, in their order', () => {
    const name = fc.oneof(
      fc.constantFrom(...CONSOLE, 'headgate_', 'x_headgate_session'),
      fc.stringMatching(/^[a-z]{1,5}$/),
    );
    const pair = fc.tuple(name, fc.stringMatching(/^[!-:<-~]{0,8}$/)).map(([key, text]) => `${key}=${text}`);
    fc.assert(
      fc.property(fc.array(pair, { maxLength: 12 }), (pairs) => {
        const others = pairs.filter((each) => !CONSOLE.includes(each.slice(0, each.indexOf('='))));
        const value = pairs.join('; ');
        expect(withoutConsoleCookies(value) ?? value).toBe(others.join('; '));
      }),
    );
  });
});

describe('setsConsoleCookie', () => {
  it.each([
    [`headgate_session=${VALUE}`, true],
    [`__Host-headgate_session=${VALUE}; Path=/; Secure`, true],
    ['headgate_oidc=; Max-Age=0', true],
    ['\theadgate_oidc\t=x', true],
    ['headgate_session', true],
    ['=headgate_session=x', true],
    ['= = headgate_session=x', true],
    ['a=headgate_session=x', false],
    ['a=1; Path=/headgate_session=', false],
    ['headgate_sessions=1', false],
    ['Headgate_Session=1', false],
    ['', false],
  ])('%j: %s', (value, expected) => {
    expect(setsConsoleCookie(value)).toBe(expected);
  });
});
