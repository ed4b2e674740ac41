import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BODY_SCHEMAS } from './body-schemas.ts';
import { fieldsOf, merged } from './fields.ts';

const none = { file: (): string => '' };
const app = (...assignments: string[]): unknown => fieldsOf(assignments, BODY_SCHEMAS.app, none);

describe('field=value', () => {
  it.each<[string, unknown]>([
    ['name=10', { name: '10' }],
    ['name=null', { name: 'null' }],
    ['description=null', { description: null }],
    ['policy.auth.jwt.secret=null', { default_policy: { auth: { jwt: { secret: null } } } }],
    ['labels.team=null', { labels: { team: null } }],
    ['description=a=b', { description: 'a=b' }],
    ['description=', { description: '' }],
    ['allow_encoded_slashes=true', { allow_encoded_slashes: true }],
    ['allow_encoded_slashes=maybe', { allow_encoded_slashes: 'maybe' }],
    ['default_policy.rate_limit.requests=10', { default_policy: { rate_limit: { requests: 10 } } }],
    ['policy.rate_limit.requests=007', { default_policy: { rate_limit: { requests: '007' } } }],
    ['policy.required_scopes=read,write', { default_policy: { required_scopes: ['read', 'write'] } }],
    ['policy.required_scopes=', { default_policy: { required_scopes: [] } }],
    ['policy.required_scopes=["a,b"]', { default_policy: { required_scopes: ['a,b'] } }],
    ['policy.rate_limit={"requests": 1}', { default_policy: { rate_limit: { requests: 1 } } }],
    ['policy.rate_limit=null', { default_policy: { rate_limit: null } }],
    ['policy=null', { default_policy: null }],
    ['labels.team.name/x=1', { labels: { 'team.name/x': '1' } }],
    ['unknown.field=5', { unknown: { field: '5' } }],
  ])('%s', (assignment, fields) => {
    expect(app(assignment)).toEqual(fields);
  });

  it('is typed by the schema of its record', () => {
    expect(fieldsOf(['policy.shadow=cors,rate_limit'], BODY_SCHEMAS.endpoint, none)).toEqual({
      policy_override: { shadow: ['cors', 'rate_limit'] },
    });
    expect(fieldsOf(['stable=90', 'v1.2=10'], BODY_SCHEMAS.traffic, none)).toEqual({
      stable: 90,
      'v1.2': 10,
    });
    const breaker = ['circuit_breaker.count_5xx=true', 'circuit_breaker.probe.expected_statuses=200,3xx'];
    expect(fieldsOf(breaker, BODY_SCHEMAS.revision, none)).toEqual({
      circuit_breaker: { count_5xx: true, probe: { expected_statuses: [200, '3xx'] } },
    });
  });

  it('takes the content of a file', () => {
    const file = (path: string): string => `content of ${path}`;
    expect(fieldsOf(['description=@x.txt'], BODY_SCHEMAS.app, { file })).toEqual({
      description: 'content of x.txt',
    });
  });

  it.each([
    ['name', '"name" is not field=value'],
    ['/items', 'a name with spaces needs quotes'],
    ['=x', '"=x" is not field=value'],
    ['a..b=1', '"a..b" is not the name of a field'],
    ['__proto__.x=1', '"__proto__.x" is not the name of a field'],
    ['policy.rate_limit={x', 'must be valid JSON'],
  ])('%s is refused', (assignment, message) => {
    expect(() => app(assignment)).toThrow(message);
  });

  it.each([
    [['name=a', 'name=b']],
    [['policy.rate_limit.requests=1', 'policy.rate_limit={}']],
    [['policy.rate_limit=null', 'policy.rate_limit.requests=1']],
  ])('%j is refused: one field is given twice', (assignments) => {
    expect(() => app(...assignments)).toThrow('is given twice');
  });

  it('gives back any text of a text field, and throws nothing but plain errors', () => {
    const plain = fc.string().filter((text) => !text.startsWith('@') && text !== 'null');
    fc.assert(
      fc.property(plain, (text) => {
        expect(app(`description=${text}`)).toEqual({ description: text });
      }),
    );
    fc.assert(
      fc.property(fc.array(fc.string(), { maxLength: 5 }), (assignments) => {
        try {
          app(...assignments);
        } catch (error) {
          expect((error as Error).constructor.name).toBe('CliError');
        }
        expect(Object.prototype).not.toHaveProperty('x');
      }),
    );
  });

  it('counts before the fields of a file', () => {
    expect(merged({ a: { b: 1, c: 1 }, d: [1] }, { a: { b: 2 }, d: [2] })).toEqual({
      a: { b: 2, c: 1 },
      d: [2],
    });
  });
});
