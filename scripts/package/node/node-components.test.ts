import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { nodeRuntime, nodeRuntimeOf } from './node-components.ts';

const FOLDER = resolve(import.meta.dirname, `../../../node_modules/node-linux-${process.arch}`);

describe('the components of Node.js', () => {
  it('are those that it names itself, in the version that it has them', () => {
    const { version, components } = nodeRuntimeOf(join(FOLDER, 'bin/node'));
    const manifest = JSON.parse(readFileSync(join(FOLDER, 'package.json'), 'utf8')) as { version: string };
    expect(version).toBe(manifest.version);
    for (const name of ['c-ares', 'libuv', 'nghttp2', 'openssl', 'sqlite', 'v8', 'zlib'])
      expect(components).toContainEqual(
        expect.objectContaining({ name, version: expect.stringMatching(/^\d+\.\d/) }),
      );
    expect(components.find(({ name }) => name === 'openssl')).toMatchObject({ licence: 'Apache-2.0' });
    for (const name of ['node', 'modules', 'napi', 'tz', 'unicode'])
      expect(components.map((component) => component.name)).not.toContain(name);
  });

  it('are refused where one is not known, so that it gets a licence', () => {
    expect(() => nodeRuntime({ node: '99.0.0', zlib: '1.3', quiche: '1.0', novel: '2.0' })).toThrow(
      /^Cannot ship Node\.js 99\.0\.0:\nquiche: .*must name this component with its licence\nnovel: /,
    );
  });

  it('leave out what it was compiled without', () => {
    const { components } = nodeRuntime({ node: '24.1.0', ngtcp2: '', zlib: '1.3' });
    expect(components).toEqual([{ name: 'zlib', version: '1.3', licence: 'Zlib', cpe: undefined }]);
  });
});
