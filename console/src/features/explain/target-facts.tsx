/** The target of an explained request, why it was chosen, and the state of the other targets. */
import type { ReactNode } from 'react';
import type { ExplainedTarget, ExplainedTargetState } from '../../api/schema.ts';
import { targetWords } from '../../text/apps.ts';
import { explainWords } from '../../text/explain.ts';
import { Badge, type Tone } from '../../ui/display/badge.tsx';
import { DataTable, type Column } from '../../ui/display/data-table.tsx';
import { KeyValues } from '../../ui/display/key-values.tsx';
import { Panel, Stack } from '../../ui/display/panel.tsx';
import { formatNumber } from '../../ui/display/time.tsx';

const TONES: Readonly<Record<ExplainedTargetState['state'], Tone>> = {
  in_service: 'good',
  warming: 'info',
  ejected: 'bad',
  unhealthy: 'bad',
};

const columnsOf = (chosen: string): readonly Column<ExplainedTargetState>[] => [
  {
    head: targetWords.columns.target,
    cell: ({ target }) => (
      <>
        <code>{target}</code> {target === chosen && <Badge tone="accent">{explainWords.chosen}</Badge>}
      </>
    ),
    isRowHead: true,
  },
  {
    head: targetWords.columns.state,
    cell: ({ state }) => <Badge tone={TONES[state]}>{explainWords.targetStates[state]}</Badge>,
  },
  { head: targetWords.columns.weight, cell: ({ weight }) => formatNumber(weight), isNumber: true },
  { head: targetWords.columns.inFlight, cell: ({ in_flight: count }) => formatNumber(count), isNumber: true },
];

export function TargetFacts({ target }: { readonly target: ExplainedTarget | undefined }): ReactNode {
  if (target === undefined) return null;
  return (
    <Panel title={explainWords.targetOf(target.target)}>
      <Stack>
        <KeyValues
          rows={[
            [explainWords.why, target.reason],
            ...(target.source === null ? [] : [[explainWords.foundBy, target.source] as const]),
          ]}
        />
        <DataTable
          caption={explainWords.targetsTable}
          columns={columnsOf(target.target)}
          rows={target.targets}
          keyOf={(each) => each.target}
        />
      </Stack>
    </Panel>
  );
}
