/** Documents of other gateways, imported, and what the apps made of them serve. */
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

/** Whether anything is served by the version that takes a path: the longest one. */
export function servesAt(app: App, path: string): boolean {
  const [taking] = Object.values(app.versions)
    .map((version) => version.gateway_path)
    .filter((prefix) => prefix === '/' || path === prefix || path.startsWith(`${prefix}/`))
    .sort((a, b) => b.length - a.length);
  return served(app).some((each) => each.startsWith(`${taking} `));
}
