/** Random documents of Traefik: no request that its rules keep out of a backend reaches that backend here. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { servedBy, traefikApp } from './imported-apps.fixture.ts';

const OPEN = '10.0.0.1';
const GUARDED = '10.0.0.2';
const SERVICES = {
  open: { loadBalancer: { servers: [{ url: `http://${OPEN}` }] } },
  guarded: { loadBalancer: { servers: [{ url: `http://${GUARDED}` }] } },
};
const MIDDLEWARES = { inside: { ipAllowList: { sourceRange: ['192.0.2.0/24'] } } };

/** A part of a rule, and which paths it matches in Traefik. */
interface Condition {
  readonly text: string;
  readonly matches: (path: string) => boolean;
}

// No name begins like another one: that prefixes are whole segments here is only reported.
const path = fc
  .array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 3 })
  .map((names) => `/${names.join('/')}`);
const regex = fc.constantFrom('a|c', 'b$', '^/a/.+', '^/a/[^/]+$', '^/(a|b)/c', '^/a(b)?/c', '^/[ab]/c');
const condition: fc.Arbitrary<Condition> = fc.oneof(
  path.map<Condition>((text) => ({ text: `Path(\`${text}\`)`, matches: (asked) => asked === text })),
  { weight: 3, arbitrary: path.map(prefix) },
  fc.constant(prefix('/')),
  regex.map<Condition>((text) => ({
    text: `PathRegexp(\`${text}\`)`,
    matches: (asked) => new RegExp(text).test(asked),
  })),
  // No request below has it.
  fc.constant<Condition>({ text: 'Headers(`X-Debug`, `1`)', matches: () => false }),
);
const rule: fc.Arbitrary<Condition> = fc.oneof(
  { weight: 4, arbitrary: condition },
  condition.map(negated),
  fc.tuple(condition, condition).map(both),
  fc.tuple(condition, condition.map(negated)).map(both),
);
/** Routers in the order in which they are tried; a guarded one has a backend of its own. */
const routers = fc.array(fc.record({ rule, isGuarded: fc.boolean() }), { minLength: 2, maxLength: 4 });

function prefix(text: string): Condition {
  const below = text === '/' ? text : `${text}/`;
  return {
    text: `PathPrefix(\`${text}\`)`,
    matches: (asked) => asked === text || asked.startsWith(below),
  };
}

function negated({ text, matches }: Condition): Condition {
  return { text: `!${text}`, matches: (asked) => !matches(asked) };
}

function both([one, other]: [Condition, Condition]): Condition {
  return {
    text: `${one.text} && ${other.text}`,
    matches: (asked) => one.matches(asked) && other.matches(asked),
  };
}

it('no request reaches a backend here that a middleware keeps it from in Traefik', () => {
  let servedBoth = 0;
  fc.assert(
    fc.property(routers, fc.array(path, { minLength: 8, maxLength: 8 }), (tried, paths) => {
      const written = tried.map(({ rule: { text }, isGuarded }, index) => [
        `router-${index}`,
        {
          rule: text,
          priority: tried.length - index,
          service: isGuarded ? 'guarded' : 'open',
          ...(isGuarded && { middlewares: ['inside'] }),
        },
      ]);
      const http = { routers: Object.fromEntries(written), services: SERVICES, middlewares: MIDDLEWARES };
      const app = traefikApp({}, http);
      for (const asked of paths) {
        const isGuarded = tried.find((router) => router.rule.matches(asked))?.isGuarded;
        const backend = servedBy(app, asked);
        if (isGuarded === true) expect(backend).not.toBe(OPEN);
        if (isGuarded === false && backend === OPEN) servedBoth++;
      }
    }),
    { numRuns: 300 },
  );
  // An import that serves nothing would be safe, too. The number varies around 260 from run to run.
  expect(servedBoth).toBeGreaterThan(50);
});
