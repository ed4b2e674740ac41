/** Access */
import type { ReactNode } from 'react';
import { PageHead } from '../../ui/display/panel.tsx';

export function AccessPage(): ReactNode {
  return <PageHead title="Access" />;
}
