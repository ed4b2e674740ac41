/** Start */
import type { ReactNode } from 'react';
import { PageHead } from '../../ui/display/panel.tsx';

export function StartPage(): ReactNode {
  return <PageHead title="Start" />;
}
