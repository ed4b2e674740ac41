import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { SETTINGS } from '../src/settings/settings-table.ts';
import { CHART_FOLDER, chartFiles } from './kubernetes/chart-files.ts';

const read = (path: string): string => readFileSync(join(import.meta.dirname, '..', path), 'utf8');
const schema = JSON.parse(chartFiles(read).get(`${CHART_FOLDER}/values.schema.json`) ?? '');
const settings: Record<string, { enum?: unknown[]; type?: unknown; maximum?: number }> =
  schema.properties.settings.properties;

describe('the schema of the values of the chart', () => {
  it('has each setting as a value or as a key of a secret, but what the chart gives itself', () => {
    const inSecret = Object.keys(schema.properties.secretKeys.properties);
    const known = new Set([...Object.keys(settings), ...inSecret]);
    const missing = Object.keys(SETTINGS).filter((name) => !known.has(name));
    expect(missing.toSorted()).toEqual([
      'GATEWAY_CLUSTER__NODE_NAME',
      'GATEWAY_CONFIG_FILE',
      'GATEWAY_CONSOLE__FOLDER',
      'GATEWAY_PROXY__HOST',
      'GATEWAY_PROXY__PORT',
      'GATEWAY_PROXY__TLS__PORT',
      'GATEWAY_SERVER__HOST',
      'GATEWAY_SERVER__PORT',
      'GATEWAY_SNAPSHOT_FILE',
    ]);
  });

  it('takes no secret as a value', () => {
    const secrets = Object.entries(SETTINGS).filter(([, { secret }]) => secret);
    expect(secrets.length).toBeGreaterThan(0);
    for (const [name] of secrets) expect(settings).not.toHaveProperty(name);
    expect(settings).not.toHaveProperty('GATEWAY_DATABASE_URL');
    expect(settings).not.toHaveProperty('GATEWAY_REDIS_URL');
  });

  it('has ranges and choices as the table of settings has them', () => {
    expect(settings['GATEWAY_WORKERS']).toMatchObject({ minimum: 1, maximum: 256 });
    expect(settings['GATEWAY_LOG__FORMAT']?.enum).toEqual(['json', 'text', null]);
    expect(settings['GATEWAY_AUTO_MIGRATE']?.type).toEqual(['boolean', 'string', 'null']);
    // A path, or a word: no choice.
    expect(settings['GATEWAY_SERVER__TLS__CERT_FILE']?.type).toEqual(['string', 'number', 'null']);
  });

  it('describes the values as they are commented', () => {
    const values = parse(read(`${CHART_FOLDER}/values.yaml`));
    expect(Object.keys(schema.properties).toSorted()).toEqual([...Object.keys(values), 'global'].toSorted());
    expect(schema.properties.replicaCount.description).toMatch(/^How many gateways\./);
    expect(schema.properties.image.additionalProperties).toBe(false);
  });
});
