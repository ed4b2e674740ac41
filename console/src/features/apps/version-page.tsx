/** Version */
import type { ReactNode } from 'react';
import { PageHead } from '../../ui/display/panel.tsx';

export function VersionPage(): ReactNode {
  return <PageHead title="Version" />;
}
