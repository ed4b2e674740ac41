/** History */
import type { ReactNode } from 'react';
import { PageHead } from '../../ui/display/panel.tsx';

export function HistoryPage(): ReactNode {
  return <PageHead title="History" />;
}
