/**
 * The versions of the configuration: who made which change, the difference of any two, and the search for a
 * cause.
 */
import type { ReactNode } from 'react';
import { useSearchText } from '../../page/search-text.ts';
import { historyWords } from '../../text/history.ts';
import { PageHead } from '../../ui/display/panel.tsx';
import { Tabs } from '../../ui/overlay/tabs.tsx';
import { Bisect } from './bisect.tsx';
import { Versions } from './versions.tsx';

export function HistoryPage(): ReactNode {
  const [tab, setTab] = useSearchText('tab', 'versions');
  const { tabs } = historyWords;
  return (
    <>
      <PageHead title={historyWords.title} summary={historyWords.summary} />
      <Tabs
        label={tabs.label}
        value={tab}
        onValue={setTab}
        tabs={[
          { value: 'versions', label: tabs.versions, content: <Versions /> },
          { value: 'bisect', label: tabs.bisect, content: <Bisect /> },
        ]}
      />
    </>
  );
}
