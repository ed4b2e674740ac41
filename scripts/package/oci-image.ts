/**
 * Makes an image in the OCI layout (image-spec 1.1), as one tar archive that Docker, Podman, containerd and skopeo
 * read. Needs neither a daemon nor root; the same files on the same machine give the same digest. It is for the
 * processor of the Node.js in the files.
 *
 *   oci-image.ts <files> <version> <folder>   writes <folder>/headgate-<version>-<architecture>.oci.tar, and prints its
 *                                             path
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { DATA_FOLDER, IMAGE_HOME, IMAGE_USER, layersOf } from './image-root.ts';
import { readElf } from './node/elf.ts';
import { tarOf, type TarEntry } from './tar.ts';

const TYPES = {
  config: 'application/vnd.oci.image.config.v1+json',
  index: 'application/vnd.oci.image.index.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
};
const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' } as const;
/** Nothing of the build's time is in the image. */
const CREATED = '1970-01-01T00:00:00Z';
const SECOND_NS = 1_000_000_000;
/** The highest one takes nearly three times as long for a third of a percent. */
const COMPRESSION = 6;

const HEADGATE = [
  `${IMAGE_HOME}/node/bin/node`,
  '--disable-warning=ExperimentalWarning',
  // How V8 collects garbage: docs/explanation/decisions/workers.md.
  '--single-threaded-gc',
  '--no-memory-reducer',
  `${IMAGE_HOME}/program/main.js`,
];

const [files, version, folder] = process.argv.slice(2);
if (files === undefined || version === undefined || folder === undefined)
  throw new Error(
    'Cannot make the image: the arguments must be the files, their version and the folder of the image',
  );
const architecture = ARCHITECTURES[readElf(join(files, 'node/bin/node')).machine];

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const blobs: TarEntry[] = [];
interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}
function blob(mediaType: string, bytes: Buffer): Descriptor {
  const digest = sha256(bytes);
  blobs.push({ path: `blobs/sha256/${digest}`, mode: 0o644, content: bytes });
  return { mediaType, digest: `sha256:${digest}`, size: bytes.byteLength };
}
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

const tars = layersOf(files).map(tarOf);
const layers = tars.map((tar) => blob(TYPES.layer, gzipSync(tar, { level: COMPRESSION })));
const labels = {
  'org.opencontainers.image.title': 'headgate',
  'org.opencontainers.image.version': version,
  'org.opencontainers.image.licenses': 'Apache-2.0',
};
const config = blob(
  TYPES.config,
  json({
    created: CREATED,
    architecture,
    os: 'linux',
    config: {
      User: `${IMAGE_USER}:${IMAGE_USER}`,
      ExposedPorts: { '8080/tcp': {}, '9090/tcp': {} },
      Env: [
        `PATH=${IMAGE_HOME}/node/bin`,
        `GATEWAY_DATABASE_URL=sqlite://${DATA_FOLDER}/headgate.db`,
        'GATEWAY_SERVER__HOST=0.0.0.0',
        `GATEWAY_CONSOLE__FOLDER=${IMAGE_HOME}/console`,
      ],
      Entrypoint: HEADGATE,
      Cmd: ['start'],
      Volumes: { [DATA_FOLDER]: {} },
      WorkingDir: DATA_FOLDER,
      Labels: labels,
      StopSignal: 'SIGTERM',
      // Not of OCI; Docker and Podman know it.
      Healthcheck: {
        Test: ['CMD', ...HEADGATE, 'health', '--timeout', '3'],
        Interval: 10 * SECOND_NS,
        Timeout: 5 * SECOND_NS,
        StartPeriod: 30 * SECOND_NS,
        Retries: 3,
      },
    },
    rootfs: { type: 'layers', diff_ids: tars.map((tar) => `sha256:${sha256(tar)}`) },
    history: [
      { created: CREATED, created_by: 'deploy/image/build.sh', comment: 'Node.js' },
      { created: CREATED, created_by: 'deploy/image/build.sh', comment: 'Headgate' },
    ],
  }),
);
const manifest = blob(
  TYPES.manifest,
  json({ schemaVersion: 2, mediaType: TYPES.manifest, config, layers, annotations: labels }),
);
const reference = { 'org.opencontainers.image.ref.name': `headgate:${version}` };
const platform = { architecture, os: 'linux' };
const index = json({
  schemaVersion: 2,
  mediaType: TYPES.index,
  manifests: [{ ...manifest, platform, annotations: reference }],
});
const archive = tarOf([
  { path: 'blobs', mode: 0o755 },
  { path: 'blobs/sha256', mode: 0o755 },
  ...blobs,
  { path: 'index.json', mode: 0o644, content: index },
  { path: 'oci-layout', mode: 0o644, content: json({ imageLayoutVersion: '1.0.0' }) },
]);
const path = resolve(folder, `headgate-${version}-${architecture}.oci.tar`);
writeFileSync(path, archive);
process.stderr.write(`image ${manifest.digest}, ${(archive.byteLength / 1e6).toFixed(1)} MB compressed\n`);
process.stdout.write(`${path}\n`);
