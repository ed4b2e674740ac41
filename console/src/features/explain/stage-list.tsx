/**
 * The stages that a request passed, drawn as a way from the top down, each with the value and the level that decided.
 */
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ExplainedStage, Explanation } from '../../api/schema.ts';
import { explainWords } from '../../text/explain.ts';
import { Badge, type Tone } from '../../ui/display/badge.tsx';
import { valueLines } from './value-lines.ts';
import { stageName } from './source.ts';
import styles from './explain.module.css';

const TONES: Readonly<Record<ExplainedStage['verdict'], Tone>> = {
  passed: 'good',
  answered: 'info',
  denied: 'bad',
  would_deny: 'warn',
  skipped: 'neutral',
  not_applicable: 'neutral',
};

const POLICY = { tab: 'policy' } as never;
const EDIT = { tab: 'edit' } as never;

export function StageList({ explanation }: { readonly explanation: Explanation }): ReactNode {
  const shown = explanation.stages.filter(({ verdict }) => verdict !== 'not_applicable');
  const others = explanation.stages.filter(({ verdict }) => verdict === 'not_applicable');
  return (
    <>
      <ol className={styles['stages']} aria-label={explainWords.way}>
        {shown.map((stage) => (
          <li key={stage.stage} className={styles['stage']} data-verdict={stage.verdict}>
            <div className={styles['stageHead']}>
              <b>{stageName(stage.stage)}</b>
              <Badge tone={TONES[stage.verdict]}>{explainWords.verdicts[stage.verdict]}</Badge>
              {stage.code !== null && <code>{stage.code}</code>}
            </div>
            {stage.detail !== null && <div>{stage.detail}</div>}
            <Decision stage={stage} explanation={explanation} />
          </li>
        ))}
      </ol>
      {others.length > 0 && (
        <p className={styles['soft']}>
          {explainWords.notApplicable(others.map(({ stage }) => stageName(stage)).join(', '))}
        </p>
      )}
    </>
  );
}

interface DecisionProps {
  readonly stage: ExplainedStage;
  readonly explanation: Explanation;
}

function Decision({ stage, explanation }: DecisionProps): ReactNode {
  const hasValue = stage.value !== null && stage.value !== undefined;
  if (stage.level === null && !hasValue) return null;
  const lines = hasValue ? valueLines(stage.value) : [];
  return (
    <div className={styles['decision']}>
      {hasValue && (
        <code className={styles['value']} title={explainWords.value}>
          {lines.map((line) => (
            <span key={line}>{line}</span>
          ))}
        </code>
      )}
      {stage.level !== null && <LevelLink stage={stage} explanation={explanation} />}
    </div>
  );
}

/** A link to the view of the record that has the value. */
function LevelLink({ stage: { stage, level, source_id: id }, explanation }: DecisionProps): ReactNode {
  if (level === null) return null;
  const words = explainWords.levels[level];
  const { app, version, revision, endpoint } = explanation;
  if (level === 'global') return <Link to="/settings">{words}</Link>;
  if (app === null) return words;
  if (level === 'app') {
    return (
      <Link to="/apps/$app" params={{ app: app.slug }} search={POLICY}>
        {words}
      </Link>
    );
  }
  if (level === 'key') {
    return id === null ? (
      words
    ) : (
      <Link to="/apps/$app/keys/$key" params={{ app: app.slug, key: id }}>
        {words}
      </Link>
    );
  }
  if (version === null || revision === null) return words;
  const params = { app: app.slug, version: version.version, revision: revision.revision };
  if (level === 'endpoint' && endpoint !== null) {
    return (
      <Link
        to="/apps/$app/versions/$version/revisions/$revision/endpoints/$endpoint"
        params={{ ...params, endpoint: endpoint.id }}
        search={POLICY}
      >
        {words}
      </Link>
    );
  }
  return (
    <Link
      to="/apps/$app/versions/$version/revisions/$revision"
      params={params}
      // A breaker is not a part of its policy.
      search={stage === 'circuit_breaker' ? EDIT : POLICY}
    >
      {words}
    </Link>
  );
}
