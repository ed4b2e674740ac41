/**
 * A registry on loopback that has the packages of this checkout, and sends npm to the registry of this machine for
 * every other package: an install as after a release.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';

export interface NpmRegistry {
  readonly url: string;
  close(): Promise<void>;
}

interface Published {
  readonly manifest: { readonly name: string; readonly version: string };
  readonly bytes: Buffer;
  readonly integrity: string;
}

/**
 * @param tarballs of the packages
 * @param elsewhere URL of the registry of all other packages
 */
export async function startNpmRegistry(tarballs: readonly string[], elsewhere: string): Promise<NpmRegistry> {
  const packages = new Map(tarballs.map(published).map((each) => [each.manifest.name, each]));
  const server = createServer((request, response) => {
    const [, name = '', part] = (request.url ?? '').split('/');
    const found = packages.get(name);
    if (found === undefined && name.startsWith('headgate-')) {
      // Of another processor: it is published from there.
      response.writeHead(404).end('{}');
    } else if (found === undefined) {
      response.writeHead(302, { location: new URL(request.url ?? '/', elsewhere).href }).end();
    } else if (part === '-') {
      response.setHeader('cache-control', 'public, immutable, max-age=31557600');
      response.end(found.bytes);
    } else {
      response.setHeader('content-type', 'application/json');
      response.setHeader('cache-control', 'public, max-age=300');
      response.end(JSON.stringify(documentOf(found, url)));
    }
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    close: () => {
      server.closeAllConnections();
      return new Promise((done) => server.close(() => done()));
    },
  };
}

function published(tarball: string): Published {
  const bytes = readFileSync(tarball);
  const manifest = execFileSync('tar', ['xzOf', tarball, 'package/package.json'], { encoding: 'utf8' });
  const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
  return { manifest: JSON.parse(manifest) as Published['manifest'], bytes, integrity };
}

function documentOf({ manifest, integrity }: Published, url: string): unknown {
  const { name, version } = manifest;
  const dist = { tarball: `${url}/${name}/-/${name}-${version}.tgz`, integrity };
  return { name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist } } };
}
