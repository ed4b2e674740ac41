/** Audit */
import type { ReactNode } from 'react';
import { PageHead } from '../../ui/display/panel.tsx';

export function AuditPage(): ReactNode {
  return <PageHead title="Audit" />;
}
