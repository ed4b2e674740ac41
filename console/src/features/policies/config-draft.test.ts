import { describe, expect, it } from 'vitest';
import { configDraft, configText, isEdited, readConfig, readDraft } from './config-draft.ts';

const tree = { apps: { shop: { gateway_path: '/shop', description: null, versions: { v1: {} } } } };

describe('an edit of the configuration', () => {
  it('does not exist until a value is changed', () => {
    const draft = configDraft(tree, 7);
    expect(isEdited(draft)).toBe(false);
    expect(isEdited({ ...draft, text: `# a remark\n${draft.text}` })).toBe(false);
    expect(isEdited({ ...draft, text: draft.text.replace('/shop', '/store') })).toBe(true);
    expect(isEdited({ ...draft, text: `${draft.text}[` })).toBe(true);
  });

  it('reads no text that it knows, and none that would hold up the page', () => {
    const draft = configDraft(tree, 7);
    expect(readDraft(draft)?.config).toBe(draft.base);
    const long = `${draft.text}# ${'x'.repeat(1_000_000)}`;
    expect(readDraft({ ...draft, text: long })).toBeUndefined();
    expect(isEdited({ ...draft, text: long })).toBe(true);
    expect(readConfig(long).config).toEqual(tree);
  });

  it('reads what it has written, and says why it cannot read a text', () => {
    expect(readConfig(configText(tree)).config).toEqual(tree);
    expect(readConfig('').config).toEqual({});
    expect(readConfig('apps: [').problem).toBeDefined();
    expect(readConfig('- apps').problem).toBeDefined();
    expect(readConfig('a: 1\na: 2').problem).toMatch(/unique/);
  });

  it('is not opened by a text that grows without end', () => {
    const bomb = ['a: &a [x, x, x, x, x, x, x, x, x, x]'];
    for (const [from, to] of ['ab', 'bc', 'cd', 'de', 'ef', 'fg', 'gh'])
      bomb.push(`${to}: &${to} [${Array.from({ length: 10 }, () => `*${from}`).join(', ')}]`);
    expect(readConfig(bomb.join('\n')).problem).toBeDefined();
  });
});
