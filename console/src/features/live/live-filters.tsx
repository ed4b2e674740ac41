/** The filters of live traffic. They are in the address; typed text applies a moment later, or with Enter. */
import { useEffect, useId, useState, type ReactNode } from 'react';
import { useRead } from '../../api/queries.ts';
import { useSearchText } from '../../page/search-text.ts';
import { liveWords } from '../../text/live.ts';
import { SelectField, TextField } from '../../ui/controls/field.tsx';
import { RATES, REASONS, type FilterName } from './live-query.ts';
import styles from './live.module.css';

const TYPING_MS = 500;
const APPS_LISTED = 50;

export function LiveFilters({
  errorOf,
}: {
  readonly errorOf: (name: FilterName) => string | undefined;
}): ReactNode {
  const listId = useId();
  const [reason, setReason] = useSearchText('reason');
  const [rate, setRate] = useSearchText('rate', RATES[0]);
  const apps = useRead('GET /apps', { query: { limit: APPS_LISTED } });
  return (
    <search aria-label={liveWords.filters}>
      <div className={styles['filters']}>
        <TypedFilter name="app" label={liveWords.app} error={errorOf('app')} list={listId} />
        <TypedFilter
          name="status"
          label={liveWords.status}
          hint={liveWords.statusHint}
          error={errorOf('status')}
        />
        <TypedFilter name="method" label={liveWords.method} error={errorOf('method')} />
        <TypedFilter name="path" label={liveWords.path} error={errorOf('path')} placeholder="/" />
        <TypedFilter name="key" label={liveWords.key} hint={liveWords.keyHint} error={errorOf('key')} />
        <SelectField
          label={liveWords.reason}
          value={reason}
          error={errorOf('reason')}
          choices={[
            { value: '', label: liveWords.any },
            ...REASONS.map((value) => ({ value: value as string, label: value })),
          ]}
          onValue={setReason}
        />
        <SelectField
          label={liveWords.rate}
          value={rate}
          choices={RATES.map((value) => ({ value: value as string, label: value }))}
          onValue={setRate}
        />
      </div>
      <datalist id={listId}>
        {apps.data?.body.data.map(({ slug }) => (
          <option key={slug}>{slug}</option>
        ))}
      </datalist>
    </search>
  );
}

interface TypedFilterProps {
  /** The name of the value in the address. */
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly error: string | undefined;
  readonly placeholder?: string;
  readonly list?: string;
}

/** Typed text applies a moment later, or with Enter. */
export function TypedFilter({ name, ...rest }: TypedFilterProps): ReactNode {
  const [value, setValue] = useSearchText(name);
  const [typed, setTyped] = useState(value);
  // The address changes without typing: back, a link, filters that are removed.
  const [known, setKnown] = useState(value);
  if (known !== value) {
    setKnown(value);
    setTyped(value);
  }
  useEffect(() => {
    if (typed === value) return undefined;
    const timer = setTimeout(() => setValue(typed), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, value, setValue]);
  return (
    <TextField
      {...rest}
      isMono
      value={typed}
      onValue={setTyped}
      onKeyDown={(event) => {
        if (event.key === 'Enter') setValue(typed);
      }}
    />
  );
}
