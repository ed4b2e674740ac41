/** One setting: its name and meaning, its value, its default, and where the value comes from. */
import { Fragment, type ReactNode } from 'react';
import type { Setting } from '../../api/schema.ts';
import { settingsWords } from '../../text/operation.ts';
import { Badge } from '../../ui/display/badge.tsx';
import { CodeText } from '../../ui/display/code-text.tsx';
import styles from './settings.module.css';

export function SettingItem({ setting }: { readonly setting: Setting }): ReactNode {
  const { name, doc, source, secret, unit } = setting;
  return (
    <li className={styles['item']}>
      <div className={styles['about']}>
        <h3>
          <code>{breakable(name)}</code>
          <Badge tone={source === 'default' ? 'neutral' : 'accent'}>{settingsWords.sources[source]}</Badge>
          {secret && <Badge tone="warn">{settingsWords.secret}</Badge>}
        </h3>
        <p>
          <CodeText text={doc} />
        </p>
      </div>
      <dl className={styles['values']}>
        <div>
          <dt>{settingsWords.value}</dt>
          <dd className={styles['value']}>
            <Value value={setting.value} unit={unit} absent={settingsWords.unset} />
          </dd>
        </div>
        <div>
          <dt>{settingsWords.default}</dt>
          <dd>
            {setting.default_text === null ? (
              <Value value={setting.default} unit={unit} absent={settingsWords.noDefault} />
            ) : (
              <CodeText text={setting.default_text} />
            )}
          </dd>
        </div>
      </dl>
    </li>
  );
}

/** A long name breaks behind its underscores, where the line is too short for it. */
function breakable(name: string): ReactNode {
  return name.split(/(?<=_)(?=[^_])/).map((part, index) => (
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {part}
    </Fragment>
  ));
}

interface ValueProps {
  readonly value: Setting['value'];
  readonly unit: string | null;
  readonly absent: string;
}

function Value({ value, unit, absent }: ValueProps): ReactNode {
  if (value === null) return <span className={styles['soft']}>{absent}</span>;
  const text = Array.isArray(value) ? value.join(', ') : String(value);
  if (text === '') return <span className={styles['soft']}>{settingsWords.empty}</span>;
  return (
    <>
      <code>{text}</code>
      {unit !== null && <span className={styles['soft']}> {unit}</span>}
    </>
  );
}
