/** Revision */
import type { ReactNode } from 'react';
import { PageHead } from '../../ui/display/panel.tsx';

export function RevisionPage(): ReactNode {
  return <PageHead title="Revision" />;
}
