/** Endpoint */
import type { ReactNode } from 'react';
import { PageHead } from '../../ui/display/panel.tsx';

export function EndpointPage(): ReactNode {
  return <PageHead title="Endpoint" />;
}
