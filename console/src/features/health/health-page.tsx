/** Health */
import type { ReactNode } from 'react';
import { PageHead } from '../../ui/display/panel.tsx';

export function HealthPage(): ReactNode {
  return <PageHead title="Health" />;
}
