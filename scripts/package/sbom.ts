/**
 * Bills of materials (CycloneDX 1.6, JSON): every npm package that is installed, Node.js with what is compiled into it,
 * and the libraries of the system that the image brings, with versions and licences. They have neither a time nor a
 * serial number: the same content, the same bytes. Pure.
 */
import type { NodeComponent, NodeRuntime } from './node/node-components.ts';
import type { ShippedPackage } from './shipped-packages.ts';
import type { SystemPackage } from './system-packages.ts';

export interface Subject {
  readonly version: string;
  readonly license: string;
  readonly description: string;
}

export interface Hash {
  readonly alg: string;
  readonly content: string;
}
export interface Component {
  readonly type: string;
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version?: string;
  readonly description?: string;
  readonly purl?: string;
  readonly cpe?: string;
  readonly licenses?: readonly unknown[];
  readonly hashes?: readonly Hash[];
  readonly components?: readonly Component[];
}
export interface Bill {
  readonly bomFormat: 'CycloneDX';
  readonly specVersion: '1.6';
  readonly version: 1;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

/** Of an installed Headgate. */
export function sbomOf(subject: Subject, packages: readonly ShippedPackage[], node: NodeRuntime): Bill {
  const { version, license, description } = subject;
  const purl = npmUrl('headgate', version);
  const own = { type: 'application', 'bom-ref': purl, name: 'headgate', version, description, purl };
  return billOf({ ...own, licenses: licensesOf(license) }, [
    ...packages.map(componentOf),
    nodeComponentOf(node),
  ]);
}

/** Of the npm package that is Node.js alone. */
export function nodeSbomOf(name: string, node: NodeRuntime): Bill {
  const purl = npmUrl(name, node.version);
  const own = { type: 'application', 'bom-ref': purl, name, version: node.version, purl };
  return billOf(own, [nodeComponentOf(node)]);
}

/** The same with what an image has in addition. */
export function withSystemPackages(bill: Bill, packages: readonly SystemPackage[]): Bill {
  return billOf(bill.metadata.component, [...bill.components, ...packages.map(systemComponentOf)]);
}

/** @param subject needs all of the components */
export function billOf(subject: Component, components: readonly Component[]): Bill {
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: subject },
    components,
    dependencies: [
      { ref: subject['bom-ref'], dependsOn: components.map((component) => component['bom-ref']) },
    ],
  };
}

export const billText = (bill: Bill): string => `${JSON.stringify(bill, null, 2)}\n`;

export function licensesOf(expression: string): readonly unknown[] {
  return /^[\w.-]+$/.test(expression) ? [{ license: { id: expression } }] : [{ expression }];
}

function componentOf({ name, version, licence, integrity }: ShippedPackage): Component {
  const purl = npmUrl(name, version);
  const own = { type: 'library', 'bom-ref': purl, name, version, purl };
  return { ...own, licenses: licensesOf(licence), hashes: hashesOf(integrity) };
}

function nodeComponentOf({ version, components }: NodeRuntime): Component {
  const purl = `pkg:generic/node@${version}`;
  return {
    type: 'platform',
    'bom-ref': purl,
    name: 'node',
    version,
    cpe: cpeOf('nodejs:node.js', version),
    purl,
    licenses: licensesOf('MIT'),
    ...(components.length > 0 && { components: components.map((part) => partOfNode(part, purl)) }),
  };
}

/** Its reference has that of Node.js before it: an npm package of the same name and version may be there, too. */
function partOfNode({ name, version, licence, cpe }: NodeComponent, node: string): Component {
  const purl = `pkg:generic/${name}@${encodeURIComponent(version)}`;
  const own = { type: 'library', 'bom-ref': `${node}#${name}`, name, version, purl };
  return { ...own, ...(cpe !== undefined && { cpe: cpeOf(cpe, version) }), licenses: licensesOf(licence) };
}

function systemComponentOf(found: SystemPackage): Component {
  const { name, version, architecture, licence, vendor, release } = found;
  // purl-spec, type deb: the namespace is the vendor.
  const at = `${encodeURIComponent(name)}@${encodeURIComponent(version)}`;
  const purl = `pkg:deb/${vendor}/${at}?arch=${architecture}&distro=${vendor}-${release}`;
  return { type: 'library', 'bom-ref': purl, name, version, purl, licenses: licensesOf(licence) };
}

/** purl-spec, type npm. */
function npmUrl(name: string, version: string): string {
  return `pkg:npm/${name.replace(/^@/, '%40')}@${version}`;
}

/** CPE 2.3, formatted string, of an application. */
const cpeOf = (vendorAndProduct: string, version: string): string =>
  `cpe:2.3:a:${vendorAndProduct}:${version}:*:*:*:*:*:*:*`;

/** From subresource integrity, which has digests in base64. */
function hashesOf(integrity: string): Hash[] {
  return [...integrity.matchAll(/\bsha(256|384|512)-([A-Za-z0-9+/=]+)/g)].map(
    ([, bits = '', digest = '']) => ({
      alg: `SHA-${bits}`,
      content: Buffer.from(digest, 'base64').toString('hex'),
    }),
  );
}
