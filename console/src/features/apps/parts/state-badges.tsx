/** States of versions and breakers, in their colours. */
import type { ReactNode } from 'react';
import type { Revision, RevisionHealth, Version } from '../../../api/schema.ts';
import { appsWords, targetWords } from '../../../text/apps.ts';
import { Badge, type Tone } from '../../../ui/display/badge.tsx';
import { shownPlace } from './shown-place.ts';

const STATUS_TONES: Readonly<Record<Version['status'], Tone>> = {
  active: 'good',
  deprecated: 'warn',
  retired: 'bad',
};
export const BREAKER_TONES: Readonly<Record<RevisionHealth['state'], Tone>> = {
  closed: 'good',
  open: 'bad',
  half_open: 'warn',
};

export function StatusBadge({ status }: { readonly status: Version['status'] }): ReactNode {
  return <Badge tone={STATUS_TONES[status]}>{appsWords.status[status]}</Badge>;
}

export function BreakerBadge({ state }: { readonly state: RevisionHealth['state'] }): ReactNode {
  return <Badge tone={BREAKER_TONES[state]}>{appsWords.breaker[state]}</Badge>;
}

/** `https://host:port/base`, and how many more targets there are. */
export function backendText(revision: Revision): string {
  const {
    backend_scheme: scheme,
    backend_host: host,
    backend_port: port,
    backend_base_path: path,
    targets,
    discovery,
  } = revision;
  if (discovery !== null) return `${scheme} by ${sourceText(discovery)}${path === '/' ? '' : path}`;
  const first = `${scheme}://${shownPlace(host, port)}${path === '/' ? '' : path}`;
  const others = (targets?.length ?? 1) - 1;
  return others > 0 ? targetWords.andOthers(first, others) : first;
}

/** The source in the form that the health of the revision has. */
function sourceText({ type, host, port, name, path }: NonNullable<Revision['discovery']>): string {
  if (type === 'dns') return `dns ${host}:${port}`;
  return type === 'dns_srv' ? `dns_srv ${name}` : `file ${path}`;
}
