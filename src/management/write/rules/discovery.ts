/** Rules of a revision's discovery that a schema cannot express: the fields of each type, and their form. Pure. */
import { isIP } from 'node:net';
import type { FieldError } from '../../../model/errors.ts';
import type { Discovery } from '../../../model/resources.ts';
import type { DiscoveryInput } from '../../schemas/revision-parts/discovery.ts';
import { PORT_DEFAULT } from '../../schemas/revision-parts/targets.ts';
import { parseHost } from './backend.ts';

/** The `backend_host` of a revision whose targets are listed in a file: a name that cannot exist (RFC 2606). */
export const NO_HOST = 'targets-from-a-file.invalid';

const FIELDS: Readonly<Record<Discovery['type'], readonly (keyof DiscoveryInput)[]>> = {
  dns: ['type', 'host', 'port'],
  dns_srv: ['type', 'name'],
  file: ['type', 'path'],
};

export interface PlacedDiscovery {
  readonly discovery: Discovery;
  /** The service, as `backend_host` and `backend_port` name it. */
  readonly host: string;
  readonly port: number;
}

/** The stored form, and the short form that goes with it. */
export function readDiscovery(
  input: DiscoveryInput,
  defaultPort = PORT_DEFAULT,
): PlacedDiscovery | { readonly errors: readonly FieldError[] } {
  const unused = Object.keys(input).filter((name) => !FIELDS[input.type].includes(name as never));
  if (unused.length > 0)
    return {
      errors: unused.map((name) => ({
        pointer: `/discovery/${name}`,
        detail: `is not used with the type "${input.type}"`,
      })),
    };
  switch (input.type) {
    case 'dns': {
      const host = nameOf(input.host, 'host');
      if ('errors' in host) return host;
      const port = input.port ?? defaultPort;
      return { discovery: { type: 'dns', host: host.name, port }, host: host.name, port };
    }
    case 'dns_srv': {
      const { name } = input;
      const found = nameOf(name, 'name');
      if ('errors' in found) return found;
      const host = serviceName(found.name);
      if (host === '') return wrong('name', 'must have a name behind the underscores');
      return { discovery: { type: 'dns_srv', name: found.name }, host, port: defaultPort };
    }
    case 'file':
      return fileOf(input.path, defaultPort);
  }
}

/** The name of a service without the labels of RFC 2782, as its certificate contains it. */
export function serviceName(name: string): string {
  return /^_[^.]+\._[^.]+(?:\.|$)/.test(name) ? name.split('.').slice(2).join('.') : name;
}

function nameOf(
  text: string | undefined,
  field: 'host' | 'name',
): { readonly name: string } | { readonly errors: readonly FieldError[] } {
  if (text === undefined) return wrong(field, 'is needed');
  // A dot at the end only marks the name as complete.
  const parsed = parseHost(text.endsWith('.') ? text.slice(0, -1) : text);
  if ('error' in parsed) return wrong(field, parsed.error);
  if (isIP(parsed.host) !== 0)
    return wrong(field, 'must be a name, because an address does not have to be looked up');
  return { name: parsed.host };
}

function fileOf(
  path: string | undefined,
  port: number,
): PlacedDiscovery | { readonly errors: readonly FieldError[] } {
  if (path === undefined) return wrong('path', 'is needed');
  const parts = path.split('/');
  const isBelow = parts.every((part) => part !== '' && part !== '.' && part !== '..');
  // eslint-disable-next-line no-control-regex
  if (!isBelow || /[\u0000-\u001f\u007f\\]/.test(path))
    return wrong('path', 'must be a path below GATEWAY_DISCOVERY__FOLDER, such as "billing.yaml"');
  return { discovery: { type: 'file', path }, host: NO_HOST, port };
}

function wrong(field: string, detail: string): { readonly errors: readonly FieldError[] } {
  return { errors: [{ pointer: `/discovery/${field}`, detail }] };
}
