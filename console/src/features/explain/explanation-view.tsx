/** The explanation of a request: its outcome, the fix, its way, its time, and the messages for each side. */
import { useState, type ReactNode } from 'react';
import type { Explanation } from '../../api/schema.ts';
import { explainWords } from '../../text/explain.ts';
import { Columns, Panel, Stack } from '../../ui/display/panel.tsx';
import { useSearchText } from '../../page/search-text.ts';
import { AnswerFacts, Candidates, Limits, RequestFacts, UpstreamFacts } from './exchange-facts.tsx';
import { FixPanel } from './fix-panel.tsx';
import { decidingStage, outcomeText, stageName, type ExplainSource } from './source.ts';
import { TargetFacts } from './target-facts.tsx';
import { StageList } from './stage-list.tsx';
import { TimePanel } from './time-bars.tsx';
import { TimeTravel } from './time-travel.tsx';
import styles from './explain.module.css';

interface ExplanationViewProps {
  readonly explanation: Explanation;
  readonly source: ExplainSource;
}

export function ExplanationView({ explanation, source }: ExplanationViewProps): ReactNode {
  const [at] = useSearchText('at');
  const [isTravelling, setTravelling] = useState(at !== '');
  return (
    <Stack>
      <Verdict explanation={explanation} />
      {explanation.fix !== null && (
        <FixPanel
          fix={explanation.fix}
          source={source}
          isRecorded={!('request' in source)}
          onApplied={() => setTravelling(true)}
        />
      )}
      <div className={styles['two']}>
        <Panel title={explainWords.way}>
          <StageList explanation={explanation} />
        </Panel>
        <Stack>
          {explanation.times !== null && <TimePanel times={explanation.times} />}
          <RequestFacts explanation={explanation} />
        </Stack>
      </div>
      <TimeTravel source={source} isAsked={isTravelling} onAsk={() => setTravelling(true)} />
      <Columns>
        <AnswerFacts explanation={explanation} />
        <UpstreamFacts explanation={explanation} />
      </Columns>
      <Limits limits={explanation.limits} />
      <Candidates candidates={explanation.candidates} />
      <TargetFacts target={explanation.target} />
    </Stack>
  );
}

function Verdict({ explanation }: { readonly explanation: Explanation }): ReactNode {
  const { outcome, code, response } = explanation;
  const stage = decidingStage(explanation);
  return (
    <div className={styles['verdict']} data-outcome={outcome}>
      <strong>{outcomeText({ outcome, code, status: response.status })}</strong>
      {stage !== undefined && <small>{explainWords.decidedBy(stageName(stage.stage))}</small>}
      {stage !== undefined && stage.detail !== null && <span>{stage.detail}</span>}
    </div>
  );
}
