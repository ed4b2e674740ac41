/** Which view of a record is open, and whether something is being created on its page; both are in the address. */
import { useSearchText } from '../../../page/search-text.ts';
import { useMay } from '../../../page/session.ts';

interface RecordView {
  readonly tab: string;
  readonly setTab: (tab: string) => void;
  /** For example `version`; empty when nothing is being created. */
  readonly making: string;
  readonly setMaking: (what: string) => void;
  readonly mayEdit: boolean;
}

export function useRecordView(): RecordView {
  const [tab, setTab] = useSearchText('tab', 'overview');
  const [making, setMaking] = useSearchText('create');
  const mayEdit = useMay('editor');
  return {
    tab: tab === 'edit' && !mayEdit ? 'overview' : tab,
    setTab,
    making: mayEdit ? making : '',
    setMaking,
    mayEdit,
  };
}
