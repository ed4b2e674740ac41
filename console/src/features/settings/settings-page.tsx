/** Settings */
import type { ReactNode } from 'react';
import { PageHead } from '../../ui/display/panel.tsx';

export function SettingsPage(): ReactNode {
  return <PageHead title="Settings" />;
}
