/** Documents of other gateways, imported, and what the apps made of them serve. */
import {
  appRecord,
  appTree,
  configChange,
  endpointRecord,
  revisionRecord,
  versionRecord,
  versionTree,
} from '../../../test/support/data/config-records.ts';
import { SnapshotHolder } from '../../config/holder.ts';
import type { Snapshot } from '../../config/types.ts';
import type { RevisionTree } from '../../model/config.ts';
import { createMatchResult, fullShare, matchRequest } from '../../proxy/match.ts';
import { importKong } from './kong/kong-tree.ts';
import { importTraefik } from './traefik/traefik-tree.ts';

export interface App {
  readonly versions: Readonly<Record<string, Version>>;
  readonly keys: Readonly<Record<string, { readonly is_active?: boolean }>>;
}

interface Version {
  readonly gateway_path: string;
  readonly revisions: Readonly<
    Record<
      string,
      {
        readonly is_current?: true;
        readonly endpoints: Readonly<Record<string, { readonly is_active?: false }>>;
      }
    >
  >;
}

export function kongApp(document: object): App {
  const options = { slug: 'kong', gatewayPath: undefined, withKeyValues: false };
  const imported = importKong({ _format_version: '3.0', ...document }, options);
  if ('problem' in imported) throw new Error(imported.problem);
  return imported.app as unknown as App;
}

export function traefikApp(router: object, http: object = {}, tls: object = {}): App {
  const value = {
    tls,
    http: {
      routers: { one: { rule: 'PathPrefix(`/one`)', service: 'one', ...router } },
      services: { one: { loadBalancer: { servers: [{ url: 'http://10.0.0.1' }] } } },
      ...http,
    },
  };
  const imported = importTraefik([{ name: 'one.yaml', value }], { slug: 'one', gatewayPath: undefined });
  if ('problem' in imported) throw new Error(imported.problem);
  return imported.app as unknown as App;
}

/** Paths and methods that reach a backend. */
export function served(app: App): string[] {
  return Object.values(app.versions).flatMap(({ gateway_path: path, revisions }) =>
    Object.values(revisions).flatMap(({ is_current: isCurrent, endpoints }) =>
      isCurrent === true
        ? Object.entries(endpoints).flatMap(([endpoint, { is_active: isActive }]) =>
            isActive === false ? [] : [`${path} ${endpoint}`],
          )
        : [],
    ),
  );
}

/** Whether a GET of the path reaches a backend. */
export function servesAt(app: App, path: string): boolean {
  return servedBy(app, path) !== undefined;
}

/** The host of the backend that a GET of the path reaches; undefined for none. */
export function servedBy(app: App, path: string): string | undefined {
  const out = createMatchResult<null>();
  matchRequest(compiled(app.versions), path, false, 'GET', fullShare, out);
  return out.code === undefined ? out.route?.revision.backend.host : undefined;
}

/** The versions of an app with managed endpoints, as the proxy reads them. */
function compiled(versions: App['versions']): Snapshot<null> {
  let id = 0;
  const trees = Object.entries(versions).map(([label, { gateway_path: path, revisions }]) => {
    const own = Object.entries(revisions).map(
      ([revision, { endpoints, is_current: isCurrent = false, ...fields }]): RevisionTree => ({
        revision: revisionRecord({
          ...fields,
          id: `${label}/${revision}`,
          revision,
          version_id: label,
          is_current: isCurrent,
        }),
        endpoints: Object.entries(endpoints).map(([name, item]) => {
          const [method = '', endpoint = ''] = name.split(' ');
          return endpointRecord({ id: `e${id++}`, method, path: endpoint, ...item } as never);
        }),
      }),
    );
    return versionTree(versionRecord({ id: label, app_id: 'app', gateway_path: path }), ...own);
  });
  const holder = new SnapshotHolder<null>(() => null);
  const app = appRecord({ id: 'app', routing_mode: 'managed_endpoint' });
  holder.apply(configChange(1, { apps: [appTree(app, ...trees)] }));
  return holder.current;
}
