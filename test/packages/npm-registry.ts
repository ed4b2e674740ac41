/**
 * A registry on loopback that has the package of this checkout, and sends npm to the registry of this machine for every
 * other package: an install as after a release.
 */
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';

export interface NpmRegistry {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * @param tarball of the package
 * @param manifest its package.json
 * @param elsewhere URL of the registry of all other packages
 */
export async function startNpmRegistry(
  tarball: string,
  manifest: { readonly name: string; readonly version: string },
  elsewhere: string,
): Promise<NpmRegistry> {
  const bytes = readFileSync(tarball);
  const { name, version } = manifest;
  const server = createServer((request, response) => {
    if (request.url === `/${name}`) {
      const dist = {
        tarball: `${url}/${name}/-/${name}-${version}.tgz`,
        integrity: `sha512-${createHash('sha512').update(bytes).digest('base64')}`,
      };
      const document = {
        name,
        'dist-tags': { latest: version },
        versions: { [version]: { ...manifest, dist } },
      };
      response.setHeader('content-type', 'application/json');
      response.setHeader('cache-control', 'public, max-age=300');
      response.end(JSON.stringify(document));
    } else if (request.url?.startsWith(`/${name}/-/`) === true) {
      response.setHeader('cache-control', 'public, immutable, max-age=31557600');
      response.end(bytes);
    } else {
      response.writeHead(302, { location: new URL(request.url ?? '/', elsewhere).href }).end();
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
