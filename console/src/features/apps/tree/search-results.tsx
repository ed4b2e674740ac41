/** Records of every kind that have a text in their name, path or id, best first. */
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useRead } from '../../../api/queries.ts';
import type { Found } from '../../../api/schema.ts';
import { appsWords } from '../../../text/apps.ts';
import { Badge } from '../../../ui/display/badge.tsx';
import { EmptyState, Loaded } from '../../../ui/display/notes.tsx';
import { Panel } from '../../../ui/display/panel.tsx';
import { ResourceLink } from '../parts/resource-link.tsx';
import { pathOfFound } from '../resource-path.ts';
import styles from './search.module.css';

const RESULTS = 100;

export function SearchResults({ text }: { readonly text: string }): ReactNode {
  const query = useRead('GET /search', { query: { q: text, limit: RESULTS } }, { keepPrevious: true });
  return (
    <Panel title={appsWords.searchResults} isFlush>
      <Loaded query={query}>
        {({ body: { data } }) =>
          data.items.length === 0 ? (
            <EmptyState title={appsWords.nothingFound(text)}>{appsWords.nothingFoundHint}</EmptyState>
          ) : (
            <>
              <ul className={styles['results']}>
                {data.items.map((found) => (
                  <li key={found.kind + found.id}>
                    <span className={styles['kind']}>
                      <Badge>{appsWords.kinds[found.kind]}</Badge>
                    </span>
                    <FoundLink found={found} />
                    <span className={styles['path']}>{found.path}</span>
                  </li>
                ))}
              </ul>
              <p className={styles['count']} role="status">
                {appsWords.found(data.items.length, data.total, data.complete)}
              </p>
            </>
          )
        }
      </Loaded>
    </Panel>
  );
}

function FoundLink({ found }: { readonly found: Found }): ReactNode {
  const path = pathOfFound(found);
  if (path !== undefined) return <ResourceLink path={path}>{found.label}</ResourceLink>;
  if (found.kind === 'admin_token') return <Link to="/access">{found.label}</Link>;
  const params = { app: found.app_id ?? '', key: found.id };
  return (
    <Link to="/apps/$app/keys/$key" params={params}>
      {found.label}
    </Link>
  );
}
