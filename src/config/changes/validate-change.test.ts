import { describe, expect, it } from 'vitest';
import {
  appRecord,
  appTree,
  configChange,
  endpointRecord,
  revisionRecord,
  versionRecord,
  versionTree,
} from '../../../test/support/data/config-records.ts';
import type { ConfigChange, VersionTree } from '../../model/config.ts';
import type { EffectivePolicy } from '../../model/policy.ts';
import type { Endpoint, Revision } from '../../model/resources.ts';
import { CompileError } from '../compile-error.ts';
import { inOneTurn } from './slices.ts';
import { validateChange } from './validate-change.ts';

function compilePolicy(effective: EffectivePolicy): null {
  if ((effective.policy['required_scopes'] as string[] | undefined)?.includes('broken'))
    throw new Error('broken');
  return null;
}

const broken = { required_scopes: ['broken'] };
const version = versionRecord({ id: 'v', app_id: 'a' });
const tree = (revision: Partial<Revision>, ...endpoints: Endpoint[]): VersionTree =>
  versionTree(version, { revision: revisionRecord({ id: 'r', ...revision }), endpoints });

describe('validateChange', () => {
  it.each<[string, Partial<ConfigChange>]>([
    ['nothing', {}],
    ['removals', { removedAppIds: ['a'], removedVersionIds: ['v'], removedKeyIds: ['k'] }],
    ['an app without versions', { apps: [appTree(appRecord({ id: 'a' }))] }],
    [
      'a version whose app is not part of the change',
      { versions: [tree({}, endpointRecord({ path: '/a/{x}' }))] },
    ],
    [
      'a version whose app is part of the change',
      { apps: [appTree(appRecord({ id: 'a' }))], versions: [tree({})] },
    ],
  ])('accepts %s', (_name, change) => {
    expect(() => inOneTurn(validateChange(configChange(1, change), compilePolicy))).not.toThrow();
  });

  it.each<[string, Partial<ConfigChange>, string, string]>([
    [
      'the policy of an app',
      { apps: [appTree(appRecord({ id: 'a', default_policy: broken }))] },
      'a',
      'default_policy',
    ],
    ['the policy of a revision', { versions: [tree({ default_policy: broken })] }, 'r', 'default_policy'],
    [
      'the policy of a revision that is not current',
      { versions: [tree({ default_policy: broken, is_current: false })] },
      'r',
      'default_policy',
    ],
    [
      'the policy of an endpoint',
      { versions: [tree({}, endpointRecord({ path: '/a', policy_override: broken }))] },
      'GET /a',
      'policy_override',
    ],
    [
      'an endpoint’s path',
      { versions: [tree({ is_current: false }, endpointRecord({ path: 'a' }))] },
      'GET a',
      'path',
    ],
    [
      'two endpoints that collide',
      { versions: [tree({}, endpointRecord({ path: '/{a}' }), endpointRecord({ path: '/{b}' }))] },
      'GET /{b}',
      'path',
    ],
    [
      'a version within an app',
      { apps: [appTree(appRecord({ id: 'a' }), tree({ backend_base_path: 'x' }))] },
      'r',
      'backend_base_path',
    ],
  ])('refuses what does not compile: %s', (_name, change, resourceId, field) => {
    let thrown: unknown;
    try {
      inOneTurn(validateChange(configChange(1, change), compilePolicy));
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(CompileError);
    expect(thrown).toMatchObject({ resourceId, field });
  });
});
