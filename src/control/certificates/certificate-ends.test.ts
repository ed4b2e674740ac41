import { describe, expect, it } from 'vitest';
import type { Logger } from '../../observe/log.ts';
import type { CertificateFacts } from '../../proxy/downstream/tls/tls-certificate.ts';
import { CertificateReminder, certificateProblems, problemText } from './certificate-ends.ts';

const DAY_MS = 86_400_000;
const END_MS = Date.UTC(2030, 0, 31);
const facts: CertificateFacts = {
  names: ['a.test', 'b.test'],
  validFromMs: Date.UTC(2029, 0, 1),
  expiresAtMs: END_MS,
};
const good: CertificateFacts = { ...facts, names: ['good.test'], expiresAtMs: END_MS + 100 * DAY_MS };

/** Two clocks that run together until a test sets one of them. */
function reminder() {
  const warnings: { readonly fields: Record<string, unknown>; readonly message: string }[] = [];
  const log = {
    warn: (fields: Record<string, unknown>, message: string) => void warnings.push({ fields, message }),
  };
  const time = { nowMs: 0, monotonicMs: 0 };
  const clock = { nowMs: () => time.nowMs, monotonicMs: () => time.monotonicMs };
  const own = new CertificateReminder(clock, log as unknown as Logger, 'traffic');
  return {
    /** The warnings at this time. */
    look: (nowMs: number, certificates: readonly CertificateFacts[] = [facts]) => {
      time.monotonicMs += Math.max(0, nowMs - time.nowMs);
      time.nowMs = nowMs;
      own.look(certificates);
      return warnings.splice(0);
    },
  };
}

describe('certificateProblems', () => {
  it.each([
    [END_MS - 14 * DAY_MS - 1, undefined],
    [END_MS - 14 * DAY_MS, 'expires_soon'],
    [END_MS - 1, 'expires_soon'],
    [END_MS, 'expired'],
    [END_MS + 1_000 * DAY_MS, 'expired'],
    [facts.validFromMs - 1, 'not_valid_yet'],
    [facts.validFromMs, undefined],
  ])('at %d: %s', (nowMs, state) => {
    expect(certificateProblems([facts], nowMs).map((each) => each.state)).toEqual(
      state === undefined ? [] : [state],
    );
  });

  it('are reported with position, name and time', () => {
    const problems = certificateProblems([good, facts], END_MS);
    expect(problemText(problems, 'traffic')).toBe(
      'Certificate 2 of the traffic listener (a.test) expired at 2030-01-31T00:00:00.000Z',
    );
    expect(problemText(certificateProblems([{ ...facts, names: [] }, facts], END_MS - 1), 'traffic')).toBe(
      'Certificate 1 of the traffic listener expires at 2030-01-31T00:00:00.000Z. ' +
        'Certificate 2 of the traffic listener (a.test) expires at 2030-01-31T00:00:00.000Z',
    );
    expect(problemText(certificateProblems([good], END_MS), 'traffic')).toBeUndefined();
  });
});

describe('CertificateReminder', () => {
  it('warns once, then once a day, and at once when the certificate has expired', () => {
    const { look } = reminder();
    const startMs = END_MS - 2.5 * DAY_MS;
    expect(look(startMs, [good, facts])).toEqual([
      {
        fields: {
          certificate: 2,
          names: ['a.test', 'b.test'],
          valid_from: '2029-01-01T00:00:00.000Z',
          expires_at: '2030-01-31T00:00:00.000Z',
        },
        message: 'a certificate of the traffic listener expires soon',
      },
    ]);
    let warned = 0;
    for (let atMs = startMs; atMs < END_MS; atMs += 600_000) warned += look(atMs).length;
    // The list has changed, so there is one more warning, then one a day.
    expect(warned).toBe(3);
    expect(look(END_MS)[0]?.message).toMatch(/has expired and is still used/);
    expect(look(END_MS + 1)).toEqual([]);
    expect(look(END_MS + DAY_MS)).toHaveLength(1);
  });

  it('does not warn while all certificates are valid, and warns again afterwards', () => {
    const { look } = reminder();
    expect(look(END_MS, [good])).toEqual([]);
    expect(look(END_MS + 1, [facts, facts])).toHaveLength(2);
    expect(look(END_MS + 2, [good])).toEqual([]);
    expect(look(END_MS + 3, [facts])).toHaveLength(1);
  });

  it('measures the day on the monotonic clock', () => {
    const { look } = reminder();
    expect(look(END_MS + 10 * DAY_MS)).toHaveLength(1);
    expect(look(END_MS)).toEqual([]);
  });
});
