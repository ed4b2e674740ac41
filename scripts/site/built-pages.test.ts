import { describe, expect, it } from 'vitest';
import { checkBuiltPages } from './built-pages.ts';

const check = (html: string, more: Record<string, string> = {}): string[] =>
  checkBuiltPages(
    new Map(Object.entries({ 'index.html': html, 'a/index.html': '<h1 id="top">A</h1>', ...more })),
  );

describe('a built page', () => {
  it.each([
    '<a href="/a/">a</a> <a href="/a/#top">a</a> <a href="a/">a</a> <a href="#x"><i id="x"></a>',
    '<a href="https://www.rfc-editor.org/rfc/rfc9110">RFC 9110</a> <a href="mailto:a@b.example">mail</a>',
    '<a class="b" href="/style.css">file</a><link rel="stylesheet" href="/style.css"><script src="/x.js"></script>',
    '<link rel="canonical" href="https://example.com/">',
    '<style>@import "/b.css"; a { background: url(data:image/png;base64,AA) }</style>',
  ])('passes: %s', (html) => {
    expect(check(html, { 'style.css': '' })).toEqual([]);
  });

  it.each([
    ['<a href="/gone/">x</a>', 'index.html: the link to /gone/ leads nowhere'],
    ['<a class="b" href="/a/#gone">x</a>', 'index.html: the link to /a/#gone leads nowhere'],
    ['<a href="#gone">x</a>', 'index.html: the link to #gone leads nowhere'],
    [
      '<script src="https://cdn.example/x.js">',
      'index.html: loads https://cdn.example/x.js from another host',
    ],
    ['<link rel="preconnect" href="//fonts.example">', 'index.html: loads //fonts.example from another host'],
    [
      '<img alt="" src="http://img.example/a.png">',
      'index.html: loads http://img.example/a.png from another host',
    ],
  ])('is reported: %s', (html, problem) => {
    expect(check(html)).toEqual([problem]);
  });

  it.each([
    ['x.css', '@import "https://fonts.example/a.css";'],
    ['x.css', "a { src: url('https://fonts.example/a.css') }"],
    ['x.js', 'await import("https://fonts.example/a.css")'],
    ['x.js', 'fetch(`https://fonts.example/a.css`)'],
  ])('and so is what %s loads: %s', (path, text) => {
    expect(check('', { [path]: text })).toEqual([
      `${path}: loads https://fonts.example/a.css from another host`,
    ]);
  });
});
