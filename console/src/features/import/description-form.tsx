/** The description to import, dropped, chosen or pasted, and where it goes. */
import { useState, type DragEvent, type ReactNode } from 'react';
import { fieldMessage } from '../../api/api-error.ts';
import { importWords } from '../../text/import.ts';
import { Button } from '../../ui/controls/button.tsx';
import { CheckField, FieldGrid, TextArea, TextField } from '../../ui/controls/field.tsx';
import { ErrorNote } from '../../ui/display/notes.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { readDescription, suggestedSlug } from './description-file.ts';
import styles from './import.module.css';

/** In the form of the API; empty texts are left out. */
export interface Description {
  readonly document: string;
  readonly app: string;
  readonly version: string;
  readonly revision: string;
  readonly gateway_path: string;
  readonly backend: string;
  readonly security: boolean;
}

export const EMPTY: Description = {
  document: '',
  app: '',
  version: '',
  revision: '',
  gateway_path: '',
  backend: '',
  security: true,
};

interface DescriptionFormProps {
  readonly description: Description;
  readonly onChange: (description: Description) => void;
  readonly error: Error | undefined;
  readonly isBusy: boolean;
  readonly onSubmit: () => void;
}

type TextName = Exclude<keyof Description, 'document' | 'security'>;
const { fields } = importWords;
const TEXTS: readonly (readonly [TextName, readonly [string, string]])[] = [
  ['app', fields.app],
  ['version', fields.version],
  ['revision', fields.revision],
  ['gateway_path', fields.gatewayPath],
  ['backend', fields.backend],
];

export function DescriptionForm({
  description,
  onChange,
  error,
  isBusy,
  onSubmit,
}: DescriptionFormProps): ReactNode {
  const problemAt = (pointer: string): string | undefined => fieldMessage(error, pointer);
  const setDocument = (document: string): void => {
    const app = description.app === '' ? suggestedSlug(document) : description.app;
    onChange({ ...description, document, app });
  };
  return (
    <Panel title={importWords.steps.description}>
      <form
        className={styles['form']}
        aria-label={importWords.title}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit();
        }}
      >
        {error !== undefined && <ErrorNote error={error} />}
        <DropArea document={description.document} onDocument={setDocument} problem={problemAt('/document')} />
        <FieldGrid>
          {TEXTS.map(([name, [label, hint]]) => (
            <TextField
              key={name}
              label={label}
              hint={hint}
              value={description[name]}
              error={problemAt(`/${name}`)}
              onValue={(value) => onChange({ ...description, [name]: value })}
            />
          ))}
        </FieldGrid>
        <CheckField
          label={importWords.security}
          hint={importWords.securityHint}
          checked={description.security}
          onChecked={(security) => onChange({ ...description, security })}
        />
        <div>
          <Button
            type="submit"
            look="main"
            isBusy={isBusy}
            disabled={description.document.trim() === '' || description.app === ''}
          >
            {importWords.makePlan}
          </Button>
        </div>
      </form>
    </Panel>
  );
}

interface DropAreaProps {
  readonly document: string;
  readonly onDocument: (text: string) => void;
  readonly problem: string | undefined;
}

function DropArea({ document, onDocument, problem }: DropAreaProps): ReactNode {
  const [isOver, setOver] = useState(false);
  const [unread, setUnread] = useState<string>();
  const take = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    const read = await readDescription(file);
    setUnread('problem' in read ? read.problem : undefined);
    if ('text' in read) onDocument(read.text);
  };
  const over = (event: DragEvent): void => {
    event.preventDefault();
    setOver(true);
  };
  return (
    <div
      className={styles['drop']}
      data-over={isOver}
      onDragOver={over}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        void take(event.dataTransfer.files[0]);
      }}
    >
      <TextArea
        label={importWords.document}
        hint={isOver ? importWords.dropHere : importWords.documentHint}
        error={unread ?? problem}
        value={document}
        onValue={onDocument}
        rows={14}
        isMono
      />
      <label className={styles['file']}>
        <span>{importWords.chooseFile}</span>
        <input
          type="file"
          accept=".json,.yaml,.yml,application/json,application/yaml"
          onChange={(event) => void take(event.currentTarget.files?.[0])}
        />
      </label>
    </div>
  );
}
