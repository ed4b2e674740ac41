/**
 * Checks the built site: every internal link leads to a page and an anchor that exist, and nothing is loaded from
 * another host. Links that a reader follows may lead elsewhere. Pure: the files come in as texts.
 */
import { posix } from 'node:path';

/** What a browser loads by itself. */
const LOADED_ATTRIBUTE =
  /<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*?\s(?:src|srcset|data)="([^"]*)"/g;
const LINK_ELEMENT = /<link\b[^>]*>/g;
const CSS_LOAD = /(?:@import\s*|url\(\s*)["']?((?:https?:)?\/\/[^"')\s]+)/g;
const SCRIPT_LOAD =
  /(?:import|fetch|importScripts|XMLHttpRequest\(\)\.open)\s*\(\s*["'`]((?:https?:)?\/\/[^"'`]+)/g;

/** @param files texts of the built files by path below the site: `reference/settings/index.html` */
export function checkBuiltPages(files: ReadonlyMap<string, string>): string[] {
  const pages = [...files].filter(([path]) => path.endsWith('.html'));
  const anchors = new Map(pages.map(([path, html]) => [addressOf(path), anchorsOf(html)]));
  return [
    ...pages.flatMap(([path, html]) => brokenLinks(path, html, anchors, files)),
    ...[...files].flatMap(([path, text]) => otherHosts(path, text)),
  ];
}

function addressOf(path: string): string {
  return `/${path.replace(/(?:^|(?<=\/))index\.html$/, '')}`;
}

function anchorsOf(html: string): ReadonlySet<string> {
  return new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id = '']) => decode(id)));
}

function brokenLinks(
  page: string,
  html: string,
  anchors: ReadonlyMap<string, ReadonlySet<string>>,
  files: ReadonlyMap<string, string>,
): string[] {
  const from = addressOf(page);
  return [...html.matchAll(/<a\b[^>]*?\shref="([^"]*)"/g)]
    .map(([, target = '']) => decode(target))
    .filter((target) => !/^[a-z][a-z+.-]*:/i.test(target))
    .filter((target) => {
      const [path = '', anchor = ''] = target.split('#');
      const address = path === '' ? from : posix.join(path.startsWith('/') ? '/' : from, path);
      const known = anchors.get(address);
      if (known === undefined) return !files.has(address.slice(1));
      return anchor !== '' && !known.has(decodeURIComponent(anchor));
    })
    .map((target) => `${page}: the link to ${target} leads nowhere`);
}

function otherHosts(path: string, text: string): string[] {
  const loaded: string[] = [];
  const note = (pattern: RegExp): void => {
    for (const [, url = ''] of text.matchAll(pattern)) loaded.push(url);
  };
  if (path.endsWith('.html')) {
    note(LOADED_ATTRIBUTE);
    const links = [...text.matchAll(LINK_ELEMENT)].map(([element]) => element);
    for (const link of links.filter((element) => !/rel="canonical"/.test(element)))
      loaded.push(/href="([^"]*)"/.exec(link)?.[1] ?? '');
  }
  if (/\.(?:html|css)$/.test(path)) note(CSS_LOAD);
  if (/\.(?:html|m?js)$/.test(path)) note(SCRIPT_LOAD);
  return loaded
    .filter((url) => /^(?:https?:)?\/\//.test(url))
    .map((url) => `${path}: loads ${url} from another host`);
}

function decode(text: string): string {
  return text.replaceAll('&#38;', '&').replaceAll('&amp;', '&').replaceAll('&#x26;', '&');
}
