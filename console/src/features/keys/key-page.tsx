/** Key */
import type { ReactNode } from 'react';
import { PageHead } from '../../ui/display/panel.tsx';

export function KeyPage(): ReactNode {
  return <PageHead title="Key" />;
}
