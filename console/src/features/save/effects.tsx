/** What a dry run says: which routes and keys change, in words and as a list, and what the gateway warns of. */
import { useState, type ReactNode } from 'react';
import type {
  DryRunEndpoint,
  DryRunEnvelope,
  DryRunKey,
  DryRunPart,
  DryRunPartChange,
} from '../../api/schema.ts';
import { saveWords as say } from '../../text/save.ts';
import { Button } from '../../ui/controls/button.tsx';
import { Badge, type Tone } from '../../ui/display/badge.tsx';
import { Note } from '../../ui/display/notes.tsx';
import { groupsOf, type EffectGroup } from './effect-groups.ts';
import { applyPatch, isFields, type Fields } from './merge-patch.ts';
import { changedTexts, partText } from './part-text.ts';
import { WarningsNote } from './warnings-note.tsx';
import styles from './save.module.css';

const TONES: Readonly<Record<string, Tone>> = { added: 'good', removed: 'bad', changed: 'info' };
/** Routes of a group that are shown at first. */
const SHOWN_MAX = 5;
/** Groups that are shown at first: what else the dialog asks for stays in sight. */
const GROUPS_MAX = 3;

interface EffectsProps {
  readonly trial: DryRunEnvelope;
  readonly operation: string;
  /** Of a merge patch. */
  readonly body: unknown;
  /** What of it was read; undefined: not known. */
  readonly base: Fields | undefined;
}

export function Effects({ trial, operation, body, base }: EffectsProps): ReactNode {
  const { endpoints, endpoints_total: total, keys, keys_total: keysTotal } = trial.data;
  const areNew = {
    routes: total === endpoints.length && endpoints.every(({ change }) => change === 'added'),
    keys: keysTotal === keys.length && keys.every(({ change }) => change === 'added'),
  };
  const isNone = total + keysTotal === 0;
  const patch = isNone && operation.startsWith('PATCH ') && isFields(body) ? body : {};
  const text =
    isNone && operation.endsWith('/traffic')
      ? say.onlyShares
      : Object.keys(patch).length > 0
        ? say.onlyRecord
        : say.effects(total, keysTotal, areNew);
  return (
    <>
      <Note tone={isNone ? 'neutral' : 'info'}>{text}</Note>
      {Object.entries(patch).map(([name, change]) => (
        <FieldChange key={name} name={name} before={base?.[name]} change={change} />
      ))}
      <WarningsNote warnings={trial.warnings} />
      {endpoints.length > 0 && (
        <section className={styles['block']} aria-label={say.routes}>
          <h3>{say.routes}</h3>
          <Groups groups={groupsOf(endpoints)} />
          {total > endpoints.length && (
            <p className={styles['soft']}>{say.andMore(total - endpoints.length)}</p>
          )}
        </section>
      )}
      {keys.length > 0 && <Keys keys={keys} total={keysTotal} />}
    </>
  );
}

function Groups({ groups }: { readonly groups: readonly EffectGroup[] }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const shown = isOpen ? groups : groups.slice(0, GROUPS_MAX);
  return (
    <>
      {shown.map((group) => (
        <Group key={group.key} group={group} />
      ))}
      {shown.length < groups.length && (
        <div>
          <Button isSmall onClick={() => setOpen(true)}>
            {say.moreGroups(groups.length - shown.length)}
          </Button>
        </div>
      )}
    </>
  );
}

function Group({ group: { sample, routes } }: { readonly group: EffectGroup }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const shown = isOpen ? routes : routes.slice(0, SHOWN_MAX);
  return (
    <div className={styles['group']}>
      <div className={styles['change']}>
        <Badge tone={TONES[sample.change] ?? 'info'}>{say.kinds[sample.change] ?? sample.change}</Badge>
        {routes.length > 1 && <span>{say.sameFor(routes.length)}</span>}
        <RouteFacts endpoint={sample} />
      </div>
      {/* Of a route that goes its policy goes too. */}
      {(sample.change === 'removed' ? [] : sample.parts).map((change) => (
        <PartChange key={change.part} change={change} isNew={sample.change === 'added'} />
      ))}
      <ul className={styles['routes']}>
        {shown.map((endpoint) => (
          <li key={`${endpoint.revision_id} ${endpoint.endpoint_id ?? ''}`}>
            <code>{say.route(endpoint.method, (endpoint.after ?? endpoint.before)?.route ?? '')}</code>
            <span className={styles['soft']}>{say.where(endpoint.version, endpoint.revision)}</span>
          </li>
        ))}
      </ul>
      {!isOpen && routes.length > SHOWN_MAX && (
        <div>
          <Button isSmall onClick={() => setOpen(true)}>
            {say.showAll(routes.length)}
          </Button>
        </div>
      )}
    </div>
  );
}

/** What is neither part nor place: whether it gets requests, where it moves, whether the key opens it. */
function RouteFacts({
  endpoint: { before, after, admits },
}: {
  readonly endpoint: DryRunEndpoint;
}): ReactNode {
  const facts = [
    before !== null && after !== null && before.route !== after.route && say.moves(before.route, after.route),
    before !== null &&
      after !== null &&
      hostsOf(before) !== hostsOf(after) &&
      say.movesHosts(hostsOf(before), hostsOf(after)),
    before?.serves === true && after?.serves !== true && say.stops,
    before?.serves !== true && after?.serves === true && say.starts,
    admits !== null && admits.before !== admits.after && (admits.after ? say.opens : say.closes),
  ].filter((fact) => fact !== false);
  return facts.map((fact) => <span key={fact}>{fact}</span>);
}

const hostsOf = ({ hosts }: NonNullable<DryRunEndpoint['after']>): string =>
  hosts?.join(', ') ?? say.everyHost;

interface FieldChangeProps {
  readonly name: string;
  readonly before: unknown;
  /** RFC 7396. */
  readonly change: unknown;
}

function FieldChange({ name, before, change }: FieldChangeProps): ReactNode {
  const [was, becomes] = changedTexts(before ?? '', applyPatch(before, change) ?? '');
  return (
    <div className={styles['change']}>
      <code>{name}</code>
      {was !== '' && <del className={styles['before']}>{was}</del>}
      {was !== '' && <span aria-hidden="true">→</span>}
      <ins className={styles['after']}>{becomes === '' ? say.notSet : becomes}</ins>
    </div>
  );
}

interface PartChangeProps {
  readonly change: DryRunPartChange;
  /** Nothing was there before: only what comes is told. */
  readonly isNew: boolean;
}

function PartChange({ change: { part, before, after }, isNew }: PartChangeProps): ReactNode {
  const [was, becomes] =
    before === null || after === null
      ? [partText(before?.value), partText(after?.value)]
      : changedTexts(before.value, after.value);
  return (
    <div className={styles['change']}>
      <code>{part}</code>
      {!(isNew && before === null) && (
        <>
          <PartState part={before} text={was} className={styles['before']} />
          <span aria-hidden="true">→</span>
        </>
      )}
      <PartState part={after} text={becomes} className={styles['after']} />
    </div>
  );
}

interface PartStateProps {
  readonly part: DryRunPart | null;
  readonly text: string;
  readonly className: string | undefined;
}

function PartState({ part, text, className }: PartStateProps): ReactNode {
  if (part === null) return <span className={className}>{say.notSet}</span>;
  return (
    <span>
      <code className={className}>{text === '' ? say.notSet : text}</code>{' '}
      <span className={styles['level']}>({say.level(part.source.level)})</span>
    </span>
  );
}

function Keys({ keys, total }: { readonly keys: readonly DryRunKey[]; readonly total: number }): ReactNode {
  const named = keys.filter(({ name }) => name !== null);
  // Keys that go with their app are not named.
  const isGone = named.length < keys.length;
  return (
    <section className={styles['block']} aria-label={say.keys}>
      <h3>{say.keys}</h3>
      <ul className={styles['routes']}>
        {named.map((key) => (
          <li key={key.id}>
            <Badge tone={TONES[key.change] ?? 'info'}>{say.kinds[key.change] ?? key.change}</Badge>
            <span>{key.name}</span>
          </li>
        ))}
      </ul>
      {isGone && <p>{say.keysWithApp(total - named.length)}</p>}
      {!isGone && total > keys.length && (
        <p className={styles['soft']}>{say.andMoreKeys(total - keys.length)}</p>
      )}
    </section>
  );
}
