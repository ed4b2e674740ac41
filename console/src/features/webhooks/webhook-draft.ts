/** What is typed into the form of a webhook, and what is sent for it. Pure. */

/** The values of the address that say which form is open. */
export const FORM_PLACES = ['open', 'tab'];
export const WEBHOOK_POINTERS = ['/name', '/url', '/app_ids'];
const EVERYTHING = '*';

/** As it is typed. */
export interface WebhookDraft {
  readonly name: string;
  readonly url: string;
  /** Groups, and types that were chosen through the API. None: everything. */
  readonly events: readonly string[];
  /** Slugs or ids with commas or spaces between. Empty: every app. */
  readonly apps: string;
}

export interface WebhookBody {
  readonly name: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly app_ids: readonly string[];
}

export function bodyOf({ name, url, events, apps }: WebhookDraft): WebhookBody {
  return {
    name: name.trim(),
    url: url.trim(),
    events: events.length === 0 ? [EVERYTHING] : events,
    app_ids: apps.split(/[\s,]+/).filter((slug) => slug !== ''),
  };
}

export function draftOf({ name, url, events, app_ids: apps }: WebhookBody): WebhookDraft {
  return { name, url, events: events.filter((type) => type !== EVERYTHING), apps: apps.join(', ') };
}

/** A webhook as the form would send it. */
export function storedBody({ name, url, events, app_ids: apps }: WebhookBody): WebhookBody {
  return bodyOf(draftOf({ name, url, events, app_ids: apps }));
}

export const isComplete = ({ name, url }: WebhookDraft): boolean => name.trim() !== '' && url.trim() !== '';

/** What was changed since the form was opened, and nothing else. */
export function patchOf(draft: WebhookDraft, opened: WebhookDraft): Partial<WebhookBody> {
  const { name, url, events, app_ids: apps } = bodyOf(draft);
  const isSame = (field: keyof WebhookDraft): boolean => String(draft[field]) === String(opened[field]);
  return {
    ...(!isSame('name') && { name }),
    ...(!isSame('url') && { url }),
    ...(!isSame('events') && { events }),
    ...(!isSame('apps') && { app_ids: apps }),
  };
}
