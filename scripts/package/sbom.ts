/**
 * The bill of materials of what is installed (CycloneDX 1.6, JSON): every npm package that is in it, and Node.js, with
 * version, licence and the digest of its tarball. It has neither a time nor a serial number: the same content, the same
 * bytes. Pure.
 */
import type { ShippedPackage } from './shipped-packages.ts';

export interface Subject {
  readonly version: string;
  readonly license: string;
  readonly description: string;
  /** Of Node.js. */
  readonly nodeVersion: string;
}

export function sbomOf(subject: Subject, packages: readonly ShippedPackage[]): Record<string, unknown> {
  const { version, license, description, nodeVersion } = subject;
  const reference = packageUrl('headgate', version);
  const components = [
    ...packages.map(componentOf),
    {
      type: 'platform',
      'bom-ref': `pkg:generic/node@${nodeVersion}`,
      name: 'node',
      version: nodeVersion,
      purl: `pkg:generic/node@${nodeVersion}`,
      licenses: [{ license: { id: 'MIT' } }],
    },
  ];
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': reference,
        name: 'headgate',
        version,
        description,
        purl: reference,
        licenses: [{ license: { id: license } }],
      },
    },
    components,
    dependencies: [{ ref: reference, dependsOn: components.map((component) => component['bom-ref']) }],
  };
}

function componentOf({ name, version, licence, integrity }: ShippedPackage) {
  const purl = packageUrl(name, version);
  const isOne = /^[\w.-]+$/.test(licence);
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    purl,
    licenses: [isOne ? { license: { id: licence } } : { expression: licence }],
    hashes: hashesOf(integrity),
  };
}

/** purl-spec, type npm. */
function packageUrl(name: string, version: string): string {
  return `pkg:npm/${name.replace(/^@/, '%40')}@${version}`;
}

/** From subresource integrity, which has digests in base64. */
function hashesOf(integrity: string): { readonly alg: string; readonly content: string }[] {
  return [...integrity.matchAll(/\bsha(256|384|512)-([A-Za-z0-9+/=]+)/g)].map(
    ([, bits = '', digest = '']) => ({
      alg: `SHA-${bits}`,
      content: Buffer.from(digest, 'base64').toString('hex'),
    }),
  );
}
