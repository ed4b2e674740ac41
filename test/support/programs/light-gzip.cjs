/**
 * Makes Node.js compress with the least effort, loaded ahead of a program by `--require`: tests of packages that are not
 * about their size wait a tenth of the time for them.
 */
const zlib = require('node:zlib');

const { Gzip, gzipSync } = zlib;
const light = (options) => ({ ...options, level: zlib.constants.Z_BEST_SPEED });
zlib.Gzip = class extends Gzip {
  constructor(options) {
    super(light(options));
  }
};
zlib.gzipSync = (bytes, options) => gzipSync(bytes, light(options));
