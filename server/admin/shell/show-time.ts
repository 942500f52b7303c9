/** A time as a person reads it, and as a program does. */
export interface ShownTime {
  text: string;
  iso: string;
}

const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });

/** In UTC, and saying so: without a script a server does not know where its reader is. */
export function showTime(time: Date): ShownTime {
  return { text: `${format.format(time)} UTC`, iso: time.toISOString() };
}
