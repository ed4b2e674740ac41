/** Explain */
import type { ReactNode } from 'react';
import { PageHead } from '../../ui/display/panel.tsx';

export function ExplainPage(): ReactNode {
  return <PageHead title="Explain" />;
}
