/** Keys */
import type { ReactNode } from 'react';
import { PageHead } from '../../ui/display/panel.tsx';

export function KeysPage(): ReactNode {
  return <PageHead title="Keys" />;
}
