/** Every page of the console and its address. Pages are loaded when they are opened. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  type AnyRoute,
  type RouteComponent,
} from '@tanstack/react-router';
import { Loading } from '../ui/display/notes.tsx';
import { REVISION, type Address } from './addresses.ts';
import { PageFailed, PageNotFound } from './page-problems.tsx';
import { parseSearch, stringifySearch, type PageSearch } from '../page/search-text.ts';
import { Shell } from './shell.tsx';

const root = createRootRoute({
  component: Shell,
  notFoundComponent: PageNotFound,
  validateSearch: (search: Record<string, unknown>): PageSearch => search as PageSearch,
});

const page = <Path extends Address>(path: Path, component: RouteComponent) =>
  createRoute({ getParentRoute: () => root, path, component });

const routes = root.addChildren([
  page(
    '/',
    lazyRouteComponent(() => import('../features/overview/overview-page.tsx'), 'OverviewPage'),
  ),
  page(
    '/start',
    lazyRouteComponent(() => import('../features/start/start-page.tsx'), 'StartPage'),
  ),
  page(
    '/apps',
    lazyRouteComponent(() => import('../features/apps/apps-page.tsx'), 'AppsPage'),
  ),
  page(
    '/apps/$app',
    lazyRouteComponent(() => import('../features/apps/app-page.tsx'), 'AppPage'),
  ),
  page(
    '/apps/$app/versions/$version',
    lazyRouteComponent(() => import('../features/apps/version-page.tsx'), 'VersionPage'),
  ),
  page(
    REVISION,
    lazyRouteComponent(() => import('../features/apps/revision-page.tsx'), 'RevisionPage'),
  ),
  page(
    `${REVISION}/endpoints/$endpoint`,
    lazyRouteComponent(() => import('../features/apps/endpoint-page.tsx'), 'EndpointPage'),
  ),
  page(
    '/import',
    lazyRouteComponent(() => import('../features/import/import-page.tsx'), 'ImportPage'),
  ),
  page(
    '/edit',
    lazyRouteComponent(() => import('../features/policies/edit-page.tsx'), 'EditPage'),
  ),
  page(
    '/keys',
    lazyRouteComponent(() => import('../features/keys/keys-page.tsx'), 'KeysPage'),
  ),
  page(
    '/apps/$app/keys/$key',
    lazyRouteComponent(() => import('../features/keys/key-page.tsx'), 'KeyPage'),
  ),
  page(
    '/live',
    lazyRouteComponent(() => import('../features/live/live-page.tsx'), 'LivePage'),
  ),
  page(
    '/live/$id',
    lazyRouteComponent(() => import('../features/live/exchange-page.tsx'), 'ExchangePage'),
  ),
  page(
    '/explain',
    lazyRouteComponent(() => import('../features/explain/explain-page.tsx'), 'ExplainPage'),
  ),
  page(
    '/shadow',
    lazyRouteComponent(() => import('../features/shadow/shadow-page.tsx'), 'ShadowPage'),
  ),
  page(
    '/history',
    lazyRouteComponent(() => import('../features/history/history-page.tsx'), 'HistoryPage'),
  ),
  page(
    '/history/$version',
    lazyRouteComponent(() => import('../features/history/config-version-page.tsx'), 'ConfigVersionPage'),
  ),
  page(
    '/audit',
    lazyRouteComponent(() => import('../features/audit/audit-page.tsx'), 'AuditPage'),
  ),
  page(
    '/events',
    lazyRouteComponent(() => import('../features/events/events-page.tsx'), 'EventsPage'),
  ),
  page(
    '/webhooks',
    lazyRouteComponent(() => import('../features/webhooks/webhooks-page.tsx'), 'WebhooksPage'),
  ),
  page(
    '/health',
    lazyRouteComponent(() => import('../features/health/health-page.tsx'), 'HealthPage'),
  ),
  page(
    '/nodes',
    lazyRouteComponent(() => import('../features/nodes/nodes-page.tsx'), 'NodesPage'),
  ),
  page(
    '/access',
    lazyRouteComponent(() => import('../features/access/access-page.tsx'), 'AccessPage'),
  ),
  page(
    '/settings',
    lazyRouteComponent(() => import('../features/settings/settings-page.tsx'), 'SettingsPage'),
  ),
] satisfies readonly AnyRoute[]);

export const router = createRouter({
  routeTree: routes,
  parseSearch,
  stringifySearch,
  defaultPreload: 'intent',
  defaultPendingComponent: Loading,
  defaultErrorComponent: PageFailed,
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
