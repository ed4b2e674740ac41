/** One part of a policy: where its value comes from, its form, and whether it is in shadow mode. */
import { stringify } from 'yaml';
import { useId, type ReactNode } from 'react';
import { policyWords } from '../../text/policies.ts';
import { Button } from '../../ui/controls/button.tsx';
import { CheckField } from '../../ui/controls/field.tsx';
import { Badge } from '../../ui/display/badge.tsx';
import { Note } from '../../ui/display/notes.tsx';
import { plainOf, variantsOf, type JsonSchema } from '../../ui/editor/json-schema.ts';
import { isFields } from '../save/merge-patch.ts';
import { Described } from './forms/fields.tsx';
import { PART_FORMS, UnknownPartForm } from './forms/part-forms.tsx';
import type { Inherited } from './policy-place.ts';
import styles from './policies.module.css';

export interface PartCardProps {
  readonly part: string;
  /** undefined: this gateway does not know the part. */
  readonly schema: JsonSchema | undefined;
  /** undefined: not set here. */
  readonly value: unknown;
  readonly inherited: Inherited | undefined;
  readonly isChanged: boolean;
  readonly mayEdit: boolean;
  /** undefined: the part cannot be tried only. */
  readonly shadow: { readonly isOn: boolean; readonly onChange: (isOn: boolean) => void } | undefined;
  readonly onValue: (value: unknown) => void;
  readonly onSetHere: () => void;
  readonly errorAt: (pointer: string) => string | undefined;
  /** What applies whatever the part says. */
  readonly also: string | undefined;
  readonly warnings: readonly string[];
}

export function PartCard(props: PartCardProps): ReactNode {
  const { part, value, inherited, isChanged, mayEdit, shadow, also, warnings } = props;
  const id = useId();
  const title = titleOf(part);
  const isSet = value !== undefined;
  const schema = plainOf(props.schema ?? {});
  return (
    <section className={styles['part']} aria-labelledby={id} data-set={isSet || undefined}>
      <header className={styles['head']}>
        <h3 id={id}>
          {title} <code>{part}</code>
        </h3>
        <div className={styles['state']}>
          {isChanged && <Badge tone="info">{isSet ? policyWords.isChanged : policyWords.isTaken}</Badge>}
          <SourceBadge isSet={isSet} inherited={inherited} />
          {mayEdit && <PartAction {...props} title={title} />}
        </div>
      </header>
      {schema.description !== undefined && (
        <p className={styles['about']}>
          <Described text={schema.description} />
        </p>
      )}
      {also !== undefined && <Note tone="neutral">{also}</Note>}
      {warnings.map((warning) => (
        <Note key={warning} tone="warn">
          {warning}
        </Note>
      ))}
      {isSet ? (
        <fieldset className={styles['form']} disabled={!mayEdit} aria-label={title}>
          <PartBody {...props} partSchema={schema} />
        </fieldset>
      ) : (
        inherited !== undefined && <InheritedValue title={title} value={inherited.value} />
      )}
      {shadow !== undefined && (isSet || inherited !== undefined) && (
        <CheckField
          label={policyWords.shadow}
          aria-label={policyWords.shadowOf(title)}
          hint={policyWords.shadowHint}
          checked={shadow.isOn}
          disabled={!mayEdit}
          onChecked={shadow.onChange}
        />
      )}
    </section>
  );
}

function titleOf(part: string): string {
  return policyWords.parts[part]?.title ?? part;
}

function PartBody({
  part,
  value,
  onValue,
  errorAt,
  partSchema,
}: PartCardProps & { readonly partSchema: JsonSchema }): ReactNode {
  const known = PART_FORMS[part];
  const form = { part, schema: partSchema, value, onValue, errorAt };
  const isOfShape = fits(value, partSchema);
  const Form = known !== undefined && isOfShape ? known.Form : UnknownPartForm;
  const error = isFields(value) && Form !== UnknownPartForm ? errorAt('') : undefined;
  return (
    <>
      {error !== undefined && (
        <div className={styles['error']} role="alert">
          {error}
        </div>
      )}
      <Form form={form} />
    </>
  );
}

/** Whether a form for the schema can show the value; a number may still be typed. */
function fits(value: unknown, schema: JsonSchema): boolean {
  const types = variantsOf(schema).map(({ type }) => type);
  if (types.includes('object')) return isFields(value);
  if (types.includes('array')) return Array.isArray(value) && value.every((item) => typeof item !== 'object');
  return types.includes('integer') && typeof value !== 'object';
}

function SourceBadge({
  isSet,
  inherited,
}: {
  readonly isSet: boolean;
  readonly inherited: Inherited | undefined;
}): ReactNode {
  if (isSet) return <Badge tone="accent">{policyWords.isSetHere}</Badge>;
  if (inherited === undefined) return <Badge>{policyWords.notSet}</Badge>;
  return <Badge tone="neutral">{policyWords.from(inherited.level)}</Badge>;
}

function PartAction({
  value,
  inherited,
  onValue,
  onSetHere,
  title,
}: PartCardProps & { readonly title: string }): ReactNode {
  if (value === undefined)
    return (
      <Button isSmall aria-label={policyWords.setHereOf(title)} onClick={onSetHere}>
        {policyWords.setHere}
      </Button>
    );
  const isInherited = inherited !== undefined;
  return (
    <Button
      isSmall
      aria-label={isInherited ? policyWords.inheritOf(title) : policyWords.unsetOf(title)}
      onClick={() => onValue(undefined)}
    >
      {isInherited ? policyWords.inherit : policyWords.unset}
    </Button>
  );
}

interface InheritedValueProps {
  /** The title of the part. */
  readonly title: string;
  readonly value: unknown;
}

function InheritedValue({ title, value }: InheritedValueProps): ReactNode {
  return (
    <pre className={styles['inherited']} aria-label={policyWords.inherited(title)} tabIndex={0} role="region">
      {stringify(value)}
    </pre>
  );
}
