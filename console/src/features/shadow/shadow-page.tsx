/** Shadow */
import type { ReactNode } from 'react';
import { PageHead } from '../../ui/display/panel.tsx';

export function ShadowPage(): ReactNode {
  return <PageHead title="Shadow" />;
}
