/** Checks whether the certificates of the listeners can be used, and for how long. */
import type { Clock } from '../../lib/clock.ts';
import type { Settings } from '../../settings/settings.ts';
import { certificateProblems, problemText, type ListenerName } from '../certificates/certificate-ends.ts';
import { loadCertificates, type CertificateFiles } from '../certificates/certificates.ts';
import { error, ok, warning, type Finding } from './finding.ts';

const RENEW = 'renew the certificate; the gateway reads its file again by itself';
const TOO_EARLY =
  'check the clock of this machine; if it is right, clients refuse the certificate until then: name one that is valid now';

export async function certificateChecks({ proxy, server }: Settings, clock: Clock): Promise<Finding[]> {
  const listeners: readonly (readonly [ListenerName, readonly CertificateFiles[] | undefined])[] = [
    ['traffic', proxy.tls],
    ['management', server.tls && [server.tls]],
  ];
  const found: Finding[] = [];
  for (const [listener, files] of listeners) {
    if (files === undefined) continue;
    const loaded = await loadCertificates(files, listener);
    if ('error' in loaded) {
      found.push(
        error(
          'certificates',
          loaded.error,
          'name a certificate and its key in PEM; the group of the gateway must be able to read the key (chmod 640)',
        ),
      );
      continue;
    }
    const problems = certificateProblems(loaded.facts, clock.nowMs());
    const text = problemText(problems, listener);
    if (text === undefined) {
      const endMs = Math.min(...loaded.facts.map(({ expiresAtMs }) => expiresAtMs));
      found.push(ok('certificates', `${listener}: valid until ${new Date(endMs).toISOString()}`));
    } else {
      const judge = problems.some(({ state }) => state === 'expired') ? error : warning;
      const areAllEarly = problems.every(({ state }) => state === 'not_valid_yet');
      found.push(judge('certificates', text, areAllEarly ? TOO_EARLY : RENEW));
    }
  }
  return found;
}
