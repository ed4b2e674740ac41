/** How the recent requests would be answered after a rollback to a version. */
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { call } from '../../api/call.ts';
import type { Fields } from '../save/merge-patch.ts';
import { TrafficPlan } from '../save/traffic-of.tsx';
import { declaredRollBack } from './declared-roll-back.ts';

interface TrafficOfVersionProps {
  readonly version: number;
  readonly deletesKeys: boolean;
}

export function TrafficOfVersion({ version, deletesKeys }: TrafficOfVersionProps): ReactNode {
  const trees = useQuery({
    queryKey: ['save', 'trees of a rollback', version],
    queryFn: () => Promise.all([treeAt(version), treeAt()]),
    retry: false,
    gcTime: 0,
  });
  const [before, now] = trees.data ?? [];
  const config = before && now && declaredRollBack(before, now, deletesKeys);
  return <TrafficPlan config={config} error={trees.error} />;
}

async function treeAt(version?: number): Promise<Fields> {
  const { body } = await call('GET /config', { query: { version } });
  return (body.data as { readonly config: Fields }).config;
}
