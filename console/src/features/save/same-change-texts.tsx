/** The texts of a change: curl, command and YAML, each to copy; same-change-view.tsx loads it. */
import type { ReactNode } from 'react';
import { stringify } from 'yaml';
import { saveWords as say } from '../../text/save.ts';
import { CopyButton } from '../../ui/controls/copy-button.tsx';
import type { DeclaredChange } from './declared-change.ts';
import { fileText } from './file-text.ts';
import type { SameChangeProps } from './same-change-props.ts';
import { curlOf } from './same-change.ts';
import { commandOf } from './same-command.ts';
import styles from './save.module.css';

export default function SameChangeTexts({
  operation,
  options,
  template,
  path,
  declared,
  isConfiguration = true,
  file,
  config,
  commanded,
}: SameChangeProps): ReactNode {
  const names = { ...options.path, ...path, ...declared?.names };
  const command = commanded
    ? commandOf(commanded.operation, commanded.options)
    : commandOf(template ?? operation, { ...options, path: names });
  const sent = options.body === undefined ? undefined : stringify(options.body);
  const body = config === undefined ? sent : fileText(config);
  const yaml = isConfiguration ? (declared?.yaml ?? body) : undefined;
  return (
    <div className={styles['texts']}>
      <Text title={say.curl} text={curlOf(operation, options, window.location.origin, file)} />
      {command !== undefined && <Text title={say.command} text={command} />}
      {yaml !== undefined && (
        <Text title={say.yaml} hint={config === undefined ? hintOf(declared) : say.yamlFile} text={yaml} />
      )}
    </div>
  );
}

/** An app that files leave out goes only with their owner, or where that is asked for. */
function hintOf(declared: DeclaredChange | undefined): string {
  if (declared === undefined) return say.yamlBody;
  const { kind, names } = declared;
  if (kind === 'absent') return Object.keys(names).join() === 'app_id' ? say.yamlAbsentApp : say.yamlAbsent;
  return declared.isOfKey ? say.yamlKey : say.yamlHint;
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
      <pre tabIndex={0} role="group" aria-label={title}>
        {text}
      </pre>
    </div>
  );
}
