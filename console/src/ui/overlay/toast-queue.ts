/** Messages on their way to where they are shown, which is loaded with the first of them. */
export interface Message {
  readonly title: string;
  readonly detail?: string | undefined;
  readonly tone?: 'good' | 'bad';
  /** The way back, where there is one. */
  readonly undo?: (() => void) | undefined;
}

let waiting: Message[] = [];
let show: ((message: Message) => void) | undefined;
let isAsked = false;
const listeners = new Set<() => void>();

/** Works from anywhere. */
export function showToast(message: Message): void {
  if (show !== undefined) {
    show(message);
    return;
  }
  waiting.push(message);
  isAsked = true;
  for (const listener of listeners) listener();
}

/** Waiting messages come first. @returns a function that ends it */
export function showMessagesWith(next: (message: Message) => void): () => void {
  show = next;
  for (const message of waiting) next(message);
  waiting = [];
  return () => (show = undefined);
}

/** Whether there has been a message. */
export const hasMessages = (): boolean => isAsked;

/** For useSyncExternalStore. */
export function subscribeToMessages(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
