/** Exchange */
import type { ReactNode } from 'react';
import { PageHead } from '../../ui/display/panel.tsx';

export function ExchangePage(): ReactNode {
  return <PageHead title="Exchange" />;
}
