/** The same change as curl, as a command and as YAML, each to copy. */
import type { ReactNode } from 'react';
import { stringify } from 'yaml';
import { saveWords as say } from '../../text/save.ts';
import { CopyButton } from '../../ui/controls/copy-button.tsx';
import type { DeclaredChange } from './declared-change.ts';
import { commandOf, curlOf } from './same-change.ts';
import type { Change } from './save-context.ts';
import styles from './save.module.css';

interface SameChangeProps {
  readonly operation: string;
  readonly options: Change['options'];
  /** The same in the configuration files, where it has a place there. */
  readonly declared: DeclaredChange | undefined;
}

export function SameChange({ operation, options, declared }: SameChangeProps): ReactNode {
  const command = commandOf(operation, { ...options, path: declared?.names ?? options.path });
  const body = options.body === undefined ? undefined : stringify(options.body);
  const yaml = declared?.yaml ?? body;
  return (
    <details className={styles['same']}>
      <summary>{say.same}</summary>
      <div className={styles['texts']}>
        <Text title={say.curl} text={curlOf(operation, options)} />
        {command !== undefined && <Text title={say.command} text={command} />}
        {yaml !== undefined && (
          <Text title={say.yaml} hint={declared === undefined ? say.yamlBody : say.yamlHint} text={yaml} />
        )}
      </div>
    </details>
  );
}

interface TextProps {
  readonly title: string;
  readonly hint?: string;
  readonly text: string;
}

function Text({ title, hint, text }: TextProps): ReactNode {
  return (
    <div className={styles['text']}>
      <div className={styles['textHead']}>
        <h3>{title}</h3>
        <CopyButton text={text} label={say.copyOf(title)} />
      </div>
      {hint !== undefined && <p className={styles['soft']}>{hint}</p>}
      <pre tabIndex={0} role="region" aria-label={title}>
        {text}
      </pre>
    </div>
  );
}
