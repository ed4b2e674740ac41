import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import type { Settings } from '../../settings/settings.ts';
import { certificateChecks } from './certificate-checks.ts';

const TLS = resolve(import.meta.dirname, '../../../test/support/tls');
const DAY_MS = 86_400_000;

it('says what to do with a certificate that is not valid yet, which no renewal helps', async () => {
  const certFile = join(TLS, 'site.pem');
  const { validFrom } = new X509Certificate(readFileSync(certFile));
  const settings = { proxy: { tls: [{ certFile, keyFile: join(TLS, 'site-key.pem') }] }, server: {} };
  const at = (nowMs: number) =>
    certificateChecks(settings as unknown as Settings, { ...systemClock, nowMs: () => nowMs });
  expect(await at(Date.parse(validFrom) - DAY_MS)).toEqual([
    expect.objectContaining({
      state: 'warning',
      detail: expect.stringContaining('is not valid before'),
      fix: expect.stringContaining('check the clock'),
    }),
  ]);
  expect(await at(Date.parse(validFrom) + DAY_MS)).toMatchObject([{ state: 'ok' }]);
});
