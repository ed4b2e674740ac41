import { expect, it } from 'vitest';
import { deprecationField, sunsetField } from './deprecation.ts';
import { statusText } from '../heads/status-text.ts';

it('writes Deprecation as in RFC 9745 and Sunset as in RFC 8594', () => {
  expect(deprecationField(1_688_169_599)).toBe('Deprecation: @1688169599\r\n');
  expect(sunsetField(1_688_169_599)).toBe('Sunset: Fri, 30 Jun 2023 23:59:59 GMT\r\n');
});

it('returns the phrases of RFC 9110, and an empty phrase for other statuses', () => {
  expect([statusText(429), statusText(413), statusText(299)]).toEqual([
    'Too Many Requests',
    'Content Too Large',
    '',
  ]);
});
