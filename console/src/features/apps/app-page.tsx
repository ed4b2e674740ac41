/** App */
import type { ReactNode } from 'react';
import { PageHead } from '../../ui/display/panel.tsx';

export function AppPage(): ReactNode {
  return <PageHead title="App" />;
}
