/**
 * What is compiled into a Node.js: the components that it names in `process.versions`, with their licences. Left out
 * are versions of interfaces and of data, which come with a component that is named. A component that is new in a
 * Node.js is an error, so that none is shipped without a licence.
 */
import { execFileSync } from 'node:child_process';
import { isAllowedLicence } from '../licence-rules.ts';

export interface NodeComponent {
  readonly name: string;
  readonly version: string;
  /** SPDX expression. */
  readonly licence: string;
  /** Vendor and product in the names of NVD (CPE 2.3), where scanners find it by these. */
  readonly cpe: string | undefined;
}

export interface NodeRuntime {
  readonly version: string;
  /** Empty where it is not known, as the package does not contain it. */
  readonly components: readonly NodeComponent[];
}

type Known = Omit<NodeComponent, 'version' | 'cpe'> & { readonly cpe?: string };

/** By their names in `process.versions`. Licences as in the LICENSE of Node.js and in the sources of each. */
const COMPONENTS: Readonly<Record<string, Known>> = {
  acorn: { name: 'acorn', licence: 'MIT' },
  ada: { name: 'ada', licence: 'Apache-2.0 OR MIT' },
  // It contains swc, which is under Apache-2.0.
  amaro: { name: 'amaro', licence: 'MIT AND Apache-2.0' },
  ares: { name: 'c-ares', licence: 'MIT' },
  brotli: { name: 'brotli', licence: 'MIT' },
  icu: { name: 'icu', licence: 'Unicode-3.0' },
  llhttp: { name: 'llhttp', licence: 'MIT' },
  merve: { name: 'merve', licence: 'MIT' },
  nbytes: { name: 'nbytes', licence: 'MIT' },
  ncrypto: { name: 'ncrypto', licence: 'MIT' },
  nghttp2: { name: 'nghttp2', licence: 'MIT', cpe: 'nghttp2:nghttp2' },
  nghttp3: { name: 'nghttp3', licence: 'MIT' },
  ngtcp2: { name: 'ngtcp2', licence: 'MIT' },
  openssl: { name: 'openssl', licence: 'Apache-2.0', cpe: 'openssl:openssl' },
  simdjson: { name: 'simdjson', licence: 'Apache-2.0 OR MIT' },
  simdutf: { name: 'simdutf', licence: 'Apache-2.0 OR MIT' },
  sqlite: { name: 'sqlite', licence: 'blessing', cpe: 'sqlite:sqlite' },
  undici: { name: 'undici', licence: 'MIT' },
  uv: { name: 'libuv', licence: 'MIT' },
  uvwasi: { name: 'uvwasi', licence: 'MIT' },
  v8: { name: 'v8', licence: 'BSD-3-Clause' },
  zlib: { name: 'zlib', licence: 'Zlib' },
  zstd: { name: 'zstd', licence: 'BSD-3-Clause OR GPL-2.0-only' },
};
/** Of Node.js itself, of its interfaces (`modules`, `napi`), and of data in ICU. */
const NO_COMPONENTS = ['node', 'modules', 'napi', 'cldr', 'tz', 'unicode'];

/** @param program the Node.js. @throws Error naming each component that is not known or may not be shipped */
export function nodeRuntimeOf(program: string): NodeRuntime {
  const printed = execFileSync(program, ['--print', 'JSON.stringify(process.versions)'], {
    encoding: 'utf8',
    // Without the options of this process.
    env: {},
  });
  return nodeRuntime(JSON.parse(printed) as Record<string, string>);
}

/** @param versions `process.versions`; an empty version is of a component that was left out when it was compiled */
export function nodeRuntime(versions: Readonly<Record<string, string>>): NodeRuntime {
  const named = Object.entries(versions).filter(
    ([key, version]) => version !== '' && !NO_COMPONENTS.includes(key),
  );
  const problems = named.flatMap(([key]) => problemsOf(key));
  const { node: version = '' } = versions;
  if (problems.length > 0) throw new Error(`Cannot ship Node.js ${version}:\n${problems.join('\n')}`);
  const components = named.flatMap(([key, of]) => {
    const known = COMPONENTS[key];
    return known === undefined ? [] : [{ cpe: undefined, ...known, version: of }];
  });
  return { version, components: components.toSorted((a, b) => (a.name < b.name ? -1 : 1)) };
}

function problemsOf(key: string): string[] {
  const known = COMPONENTS[key];
  if (known === undefined)
    return [`${key}: scripts/package/node-components.ts must name this component with its licence`];
  return isAllowedLicence(known.licence)
    ? []
    : [`${key}: its licence is ${JSON.stringify(known.licence)}, which is not in the list`];
}
