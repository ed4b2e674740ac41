/** Which view of a record is open, and whether something is being made on its page; both stand in the address. */
import { useSearchText } from '../../../page/search-text.ts';
import { useMay } from '../../../page/session.ts';

interface RecordView {
  readonly tab: string;
  readonly setTab: (tab: string) => void;
  /** Such as `version`; empty when nothing is being made. */
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
