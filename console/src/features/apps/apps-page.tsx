/** Apps */
import type { ReactNode } from 'react';
import { PageHead } from '../../ui/display/panel.tsx';

export function AppsPage(): ReactNode {
  return <PageHead title="Apps" />;
}
