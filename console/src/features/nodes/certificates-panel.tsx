/** The certificates of the gateway that answers, and the wish for a new one where they are ordered by ACME. */
import { useState, type ReactNode } from 'react';
import { usePages } from '../../api/queries.ts';
import type { Certificate } from '../../api/schema.ts';
import { useMay } from '../../page/session.ts';
import { certificatesWords as say } from '../../text/certificates.ts';
import { Button } from '../../ui/controls/button.tsx';
import { Badge, type Tone } from '../../ui/display/badge.tsx';
import { DataTable, type Column } from '../../ui/display/data-table.tsx';
import { Loaded } from '../../ui/display/notes.tsx';
import { Panel, QuietPanel } from '../../ui/display/panel.tsx';
import { Time } from '../../ui/display/time.tsx';
import { ConfirmedWrite } from '../save/confirmed-write.tsx';
import styles from './nodes.module.css';

const EVERY_MS = 5_000;
const TONES: Readonly<Record<Certificate['state'], Tone>> = {
  valid: 'good',
  expires_soon: 'warn',
  expired: 'bad',
  not_valid_yet: 'warn',
  missing: 'warn',
};

export function CertificatesPanel(): ReactNode {
  const mayRenew = useMay('editor');
  const certificates = usePages('GET /certificates', { query: { limit: 50 } }, { everyMs: EVERY_MS });
  const [renewed, setRenewed] = useState<string>();
  if (certificates.data?.total === 0) return <QuietPanel title={say.title}>{say.none}</QuietPanel>;
  return (
    <Panel title={say.title} isFlush>
      <p className={styles['text']}>{say.text}</p>
      <Loaded query={certificates}>
        {({ items, total }) => (
          <DataTable
            caption={say.title}
            columns={columnsOf(mayRenew ? setRenewed : undefined)}
            rows={items}
            keyOf={({ name, listener, source }) => `${name} ${listener} ${source}`}
            more={{ total, pages: certificates }}
          />
        )}
      </Loaded>
      {renewed !== undefined && (
        <ConfirmedWrite
          operation="POST /certificates/{name}/renew"
          options={{ path: { name: renewed } }}
          title={say.renewTitle(renewed)}
          action={say.renew}
          look="main"
          done={say.renewing(renewed)}
          onClose={() => setRenewed(undefined)}
        >
          {say.renewText}
        </ConfirmedWrite>
      )}
    </Panel>
  );
}

/** @param onRenew absent: the reader may not */
function columnsOf(onRenew: ((name: string) => void) | undefined): readonly Column<Certificate>[] {
  const { columns } = say;
  return [
    {
      head: columns.name,
      isRowHead: true,
      cell: ({ name }) => <span className={styles['word']}>{name}</span>,
    },
    { head: columns.state, cell: ({ state }) => <Badge tone={TONES[state]}>{say.states[state]}</Badge> },
    { head: columns.source, cell: ({ source }) => say.sources[source] },
    { head: columns.listener, cell: ({ listener }) => say.listeners[listener] },
    {
      head: columns.expires,
      cell: ({ expires_at: at }) => at !== null && <Time at={at} relative="either" />,
    },
    { head: columns.order, cell: (certificate) => <NextOrder certificate={certificate} /> },
    ...(onRenew === undefined
      ? []
      : [
          {
            head: columns.actions,
            cell: (certificate: Certificate) =>
              certificate.source === 'acme' && (
                <Button
                  isSmall
                  aria-label={say.renewOf(certificate.name)}
                  onClick={() => onRenew(certificate.name)}
                >
                  {say.renew}
                </Button>
              ),
          },
        ]),
  ];
}

function NextOrder({ certificate }: { readonly certificate: Certificate }): ReactNode {
  const { order, renew_at: renewAt, next_try_at: nextTry, failures, last_error: error } = certificate;
  const at = order === 'waiting' ? nextTry : renewAt;
  return (
    <>
      {order === 'under_way' && say.underWay}
      {order === 'waiting' && `${say.due} `}
      {order !== 'under_way' && at !== null && <Time at={at} relative="either" />}
      {order === 'none' && at === null && say.noOrder}
      {error !== null && (
        <div className={styles['problem']}>
          {say.failures(failures)} {error}
        </div>
      )}
    </>
  );
}
