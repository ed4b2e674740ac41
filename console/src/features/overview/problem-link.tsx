/** The page that helps against a problem. */
import type { ReactNode } from 'react';
import type { ProblemLink } from '../../api/schema.ts';
import { problemWords } from '../../text/overview.ts';
import { ButtonLink } from '../../ui/controls/button.tsx';

/** For problems that depend on settings: the search text for these settings. */
const SETTINGS_OF: Readonly<Partial<Record<ProblemLink['kind'], string>>> = {
  database: 'DATABASE',
  limits: 'LIMIT',
  certificates: 'TLS',
  logs: 'LOG',
  workers: 'WORKER',
};

const { act } = problemWords;

export function ProblemAction({ link }: { readonly link: ProblemLink }): ReactNode {
  const { kind, app, version, revision } = link;
  if (kind === 'revision' && app !== undefined && version !== undefined && revision !== undefined) {
    return (
      <ButtonLink
        isSmall
        to="/apps/$app/versions/$version/revisions/$revision"
        params={{ app, version, revision }}
      >
        {act.app(`${app} ${version} ${revision}`)}
      </ButtonLink>
    );
  }
  if (app !== undefined) {
    return (
      <ButtonLink isSmall to="/apps/$app" params={{ app }}>
        {act.app(app)}
      </ButtonLink>
    );
  }
  if (kind === 'app' || kind === 'revision') {
    return (
      <ButtonLink isSmall to="/health">
        {act.apps}
      </ButtonLink>
    );
  }
  if (kind === 'nodes' || kind === 'config_file') {
    return (
      <ButtonLink isSmall to="/nodes">
        {kind === 'nodes' ? act.nodes : act.file}
      </ButtonLink>
    );
  }
  if (kind === 'webhooks') {
    return (
      <ButtonLink isSmall to="/webhooks">
        {act.webhooks}
      </ButtonLink>
    );
  }
  const search = { q: link.setting ?? SETTINGS_OF[kind] ?? '' };
  return (
    <ButtonLink isSmall to="/settings" search={search as never}>
      {act.settings}
    </ButtonLink>
  );
}
