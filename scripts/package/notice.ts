/**
 * NOTICE: every package that is shipped with the text of its licence; packages of the same text stand together. Pure.
 */
import { SYSTEM_LIBRARIES } from './licence-rules.ts';
import type { ShippedPackage } from './shipped-packages.ts';
import type { SystemPackage } from './system-packages.ts';

const RULE = '-'.repeat(78);

const HEADING = `Headgate
Copyright the Headgate contributors
Licensed under the Apache License, Version 2.0; see LICENSE.

It contains the following packages, each under its own licence.`;

/** For a package that says its licence in package.json only. */
const WITHOUT_TEXT = 'The package has no file with its licence. Its package.json names it as above.';

export function noticeOf(packages: readonly ShippedPackage[]): string {
  const byText = new Map<string, string[]>();
  for (const { name, version, licence, texts } of packages) {
    const text = texts.join('\n\n') || WITHOUT_TEXT;
    const title = `${name} ${version} (${licence})`;
    const titles = byText.get(text);
    if (titles === undefined) byText.set(text, [title]);
    else titles.push(title);
  }
  const sections = [...byText].map(([text, titles]) => `${RULE}\n${titles.join('\n')}\n\n${text}`);
  return `${[HEADING, ...sections].join('\n\n')}\n`;
}

/** What an image has behind it: its libraries of the system, where their licences are, and what their sources are. */
export function systemNoticeOf(packages: readonly SystemPackage[]): string {
  const sections = packages.map(({ name, version, licence, vendor, release, source, texts }) =>
    [
      `${name} ${version} (${licence})`,
      `Of ${vendor} ${release}, unchanged; source package ${source}.`,
      `Shipped in the image since ${SYSTEM_LIBRARIES[name]?.reason}.`,
      `Its licence: ${texts.join(', ')}`,
    ].join('\n'),
  );
  const heading = 'The image also contains libraries of the system that it was made on.';
  return `\n${[RULE, heading, ...sections].join('\n\n')}\n`;
}
