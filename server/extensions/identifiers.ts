/** The name of an extension's own job in the queue, and of its keys there. */
export function taskIdentifier(extension: string, task: string): string {
  return `ext:${extension}:${task}`;
}

/** The job that tells an extension of an event; record_event() in the database names it too. */
export function eventIdentifier(extension: string): string {
  return `extension_event:${extension}`;
}

/** The job that renews what an extension wants to be told of. */
export function renewalIdentifier(extension: string): string {
  return `renew_subscriptions:${extension}`;
}

/** The jobs of extensions, by the beginnings of their names. */
export const identifierPattern = '^(ext|extension_event|renew_subscriptions):';
