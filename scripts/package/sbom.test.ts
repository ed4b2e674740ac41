import { expect, it } from 'vitest';
import { nodeRuntime } from './node/node-components.ts';
import { nodeSbomOf, sbomOf, withSystemPackages } from './sbom.ts';
import type { SystemPackage } from './system-packages.ts';

const SUBJECT = { version: '1.2.3', license: 'Apache-2.0', description: 'A gateway' };
const NODE = nodeRuntime({ node: '24.1.0', openssl: '3.5.8', undici: '7.29.1' });
const PACKAGE = { name: '@a/undici', version: '7.29.1', licence: '(MIT OR ISC)', texts: [] };
const SYSTEM: SystemPackage = {
  name: 'libstdc++6',
  version: '12.2.0-14+deb12u1',
  architecture: 'amd64',
  source: 'gcc-12 12.2.0-14+deb12u1',
  licence: 'GPL-3.0-or-later WITH GCC-exception-3.1',
  vendor: 'debian',
  release: '12',
  texts: [],
};

it('names packages with the digests of their tarballs, and Node.js with its components', () => {
  const bill = sbomOf(SUBJECT, [{ ...PACKAGE, integrity: 'sha512-/w==' }], NODE);
  expect(bill.metadata.component).toMatchObject({ purl: 'pkg:npm/headgate@1.2.3' });
  const [library, node] = bill.components;
  expect(library).toMatchObject({
    purl: 'pkg:npm/%40a/undici@7.29.1',
    licenses: [{ expression: '(MIT OR ISC)' }],
    hashes: [{ alg: 'SHA-512', content: 'ff' }],
  });
  expect(node?.components).toMatchObject([
    {
      name: 'openssl',
      version: '3.5.8',
      cpe: 'cpe:2.3:a:openssl:openssl:3.5.8:*:*:*:*:*:*:*',
      licenses: [{ license: { id: 'Apache-2.0' } }],
    },
    { name: 'undici', purl: 'pkg:generic/undici@7.29.1' },
  ]);
  expect(bill.dependencies).toEqual([
    { ref: 'pkg:npm/headgate@1.2.3', dependsOn: ['pkg:npm/%40a/undici@7.29.1', 'pkg:generic/node@24.1.0'] },
  ]);
});

it('names Node.js alone where the package does not contain it', () => {
  const [node] = sbomOf(SUBJECT, [], { version: '24.1.0', components: [] }).components;
  expect(node).toMatchObject({ name: 'node', version: '24.1.0' });
  expect(node).not.toHaveProperty('components');
});

it('of the package that is Node.js has it as its only component', () => {
  const bill = nodeSbomOf('headgate-node-linux-x64', NODE);
  expect(bill.metadata.component).toMatchObject({ purl: 'pkg:npm/headgate-node-linux-x64@24.1.0' });
  expect(bill.components).toMatchObject([{ name: 'node', components: [{ name: 'openssl' }, {}] }]);
});

it('of an image has the libraries of the system, too', () => {
  const bill = withSystemPackages(sbomOf(SUBJECT, [], NODE), [SYSTEM]);
  const purl = 'pkg:deb/debian/libstdc%2B%2B6@12.2.0-14%2Bdeb12u1?arch=amd64&distro=debian-12';
  expect(bill.components.at(-1)).toEqual({
    type: 'library',
    'bom-ref': purl,
    name: 'libstdc++6',
    version: '12.2.0-14+deb12u1',
    purl,
    licenses: [{ expression: 'GPL-3.0-or-later WITH GCC-exception-3.1' }],
  });
  expect(bill.dependencies[0]?.dependsOn).toContain(purl);
});

it('has references that are all different, though Node.js and a package contain the same', () => {
  const same = { ...PACKAGE, name: 'undici', integrity: '' };
  const { components } = withSystemPackages(sbomOf(SUBJECT, [same], NODE), [SYSTEM]);
  const references = components.flatMap((component) => [component, ...(component.components ?? [])]);
  const distinct = new Set(references.map((component) => component['bom-ref']));
  expect(distinct.size).toBe(references.length);
});
