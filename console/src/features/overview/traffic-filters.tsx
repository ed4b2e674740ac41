/** The selection of the overview: the time, one app, one of its routes. All of it is in the address. */
import type { ReactNode } from 'react';
import { useRead } from '../../api/queries.ts';
import { useSetSearchTexts } from '../../page/search-text.ts';
import { overviewWords } from '../../text/overview.ts';
import { SelectField } from '../../ui/controls/field.tsx';
import type { WindowName } from './series.ts';
import type { Subject } from './use-traffic.ts';
import styles from './overview.module.css';

const APPS_MAX = 200;
const ROUTES_MAX = 100;

export function TrafficFilters({ subject }: { readonly subject: Subject }): ReactNode {
  const { window, app, version, route } = subject;
  const set = useSetSearchTexts();
  const apps = useRead('GET /apps', { query: { limit: APPS_MAX } }).data?.body;
  const routeQuery = { by: 'route', window, app, limit: ROUTES_MAX } as const;
  const routes = useRead('GET /stats/top', { query: routeQuery }, { enabled: app !== '' });
  const routeChoices = (routes.data?.body.data.rows ?? []).map((row) => ({
    value: routeValue(row.version ?? '', row.route ?? ''),
    label: `${row.version} ${row.route}`,
  }));
  const more = (apps?.page.total ?? 0) - (apps?.data.length ?? 0);
  return (
    <div className={styles['filters']} role="group" aria-label={overviewWords.filters}>
      <SelectField
        label={overviewWords.window}
        value={window}
        choices={WINDOW_CHOICES}
        onValue={(value) => void set({ window: value === '15m' ? '' : value })}
      />
      <SelectField
        label={overviewWords.app}
        value={app}
        choices={withChosen(
          { value: '', label: overviewWords.allApps },
          (apps?.data ?? []).map(({ slug }) => ({ value: slug, label: slug })),
          { value: app, label: app },
        )}
        hint={more > 0 ? overviewWords.otherApps(more) : undefined}
        onValue={(value) => void set({ app: value, version: '', route: '' })}
      />
      {app !== '' && (
        <SelectField
          label={overviewWords.route}
          value={route === '' ? '' : routeValue(version, route)}
          choices={withChosen({ value: '', label: overviewWords.allRoutes }, routeChoices, {
            value: route === '' ? '' : routeValue(version, route),
            label: `${version} ${route}`,
          })}
          onValue={(value) => void set(routeOf(value))}
        />
      )}
    </div>
  );
}

interface Option {
  readonly value: string;
  readonly label: string;
}

/** The choice in the address is listed even when it has no traffic. */
function withChosen(all: Option, options: readonly Option[], chosen: Option): Option[] {
  const isListed = chosen.value === '' || options.some(({ value }) => value === chosen.value);
  return [all, ...options, ...(isListed ? [] : [chosen])];
}

const WINDOW_CHOICES = (['15m', '24h'] as const).map((value: WindowName) => ({
  value,
  label: overviewWords.windows[value],
}));

/** Labels of versions have no line breaks. */
const routeValue = (version: string, route: string): string => `${version}\n${route}`;

function routeOf(value: string): { readonly version: string; readonly route: string } {
  const [version = '', route = ''] = value.split('\n');
  return { version, route };
}
