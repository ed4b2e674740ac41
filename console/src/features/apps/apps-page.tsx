/** Apps: everything that the gateway serves as one tree, with a search over all of it. */
import { useNavigate } from '@tanstack/react-router';
import { useDeferredValue, type ReactNode } from 'react';
import { useSearchText } from '../../page/search-text.ts';
import { useMay } from '../../page/session.ts';
import { appsWords } from '../../text/apps.ts';
import { Button, ButtonLink } from '../../ui/controls/button.tsx';
import { TextField } from '../../ui/controls/field.tsx';
import { EmptyState } from '../../ui/display/notes.tsx';
import { PageHead, Panel, Stack } from '../../ui/display/panel.tsx';
import { CreateAppForm } from './forms/app-form.tsx';
import { pageLink } from './parts/resource-link.tsx';
import { SearchResults } from './tree/search-results.tsx';
import { TreeView } from './tree/tree-view.tsx';
import { useTree } from './tree/use-tree.ts';

export function AppsPage(): ReactNode {
  const [query, setQuery] = useSearchText('q');
  const [making, setMaking] = useSearchText('create');
  const mayEdit = useMay('editor');
  const navigate = useNavigate();
  const wanted = useDeferredValue(query.trim());
  return (
    <>
      <PageHead
        title={appsWords.title}
        summary={appsWords.summary}
        actions={
          mayEdit && (
            <>
              <ButtonLink to="/import">{appsWords.importOpenApi}</ButtonLink>
              <Button onClick={() => setMaking('app')}>{appsWords.createEmptyApp}</Button>
              <ButtonLink look="main" to="/start">
                {appsWords.makeApp}
              </ButtonLink>
            </>
          )
        }
      />
      <Stack>
        {mayEdit && making === 'app' && (
          <Panel title={appsWords.createApp}>
            <CreateAppForm
              onCancel={() => setMaking('')}
              onCreated={(app) => void navigate(pageLink({ app }))}
            />
          </Panel>
        )}
        <TextField
          label={appsWords.searchLabel}
          hint={appsWords.searchHint}
          type="search"
          value={query}
          onValue={setQuery}
          maxLength={200}
        />
        {wanted === '' ? <WholeTree mayEdit={mayEdit} /> : <SearchResults text={wanted} />}
      </Stack>
    </>
  );
}

function WholeTree({ mayEdit }: { readonly mayEdit: boolean }): ReactNode {
  const tree = useTree();
  if (tree.store.isEmpty) {
    return (
      <Panel title={appsWords.title}>
        <EmptyState
          title={appsWords.emptyTitle}
          actions={
            mayEdit && (
              <ButtonLink look="main" to="/start">
                {appsWords.firstApp}
              </ButtonLink>
            )
          }
        >
          {appsWords.emptyText}
        </EmptyState>
      </Panel>
    );
  }
  return (
    <Panel isFlush>
      <TreeView tree={tree} />
    </Panel>
  );
}
