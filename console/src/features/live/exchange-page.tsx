/** One exchange of live traffic: its way, its time, its fix, and its outcome at other config versions. */
import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ApiError } from '../../api/api-error.ts';
import { useRead } from '../../api/queries.ts';
import { liveWords } from '../../text/live.ts';
import { CopyButton } from '../../ui/controls/copy-button.tsx';
import { EmptyState, Loaded } from '../../ui/display/notes.tsx';
import { PageHead, Panel } from '../../ui/display/panel.tsx';
import { ExplanationView } from '../explain/explanation-view.tsx';

export function ExchangePage(): ReactNode {
  const { id = '' } = useParams({ strict: false });
  const query = useRead('GET /live/{live_id}', { path: { live_id: id } });
  const request = query.data?.body.data.request;
  const isGone = query.error instanceof ApiError && query.error.status === 404;
  return (
    <>
      <PageHead
        title={request === undefined ? liveWords.exchange : `${request.method} ${request.path ?? ''}`}
        trail={<Link to="/live">{liveWords.back}</Link>}
        actions={<CopyButton text={window.location.href} label={liveWords.copyLink} />}
      />
      {isGone && query.data === undefined ? (
        <Panel isFlush>
          <EmptyState title={liveWords.gone}>{liveWords.goneWhy}</EmptyState>
        </Panel>
      ) : (
        <Loaded query={query}>
          {({ body }) => <ExplanationView explanation={body.data} source={{ live_id: id }} />}
        </Loaded>
      )}
    </>
  );
}
