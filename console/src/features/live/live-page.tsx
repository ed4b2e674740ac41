/** Live */
import type { ReactNode } from 'react';
import { PageHead } from '../../ui/display/panel.tsx';

export function LivePage(): ReactNode {
  return <PageHead title="Live" />;
}
