import { expect, it } from 'vitest';
import { browserOf } from './browser-name.ts';

const WEBKIT = 'AppleWebKit/537.36 (KHTML, like Gecko)';

it.each([
  [
    `Mozilla/5.0 (X11; Linux x86_64) ${WEBKIT} HeadlessChrome/153.0.8010.0 Safari/537.36`,
    'Chrome 153, Linux',
  ],
  [
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/150.0 Safari/537.36 Edg/150.0`,
    'Edge 150, Windows',
  ],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:146.0) Gecko/20100101 Firefox/146.0',
    'Firefox 146, macOS',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1',
    'Safari 18, iOS',
  ],
  [
    'Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/149.0 Mobile Safari/537.36',
    'Chrome 149, Android',
  ],
  ['curl/8.9.1', 'curl/8.9.1'],
  ['', ''],
  ['<script>alert(1)</script> x', '<script>alert(1)</script>'],
])('names %s', (userAgent, name) => {
  expect(browserOf(userAgent)).toBe(name);
});
