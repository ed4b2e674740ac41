/** Views of one thing; the open one is in the address of the page. */
import { Tabs as Base } from '@base-ui/react/tabs';
import type { ReactNode } from 'react';
import styles from './tabs.module.css';

export interface Tab {
  readonly value: string;
  readonly label: string;
  readonly content: ReactNode;
}

interface TabsProps {
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly value: string;
  readonly onValue: (value: string) => void;
}

export function Tabs({ label, tabs, value, onValue }: TabsProps): ReactNode {
  return (
    <Base.Root value={value} onValueChange={(next) => onValue(String(next))}>
      <Base.List className={styles['list'] ?? ''} aria-label={label}>
        {tabs.map((tab) => (
          <Base.Tab key={tab.value} value={tab.value} className={styles['tab'] ?? ''}>
            {tab.label}
          </Base.Tab>
        ))}
      </Base.List>
      {tabs.map((tab) => (
        <Base.Panel key={tab.value} value={tab.value} className={styles['panel'] ?? ''}>
          {tab.content}
        </Base.Panel>
      ))}
    </Base.Root>
  );
}
