/** Import */
import type { ReactNode } from 'react';
import { PageHead } from '../../ui/display/panel.tsx';

export function ImportPage(): ReactNode {
  return <PageHead title="Import" />;
}
