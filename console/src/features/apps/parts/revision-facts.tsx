/** A revision in words. */
import type { ReactNode } from 'react';
import type { Revision } from '../../../api/schema.ts';
import { appsWords, backendProtocols, probeProtocols } from '../../../text/apps.ts';
import { words } from '../../../text/words.ts';
import { KeyValues } from '../../../ui/display/key-values.tsx';
import { Time } from '../../../ui/display/time.tsx';
import { PolicySummary } from './policy-summary.tsx';
import { backendText } from './state-badges.tsx';

export function RevisionFacts({ revision }: { readonly revision: Revision }): ReactNode {
  const { facts } = appsWords;
  return (
    <KeyValues
      rows={[
        [facts.backend, <code key="backend">{backendText(revision)}</code>],
        [facts.protocol, backendProtocols[revision.backend_protocol]],
        ...(revision.backend_scheme === 'https' ? [[facts.tls, tlsText(revision)] as const] : []),
        [facts.gatewayPath, appsWords.yesNo(revision.strip_gateway_path)],
        [facts.preserveHost, appsWords.yesNo(revision.preserve_host)],
        [facts.weight, weightText(revision)],
        [facts.health, healthCheckText(revision) ?? words.none],
        [facts.policy, <PolicySummary key="policy" policy={revision.default_policy} />],
        [facts.created, <Time key="created" at={revision.created_at} />],
        [facts.changed, <Time key="changed" at={revision.updated_at} />],
        [facts.id, <code key="id">{revision.id}</code>],
      ]}
    />
  );
}

/** A revision outside the split keeps a weight, which has no effect until it is added. */
function weightText({ is_current: isCurrent, traffic_weight: weight }: Revision): string {
  const text = weight.toLocaleString('en');
  return isCurrent ? text : appsWords.weightUnused(text);
}

/** undefined when there is no health check. */
function healthCheckText({
  health_check_path: path,
  circuit_breaker: breaker,
}: Revision): string | undefined {
  const probe = breaker?.probe;
  if (probe?.protocol !== 'grpc') return path ?? undefined;
  return [probeProtocols.grpc, probe.service].filter(Boolean).join(' ');
}

function tlsText({ backend_tls: tls }: Revision): string {
  const verified = tls?.verify === false ? appsWords.tlsUnverified : appsWords.tlsVerified;
  return tls?.server_name === undefined ? verified : `${verified}, ${tls.server_name}`;
}
