/** Config version */
import type { ReactNode } from 'react';
import { PageHead } from '../../ui/display/panel.tsx';

export function ConfigVersionPage(): ReactNode {
  return <PageHead title="Config version" />;
}
