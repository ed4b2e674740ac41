/** The policy of a record as a view of its page; its editor is loaded when it is opened. */
import { Suspense, lazy, type ReactNode } from 'react';
import { appsWords } from '../../../text/apps.ts';
import { Loading } from '../../../ui/display/notes.tsx';
import type { Tab } from '../../../ui/overlay/tabs.tsx';
import { apiPath, type Level, type ResourcePath } from '../resource-path.ts';

const PolicyPanel = lazy(async () => ({
  default: (await import('../../policies/policy-panel.tsx')).PolicyPanel,
}));

export function policyTab(level: Exclude<Level, 'version'>, path: ResourcePath): Tab {
  return {
    value: 'policy',
    label: appsWords.tabs.policy,
    content: <PolicyView level={level} path={path} />,
  };
}

interface PolicyViewProps {
  readonly level: Exclude<Level, 'version'>;
  readonly path: ResourcePath;
}

function PolicyView({ level, path }: PolicyViewProps): ReactNode {
  return (
    <Suspense fallback={<Loading />}>
      <PolicyPanel level={level} path={apiPath(path)} />
    </Suspense>
  );
}
