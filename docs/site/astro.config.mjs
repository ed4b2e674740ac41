/** The site of the docs. Pages and sidebar are made by scripts/site/ from docs/ before each build. */
import { readFileSync } from 'node:fs';
import starlight from '@astrojs/starlight';
import { defineConfig, passthroughImageService } from 'astro/config';

const sidebar = JSON.parse(readFileSync(new URL('./src/sidebar.json', import.meta.url), 'utf8'));

export default defineConfig({
  trailingSlash: 'always',
  image: { service: passthroughImageService() },
  integrations: [
    starlight({
      title: 'Headgate',
      description: 'An API gateway: one command to start, configured live, exact limits, explains every decision',
      sidebar,
      customCss: ['./src/style.css'],
      expressiveCode: { defaultProps: { frame: 'none', wrap: true } },
      pagination: false,
      lastUpdated: false,
    }),
  ],
});
