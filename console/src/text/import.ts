/** Words of the import of OpenAPI descriptions. */
import { counted } from './counted.ts';

export const importWords = {
  title: 'Import OpenAPI',
  summary:
    'A description becomes an app with a version, a revision and endpoints. You see the plan before anything changes.',
  notAllowed: 'Your token has the role viewer. Ask for one with the role editor or admin to import.',
  document: 'Text of the description',
  documentHint: 'OpenAPI 2.0, 3.0 or 3.1, in YAML or JSON. Paste it, or drop a file.',
  chooseFile: 'Choose a file',
  dropHere: 'Drop the file here',
  tooLarge: (limit: string): string =>
    `The file has more than ${limit}. Import it with: headgate import openapi`,
  notRead: (name: string, reason: string): string => `Could not read ${name}: ${reason}`,
  fields: {
    app: ['App', 'Slug of the app that gets the endpoints. Created if there is none.'],
    version: ['Version', 'Empty: v1, v2 and so on, by the version of the description.'],
    revision: ['Revision', 'Empty: r1.'],
    gatewayPath: ['Gateway path', 'For a new app. Empty: a slash and the slug.'],
    backend: ['Backend', 'URL. Empty: the first server of the description.'],
  },
  security: 'Make policies from its security',
  securityHint: 'Its security schemes become API keys or JWTs with their scopes.',
  makePlan: 'Show the plan',
  steps: { description: 'OpenAPI description', notes: 'Not carried over', plan: 'Plan' },
  allCarried: (count: number): string => `All of ${counted(count, 'operation')} can be carried over.`,
  someNotes: (count: number): string =>
    `${counted(count, 'note')} about what is not carried over, or only in part:`,
  notesHidden: (count: number): string => `${count.toLocaleString('en')} more are not listed.`,
  totals: (create: number, update: number, remove: number): string =>
    `${create.toLocaleString('en')} to create, ${update.toLocaleString('en')} to update, ${remove.toLocaleString('en')} to delete.`,
  nothing: 'Nothing would change: the app is already as the description says.',
  changesHidden: (count: number): string =>
    `${counted(count, 'more change is', 'more changes are')} not listed.`,
  planCaption: 'What the import would change',
  columns: { change: 'Change', kind: 'Kind', record: 'Record', fields: 'Fields' },
  changes: { create: 'create', update: 'update', delete: 'delete' },
  traffic: (changed: number, requests: number): string =>
    `${changed.toLocaleString('en')} of ${counted(requests, 'recorded recent request')} would be answered differently.`,
  apply: 'Apply the plan',
  back: 'Change the description',
  reason: (app: string): string => `import OpenAPI into ${app}`,
  done: (app: string): string => `The description is imported into ${app}`,
} as const;
