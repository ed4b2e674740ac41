/** Builds the console into files that the management API serves: hashed names, nothing in line, no other host. */
import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

/** Once at the build, as small as it gets, so that serving compresses nothing. */
function compressed(): Plugin {
  let folder = '';
  return {
    name: 'compressed',
    apply: 'build',
    configResolved: (config) => void (folder = config.build.outDir),
    closeBundle() {
      for (const name of globSync('**/*.{html,js,css,svg}', { cwd: folder })) {
        const path = join(folder, name);
        if (!statSync(path).isFile()) continue;
        const bytes = readFileSync(path);
        const quality = constants.BROTLI_MAX_QUALITY;
        writeFileSync(
          `${path}.br`,
          brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } }),
        );
        writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
      }
    },
  };
}

export default defineConfig(({ command }) => {
  // A build that a test run makes would else have React as it is for development, which is twice as large.
  if (command === 'build') process.env['NODE_ENV'] = 'production';
  return {
    plugins: [react(), compressed()],
    build: {
      target: ['chrome123', 'firefox128', 'safari18'],
      assetsDir: 'assets',
      // Files in line would need `data:` in the content security policy.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      // Few files that most pages share, instead of one for each module that two of them share.
      rolldownOptions: {
        output: {
          codeSplitting: {
            groups: [
              { name: 'frame', tags: ['$initial'], priority: 3 },
              // What asks before a write is small, and a part of many pages that open no dialog at first.
              {
                name: 'overlay',
                test: /[\\/]ui[\\/]overlay[\\/](?!confirm\.)|@base-ui|@floating-ui/,
                priority: 2,
              },
              { name: 'parts', test: /[\\/]src[\\/]/, minShareCount: 4, maxModuleSize: 20_000, priority: 1 },
            ],
          },
        },
      },
      reportCompressedSize: false,
      // What a browser loads is bounded, compressed, by a test.
      chunkSizeWarningLimit: 1_000,
    },
  };
});
