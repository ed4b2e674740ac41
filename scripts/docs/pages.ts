/** The pages that are generated from the code, in the order in which docs/README.md lists them. */
import { accessLogPage } from './access-log-page.ts';
import { describedOperations } from './api-operations.ts';
import { breakerPage } from './circuit-breaker-page.ts';
import { consoleTypes } from './console-types.ts';
import { eventsPage } from './events-page.ts';
import { errorsPage, settingsPage, warningsPage } from './code-tables.ts';
import { commandLinePage } from './command-line-page.ts';
import { managementApiPage } from './management-api-page.ts';
import { metricsPage } from './metrics-page.ts';
import { objectsPage } from './objects-page.ts';
import { policiesPage } from './policies-page.ts';
import { policyFieldsPage } from './policy-fields-page.ts';
import { publishedSchema } from '../../src/management/declaration/document-schema.ts';
import { resourcesPage } from './resources-page.ts';

/** @param read the text of a page as it is now, for those of which only a part is generated */
export async function generatedPages(read: (path: string) => string): Promise<ReadonlyMap<string, string>> {
  const operations = describedOperations();
  const policies = 'docs/reference/policies.md';
  const breaker = 'docs/reference/circuit-breaker.md';
  return new Map([
    ['docs/reference/resources.md', resourcesPage(operations)],
    ['docs/reference/policy-fields.md', policyFieldsPage()],
    ['docs/reference/management-api.md', managementApiPage(operations)],
    ['docs/reference/objects.md', objectsPage(operations)],
    ['docs/reference/settings.md', settingsPage()],
    ['docs/reference/errors.md', errorsPage()],
    ['docs/reference/warnings.md', warningsPage()],
    ['docs/reference/metrics.md', await metricsPage()],
    ['docs/reference/events.md', eventsPage()],
    ['docs/reference/access-log.md', accessLogPage()],
    ['docs/reference/command-line.md', commandLinePage()],
    ['docs/reference/configuration.schema.json', `${JSON.stringify(publishedSchema(), undefined, 2)}\n`],
    ['console/src/api/schema.ts', consoleTypes(operations)],
    [policies, policiesPage(read(policies))],
    [breaker, breakerPage(read(breaker))],
  ]);
}
