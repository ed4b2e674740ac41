/** Edit */
import type { ReactNode } from 'react';
import { PageHead } from '../../ui/display/panel.tsx';

export function EditPage(): ReactNode {
  return <PageHead title="Edit" />;
}
